//! What visits found out: told once the fold counts, and again after a start until acknowledged.

use std::ops::Range;
use std::sync::Arc;

use super::decoded::DecodedPage;
use super::error::{Flaw, StoreError};
use super::page::Facts;
use super::row::{MARK, News, Row, news_of};
use super::run::{PageParts, RunFile};
use super::store::Store;
use crate::row::State;

/// The news of one fold, or a part of it.
#[derive(Debug)]
pub struct FoldNews {
    /// The fold: the same number tells the same news, also after a start.
    pub fold: u64,
    /// What was found out.
    pub urls: Vec<Told>,
    /// Whether nothing more is told of this fold.
    pub is_last: bool,
}

/// How far the news of a fold was told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Telling {
    fold: u64,
    run: usize,
    page: usize,
}

/// What was found out about a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its text.
    pub url: String,
    /// What it is.
    pub news: News,
    /// Where it stands.
    pub state: State,
    /// The rule that left it out, as a number of the caller's list; 0 for none.
    pub rule: u32,
    /// Least known hops from a seed.
    pub depth: u16,
    /// Its sequence number.
    pub sequence: u64,
    /// Earlier blocks have called it new, and it is not to be called so again.
    pub told_before: bool,
}

impl Store {
    /// The news of folds that was not told yet. Each piece is told once in a process, and again
    /// after a start until [`Store::acknowledge`]. News on a damaged page cannot be told; the
    /// damage is noted.
    pub fn verdicts(&mut self) -> Result<Vec<FoldNews>, StoreError> {
        let mut all = Vec::new();
        while let Some(news) = self.some_verdicts(usize::MAX)? {
            all.push(news);
        }
        Ok(all)
    }

    /// The next piece of that: what pages with about this many rows tell, of one fold. Whoever has
    /// other things to do takes it in such steps.
    pub fn some_verdicts(&mut self, most: usize) -> Result<Option<FoldNews>, StoreError> {
        let Some((fold, runs)) = self.untold() else {
            return Ok(None);
        };
        let mut telling = self.telling;
        if telling.fold != fold {
            telling = Telling {
                fold,
                ..Telling::default()
            };
        }
        let news = runs.iter().map(|run| run.news).sum::<u64>();
        let news = usize::try_from(news).unwrap_or(usize::MAX);
        let mut urls = Vec::with_capacity(news.min(most));
        let mut left = most;
        while let Some(run) = runs.get(telling.run).filter(|_| left > 0) {
            let mut rows = 0;
            let pages = run.index[telling.page..].iter();
            let pages = pages.take_while(|page| {
                let is_wanted = rows < left;
                rows += page.rows as usize;
                is_wanted
            });
            let pages = telling.page..telling.page + pages.count();
            left = left.saturating_sub(rows);
            telling.page = pages.end;
            run.whole()
                .and_then(|()| self.read_news(run, pages, &mut urls))
                .or_else(|error| self.damage.note(error))?;
            if telling.page >= run.index.len() {
                telling.run += 1;
                telling.page = 0;
            }
        }
        if fold <= self.checks_told {
            self.note_told(&mut urls);
        }
        let is_last = telling.run >= runs.len();
        self.telling = telling;
        if is_last {
            self.told = fold;
        }
        Ok(Some(FoldNews {
            fold,
            urls,
            is_last,
        }))
    }

    /// Whether earlier blocks have called a URL new is looked up for each that folds up to this one call so: for
    /// blocks that are made again from what was told to those, and in what order nobody knows. Later folds have heard
    /// of all that was told.
    pub fn check_told(&mut self, until: u64) {
        self.checks_told = until;
    }

    fn note_told(&self, urls: &mut [Told]) {
        let texts: Vec<&str> = urls.iter().map(|told| told.url.as_str()).collect();
        // What cannot be read is told: better twice than never.
        let states = self.states(&texts);
        let told: Vec<bool> = states
            .into_iter()
            .map(|known| known.is_ok_and(|known| known.is_some_and(|known| known.told)))
            .collect();
        for (url, told) in urls.iter_mut().zip(told) {
            url.told_before |= told && url.news == News::New;
        }
    }

    /// Whether the caller has noted the news of all folds for which that is looked up.
    pub fn is_checked(&self) -> bool {
        let unheard = self.news.iter().map(|(fold, _)| *fold);
        let mut unheard = unheard.filter(|fold| *fold > self.acknowledged);
        unheard.all(|fold| fold > self.checks_told)
    }

    /// Folds up to this number were made by earlier blocks: those to come have others.
    pub fn number_folds_after(&mut self, fold: u64) {
        self.fold = self.fold.max(fold);
    }

    /// Whether there is news that was not told yet.
    pub fn has_verdicts(&self) -> bool {
        let told = self.told.max(self.acknowledged);
        self.news.iter().any(|(fold, _)| *fold > told)
    }

    /// The oldest fold whose news was not all told in this process.
    fn untold(&self) -> Option<(u64, Vec<Arc<RunFile>>)> {
        let told = self.told.max(self.acknowledged);
        self.news.iter().find(|(fold, _)| *fold > told).cloned()
    }

    fn read_news(
        &self,
        run: &RunFile,
        pages: Range<usize>,
        urls: &mut Vec<Told>,
    ) -> Result<(), StoreError> {
        let mut pages = run.read_pages(pages);
        let mut page = DecodedPage::default();
        while let Some(parts) = pages.next_page()? {
            let read = read_page(&mut page, self.disk.config.key, parts, urls);
            if let Err(flaw) = read {
                self.damage.note(run.damaged(parts.number, flaw))?;
            }
        }
        Ok(())
    }
}

fn read_page(
    page: &mut DecodedPage,
    key: u64,
    parts: PageParts<'_>,
    urls: &mut Vec<Told>,
) -> Result<(), Flaw> {
    let facts = Facts::read(parts.state)?;
    if (0..facts.rows()).all(|row| news_of(facts.cell(MARK, row)).is_none()) {
        return Ok(());
    }
    page.load_text(key, parts.text)?;
    if page.len() != facts.rows() {
        return Err(Flaw("text and state of a page have different rows"));
    }
    for at in 0..page.len() {
        let row = Row::read(&facts.cells(at), &[]);
        if let Some(news) = row.news {
            urls.push(Told {
                url: page.key(at).text()?,
                news,
                state: row.state,
                rule: row.rule,
                depth: row.depth,
                sequence: row.sequence,
                told_before: row.told && news == News::New,
            });
        }
    }
    Ok(())
}
