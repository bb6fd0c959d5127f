//! What visits found out: told once the fold counts, and again after a start until acknowledged.

use super::decoded::DecodedPage;
use super::error::{Flaw, StoreError};
use super::page::Facts;
use super::row::{MARK, News, Row, news_of};
use super::run::{PageParts, RunFile};
use super::store::Store;
use crate::row::State;

/// The news of one fold.
#[derive(Debug)]
pub struct FoldNews {
    /// The fold: the same number tells the same news, also after a start.
    pub fold: u64,
    /// What was found out.
    pub urls: Vec<Told>,
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
}

impl Store {
    /// The news of folds that was not told yet. Each piece is told once in a process, and again
    /// after a start until [`Store::acknowledge`]. News on a damaged page cannot be told; the
    /// damage is noted.
    pub fn verdicts(&mut self) -> Result<Vec<FoldNews>, StoreError> {
        let mut all = Vec::new();
        for (fold, runs) in self.untold() {
            let mut urls = Vec::new();
            for run in &runs {
                run.whole()
                    .and_then(|()| self.read_news(run, &mut urls))
                    .or_else(|error| self.damage.note(error))?;
            }
            all.push(FoldNews { fold, urls });
        }
        Ok(all)
    }

    fn read_news(&self, run: &RunFile, urls: &mut Vec<Told>) -> Result<(), StoreError> {
        let mut pages = run.read_pages(0..run.index.len());
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
            });
        }
    }
    Ok(())
}
