//! The move from memory to disk: every row becomes news for the store, a few thousand at a time.
//!
//! A URL is in one of the two, so that each offer finds it. Nothing is folded before all have moved:
//! until then a restart begins with the journal alone, and moves again.

use std::collections::BinaryHeap;

use super::Repository;
use super::disk::{Disk, seconds, standing_of};
use crate::blocks::{Answer, Decided, Link, StoreError};
use crate::host::Stored;
use crate::row::State;

/// How far the move is.
#[derive(Debug)]
pub(super) struct Moving {
    next: u32,
    end: u32,
    /// The number that each moved row has on disk.
    sequences: Vec<u64>,
}

impl Repository {
    /// Begins the move. What was offered and is not committed yet is in this many commits.
    pub(super) fn begin_moving(&mut self, open_commits: u8) -> Result<(), StoreError> {
        let Some(backing) = &self.backing else {
            return Ok(());
        };
        let mut disk = Disk::open(backing, self.config.key)?;
        disk.store.follow_longest_wait(&self.longest_wait);
        disk.open_commits = open_commits;
        disk.are_remade(self.replaying && !self.tells_first);
        disk.moving = Some(Moving {
            next: 0,
            end: self.table.places(),
            sequences: Vec::new(),
        });
        self.table.let_rows_go();
        self.forget_links();
        self.disk = Some(Box::new(disk));
        Ok(())
    }

    /// Moves everything, where that can be: there are links which only blocks can decide, and say so. Whether it did.
    pub(super) fn move_at_once(&mut self) -> bool {
        if self.backing.is_none() {
            return false;
        }
        let begun = self.begin_moving(0);
        if begun.is_ok() {
            self.move_some(u32::MAX);
        }
        begun.is_ok() && self.disk.is_some()
    }

    /// Moves at most so many rows.
    pub(super) fn move_some(&mut self, most: u32) {
        let Some(mut moving) = self.disk.as_mut().and_then(|disk| disk.moving.take()) else {
            return;
        };
        let until = moving.next.saturating_add(most).min(moving.end);
        for at in moving.next..until {
            let sequence = self.move_row(at, &moving.sequences);
            moving.sequences.push(sequence);
        }
        moving.next = until;
        if until < moving.end {
            if let Some(disk) = &mut self.disk {
                disk.moving = Some(moving);
            }
            return;
        }
        self.finish_moving();
    }

    /// Moves a row, unless it came since the move began. Returns its number on disk.
    fn move_row(&mut self, at: u32, sequences: &[u64]) -> u64 {
        let row = self.table.row(at);
        let Some(disk) = &mut self.disk else { return 0 };
        if row.text.is_empty() || self.table.generation_of(at) != 0 {
            return 0;
        }
        let rare = row.rare.as_deref();
        let referrer = row.referrer.checked_sub(1);
        disk.store.set_time(row.first_seen);
        let link = Link {
            depth: row.depth,
            referrer: referrer
                .and_then(|at| sequences.get(at as usize).copied())
                .unwrap_or(0),
            rule: if row.state == State::Excluded {
                row.rule
            } else {
                0
            },
            requisite: row.requisite,
            seed: rare.filter(|rare| rare.seed).map(|rare| rare.fallback_http),
            spelling: rare.and_then(|rare| rare.spelling.as_deref()),
            chain: rare.and_then(|rare| rare.chain),
            last_modified: rare.and_then(|rare| rare.last_modified).map(seconds),
            ..Link::new(&row.text, row.depth)
        };
        let sequence = match disk.store.replay(&link, Decided::New) {
            Answer::New(sequence) => sequence,
            _ => 0,
        };
        if let Some(stands) = standing_of(row, &mut disk.store) {
            disk.store.stand(&row.text, stands);
        }
        if let Some(rare) = rare.filter(|rare| rare.priority != 0) {
            disk.store.set_priority(&row.text, rare.priority);
        }
        disk.expect(row.state, 1);
        let is_later = rare.is_some_and(|rare| rare.due.is_some());
        if row.leased || (row.state == State::Waiting && is_later) {
            disk.store.hold(&row.text);
            self.table.set_sequence(at, sequence);
        } else {
            self.let_go(at);
        }
        sequence
    }

    /// What is left in memory gets new places, and the room of the rest is given back.
    fn finish_moving(&mut self) {
        let Some(disk) = &mut self.disk else { return };
        let moved = &mut disk.moved_rows;
        self.table.shrink(|before, now| {
            moved.insert(before, now);
        });
        for host in &mut self.hosts {
            host.queue = BinaryHeap::new();
            host.again = BinaryHeap::new();
            host.later = BinaryHeap::new();
        }
        let rows = self.table.rows();
        let waiting: Vec<u32> = rows
            .filter(|(_, row)| row.state == State::Waiting && !row.leased)
            .map(|(at, _)| at)
            .collect();
        for at in waiting {
            self.enqueue(at);
        }
        let woken: Vec<u32> = (0..)
            .zip(&self.hosts)
            .filter(|(_, host)| [host.stored, host.stored_again].contains(&Stored::Perhaps))
            .map(|(at, _)| at)
            .collect();
        for host in woken {
            self.wake_for_store(host);
        }
    }
}
