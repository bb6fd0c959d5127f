//! Going through what the blocks hold: by state, by host, and which hosts have anything.

use hashbrown::HashSet;

use super::decoded::DecodedPage;
use super::delta::Delta;
use super::error::StoreError;
use super::front::ByHash;
use super::key::host_hash;
use super::lookup::Known;
use super::page::Facts;
use super::row::{MARK, Row, SEQUENCE, SUPERSEDES, flags_of, state_of};
use super::run::RunFile;
use super::store::Store;
use super::stream::RowStream;
use crate::row::State;

impl Store {
    /// Tells of every URL in the blocks that stands so, on one host or on all; in no order that
    /// means anything. What was not folded is not seen: fold before. Text is unpacked only where
    /// there is something to tell.
    pub fn scan(
        &self,
        host: Option<&str>,
        wanted: impl Fn(State) -> bool,
        mut tell: impl FnMut(&str, Known),
    ) -> Result<(), StoreError> {
        let hash = host.map(|host| host_hash(self.disk.config.key, host.as_bytes()));
        let mut page = DecodedPage::default();
        let (mut state, mut text) = (Vec::new(), Vec::new());
        for block in &self.blocks {
            // Newest runs first: they tell which rows of the older ones are outdated.
            let mut newer: HashSet<u64, ByHash> = HashSet::default();
            for run in block.runs.iter().rev() {
                run.whole()?;
                let pages = match hash {
                    Some(hash) => run.pages_of(hash, hash),
                    None => 0..run.index.len(),
                };
                for number in pages {
                    run.read_state(number, &mut state)?;
                    let damaged = |flaw| run.damaged(number, flaw);
                    let facts = Facts::read(&state).map_err(damaged)?;
                    let mut chosen = Vec::new();
                    for row in 0..facts.rows() {
                        let sequence = facts.cell(SEQUENCE, row);
                        let outdated = newer.contains(&sequence);
                        let mark = facts.cell(MARK, row);
                        if flags_of(mark) & SUPERSEDES != 0 {
                            newer.insert(sequence);
                        }
                        if !outdated && wanted(state_of(mark)) {
                            chosen.push(row);
                        }
                    }
                    if chosen.is_empty() {
                        continue;
                    }
                    run.read_text(number, &mut text)?;
                    page.load_text(self.disk.config.key, &text)
                        .map_err(damaged)?;
                    for row in chosen.into_iter().filter(|&row| row < page.len()) {
                        let key = page.key(row);
                        if host.is_none_or(|host| key.host == host.as_bytes()) {
                            let url = key.text().map_err(damaged)?;
                            let cells = facts.cells(row);
                            let known = self.tell(&Row::read(&cells, facts.rare(row)), false);
                            tell(&url, known);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Tells the host of every piece of news that waits for its block, and whether a URL may be
    /// handed out for it. What comes after a damaged page in its file is not told.
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
        while stream.has_row() {
            if Delta::read(stream.cells()).ops != 0 {
                tell(&String::from_utf8_lossy(stream.key().host));
            }
            stream.advance()?;
        }
        Ok(())
    }
}
