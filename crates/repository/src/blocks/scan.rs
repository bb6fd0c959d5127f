//! Going through what the blocks hold: by state, by host, and which hosts have anything.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use hashbrown::HashSet;

use super::block::{Block, block_of};
use super::decoded::DecodedPage;
use super::delta::Delta;
use super::error::StoreError;
use super::front::ByHash;
use super::key::{OwnedKey, host_hash};
use super::lookup::Known;
use super::page::Facts;
use super::row::{MARK, Row, SEQUENCE, SUPERSEDES, flags_of, state_of};
use super::run::RunFile;
use super::store::Store;
use super::stream::RowStream;
use crate::row::State;

/// How far a scan has come that goes on later.
#[derive(Debug, Default)]
pub struct ScanPlace(OwnedKey);

/// All that the blocks held at one moment, gone through a few pages at a time while they change.
#[derive(Debug, Default)]
pub struct Survey {
    /// Only what is on this host, where there is one.
    host: Option<String>,
    /// Blocks that are still to be gone through, the next one last.
    blocks: Vec<Block>,
    /// Runs of the block that is open, the newest last, which comes first; and the pages of it that are left.
    runs: Vec<Arc<RunFile>>,
    pages: Option<Range<usize>>,
    /// As in a scan.
    newer: HashSet<u64, ByHash>,
}

/// Going through pages.
struct Scan<'s> {
    store: &'s Store,
    host: Option<&'s str>,
    page: DecodedPage,
    state: Vec<u8>,
    text: Vec<u8>,
    /// Sequence numbers of URLs with a newer row than those still to come.
    newer: HashSet<u64, ByHash>,
}

impl<'s> Scan<'s> {
    fn new(store: &'s Store, host: Option<&'s str>) -> Self {
        Self {
            store,
            host,
            page: DecodedPage::default(),
            state: Vec::new(),
            text: Vec::new(),
            newer: HashSet::default(),
        }
    }

    fn page(
        &mut self,
        run: &RunFile,
        number: usize,
        wanted: &impl Fn(State) -> bool,
        tell: &mut impl FnMut(&str, Known) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, StoreError> {
        run.read_state(number, &mut self.state)?;
        let damaged = |flaw| run.damaged(number, flaw);
        let facts = Facts::read(&self.state).map_err(damaged)?;
        let mut chosen = Vec::new();
        for row in 0..facts.rows() {
            let sequence = facts.cell(SEQUENCE, row);
            let outdated = self.newer.contains(&sequence);
            let mark = facts.cell(MARK, row);
            if flags_of(mark) & SUPERSEDES != 0 {
                self.newer.insert(sequence);
            }
            if !outdated && wanted(state_of(mark)) {
                chosen.push(row);
            }
        }
        if chosen.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        run.read_text(number, &mut self.text)?;
        self.page
            .load_text(self.store.disk.config.key, &self.text)
            .map_err(damaged)?;
        for row in chosen.into_iter().filter(|&row| row < self.page.len()) {
            let key = self.page.key(row);
            if self.host.is_none_or(|host| key.host == host.as_bytes()) {
                let url = key.text().map_err(damaged)?;
                let cells = facts.cells(row);
                let known = self.store.tell(&Row::read(&cells, facts.rare(row)), false);
                if tell(&url, known).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl Store {
    /// Tells of every URL in the blocks that stands so, on one host or on all; in no order that
    /// means anything. What was not folded is not seen: fold before. Text is unpacked only where
    /// there is something to tell. A damaged page is passed over, and is the error in the end.
    pub fn scan(
        &self,
        host: Option<&str>,
        wanted: impl Fn(State) -> bool,
        mut tell: impl FnMut(&str, Known),
    ) -> Result<(), StoreError> {
        self.scan_until(host, wanted, |url, known| {
            tell(url, known);
            ControlFlow::Continue(())
        })
    }

    /// The same, until nobody wants to hear more. Whoever goes on, after what was told has reached the blocks, begins
    /// with the block in which this ended. Says whether it came to the end.
    pub fn scan_on(
        &self,
        place: &mut ScanPlace,
        wanted: impl Fn(State) -> bool,
        mut tell: impl FnMut(&str, Known) -> ControlFlow<()>,
    ) -> Result<bool, StoreError> {
        let first = block_of(&self.blocks, &place.0.as_key());
        let ended = self.scan_blocks(first, None, &wanted, &mut tell)?;
        if let Some(block) = ended {
            place.0 = self.blocks[block].lower.clone();
        }
        Ok(ended.is_none())
    }

    /// What a survey goes through: all that was folded in by now.
    pub fn survey(&self) -> Survey {
        Survey {
            blocks: self.blocks.iter().rev().cloned().collect(),
            ..Survey::default()
        }
    }

    /// The same of one host.
    pub fn survey_of(&self, host: &str) -> Survey {
        Survey {
            host: Some(host.to_owned()),
            ..self.survey()
        }
    }

    /// Goes on with a survey by so many pages, and says whether it came to the end. A damaged page is passed over, and is the
    /// error of this call; the next one goes on behind it.
    pub fn survey_on(
        &self,
        survey: &mut Survey,
        pages: usize,
        wanted: impl Fn(State) -> bool,
        mut tell: impl FnMut(&str, Known),
    ) -> Result<bool, StoreError> {
        let host = survey.host.clone();
        let hash = host
            .as_ref()
            .map(|host| host_hash(self.disk.config.key, host.as_bytes()));
        let mut scan = Scan::new(self, host.as_deref());
        scan.newer = std::mem::take(&mut survey.newer);
        let mut tell = |url: &str, known: Known| {
            tell(url, known);
            ControlFlow::Continue(())
        };
        let mut read = 0;
        let mut gone_through = Ok(());
        while read < pages && gone_through.is_ok() {
            let Some(run) = survey.runs.last() else {
                let Some(block) = survey.blocks.pop() else {
                    return Ok(true);
                };
                scan.newer.clear();
                survey.runs = block.runs;
                continue;
            };
            let left = survey.pages.get_or_insert_with(|| run.pages_for(hash));
            if gone_through.is_ok() && left.start == 0 {
                gone_through = run.whole();
            }
            match left.next().filter(|_| gone_through.is_ok()) {
                Some(page) => {
                    gone_through = scan.page(run, page, &wanted, &mut tell).map(drop);
                    read += 1;
                }
                None => {
                    survey.runs.pop();
                    survey.pages = None;
                }
            }
        }
        survey.newer = scan.newer;
        gone_through.map(|()| false)
    }

    /// The same as a scan, until nobody wants to hear more.
    pub fn scan_until(
        &self,
        host: Option<&str>,
        wanted: impl Fn(State) -> bool,
        mut tell: impl FnMut(&str, Known) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.scan_blocks(0, host, &wanted, &mut tell).map(drop)
    }

    /// Goes through blocks from this one on; the one in which it was ended.
    fn scan_blocks(
        &self,
        first: usize,
        host: Option<&str>,
        wanted: &impl Fn(State) -> bool,
        tell: &mut impl FnMut(&str, Known) -> ControlFlow<()>,
    ) -> Result<Option<usize>, StoreError> {
        let hash = host.map(|host| host_hash(self.disk.config.key, host.as_bytes()));
        let mut scan = Scan::new(self, host);
        let mut damage = None;
        let mut pass_over = |error: StoreError| match error {
            StoreError::Damaged { .. } => {
                damage.get_or_insert(error);
                Ok(())
            }
            error => Err(error),
        };
        for (number_of_block, block) in self.blocks.iter().enumerate().skip(first) {
            // Newest runs first: they tell which rows of the older ones are outdated.
            scan.newer.clear();
            for run in block.runs.iter().rev() {
                if let Err(error) = run.whole() {
                    pass_over(error)?;
                    continue;
                }
                for number in run.pages_for(hash) {
                    match scan.page(run, number, wanted, tell) {
                        Ok(ControlFlow::Continue(())) => {}
                        Ok(ControlFlow::Break(())) => {
                            return damage.map_or(Ok(Some(number_of_block)), Err);
                        }
                        Err(error) => pass_over(error)?,
                    }
                }
            }
        }
        damage.map_or(Ok(None), Err)
    }

    /// Tells the hosts of news that waits for its block, where a URL may be handed out for it; one after another, and
    /// some more than once. What comes after a damaged page in its file is not told.
    pub fn waiting_hosts(&self, mut tell: impl FnMut(&str)) -> Result<(), StoreError> {
        for run in &self.waiting {
            let told = self.waiting_hosts_of(run, &mut tell);
            told.or_else(|error| self.damage.note(error))?;
        }
        Ok(())
    }

    fn waiting_hosts_of(
        &self,
        run: &RunFile,
        tell: &mut impl FnMut(&str),
    ) -> Result<(), StoreError> {
        let mut stream = RowStream::open(run, 0..run.index.len(), self.disk.config.key)?;
        // Rows of a host stand together.
        let mut last = Vec::new();
        while stream.has_row() {
            let host = stream.key().host;
            if Delta::read(stream.cells()).ops != 0 && host != last {
                tell(&String::from_utf8_lossy(host));
                last.clear();
                last.extend_from_slice(host);
            }
            stream.advance()?;
        }
        Ok(())
    }
}
