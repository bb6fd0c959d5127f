//! The writing end of an index: a follower of the journal.
//!
//! ```text
//! add(document) ──┐
//! update(url) ────┤
//! remove(url) ────┼──> Tantivy (memory, segments) ──commit(position)──> readers
//!                 └──> pending: what the last commit does not know
//! ```
//!
//! The position lies inside the commit: after a crash the index stands at the last commit, its
//! position says what is missing, and adding something twice changes nothing.

use std::path::{Path, PathBuf};

use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{DocAddress, IndexReader, IndexWriter, ReloadPolicy, Searcher, Term};
use teia_base::{CanonicalUrl, Document};

use crate::checks::{Careful, Checks};
use crate::config::IndexConfig;
use crate::entry::{self, Entry};
use crate::error::SearchError;
use crate::page::{Extras, Page, Repute};
use crate::pending::{Pending, Standing};
use crate::schema::{FORMAT, Fields};
use crate::store::{self, Payload};
use crate::sums::Sums;
use crate::turns::Turn;

/// Pages that call another address the right one are held whole until the next commit, beside the memory in which the
/// index is built: they may take this part of what may be pending.
const SENDERS_PART: usize = 8;

/// What became of a document that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is indexed.
    Indexed,
    /// Its text is indexed at another URL already: it is listed there as another address.
    Duplicate,
    /// It, or the caller, asks to be left out; an older version is removed.
    Refused,
}

/// Where else a text is indexed.
enum Elsewhere {
    Nowhere,
    Somewhere,
    /// At this page, which calls the one that comes now the right one.
    Behind(Box<Page>),
}

/// Writes one index. There is one writer for a directory at a time.
pub struct Writer {
    index: IndexWriter<Entry>,
    reader: IndexReader,
    fields: Fields,
    config: IndexConfig,
    position: u64,
    pending: Pending,
    /// Bytes of texts in it.
    pending_bytes: usize,
    checks: Checks,
    path: PathBuf,
    sums: Sums,
    turn: Turn,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Writer")
            .field("position", &self.position)
            .field("pending", &self.pending.len())
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// Opens the index of a directory, or makes an empty one at position 0.
    pub fn open(path: &Path, config: IndexConfig) -> Result<Self, SearchError> {
        let checks = Checks::default();
        let (index, fields) = store::open_or_create(path, &checks)?;
        checks.removed(&index)?;
        let mut sums = Sums::read(path);
        if let Some(other) = sums.others(path, &index)?.first() {
            checks.tell(other)?;
        }
        sums.note(path, &index)?;
        let turn = Turn::begin(path, &index, &checks, config.check_bytes);
        let position = store::payload(&index).map_or(0, |payload| payload.position);
        let failed = |source| SearchError::Open {
            path: path.to_owned(),
            source,
        };
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()
            .map_err(failed)?;
        let threads = config.threads.max(1);
        let merges = config.merges_at_once();
        let options = IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread((config.memory_bytes / threads).max(16 << 20))
            .num_merge_threads(usize::try_from(merges).unwrap_or(1))
            .build();
        let writer = index.writer_with_options(options).map_err(failed)?;
        writer.set_merge_policy(Box::new(Careful {
            usual: LogMergePolicy::default(),
            checks: checks.clone(),
            index,
            most_bytes: config.merge_bytes / merges,
        }));
        Ok(Self {
            index: writer,
            reader,
            fields,
            config,
            position,
            pending: Pending::default(),
            checks,
            pending_bytes: 0,
            path: path.to_owned(),
            sums,
            turn,
        })
    }

    /// The journal position of the last commit.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Changes that wait for a commit.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Adds a document in place of any older version of its URL.
    pub fn add(&mut self, document: &Document, extras: &Extras) -> Result<Added, SearchError> {
        let expired = document
            .robots
            .unavailable_after
            .is_some_and(|end| end <= document.fetched);
        if extras.noindex || document.robots.noindex || expired {
            self.remove(&document.url)?;
            return Ok(Added::Refused);
        }
        self.put(Page::new(document, extras, &self.config))
    }

    /// Gives a page that is in the index other anchors and another rank; false when it is not there. The
    /// page is not indexed again: only its repute is.
    pub fn update(
        &mut self,
        url: &CanonicalUrl,
        anchors: &[String],
        rank: f32,
    ) -> Result<bool, SearchError> {
        if self.pending.standing(url.as_str()).is_some() {
            self.flush()?;
        }
        self.bound()?;
        let Some((standing, page, at)) = self.committed(url.as_str())? else {
            return Ok(false);
        };
        let repute = Repute::new(anchors, rank, &self.config);
        // Nothing is written where nothing changed: most pages keep what they have.
        match standing {
            Standing::Alias(_) if page.repute == repute => return Ok(true),
            Standing::Alias(_) => {
                let mut page = self.page(&self.reader.searcher(), at)?;
                page.repute = repute;
                self.delete(url.as_str());
                self.write(entry::alias(&self.fields, &page)?)?;
            }
            Standing::Indexed(_) => {
                let tie = entry::tie(url.as_str());
                if self.committed_mark(tie)? == repute.mark() {
                    return Ok(true);
                }
                self.delete_repute(tie);
                self.write_repute(tie, &page.stemmed_as, &repute)?;
            }
        }
        self.pending.note(url.as_str(), Some(standing));
        Ok(true)
    }

    /// Takes a URL out. Its text stays findable if another address has it too.
    pub fn remove(&mut self, url: &CanonicalUrl) -> Result<(), SearchError> {
        self.bound()?;
        self.take_out(url.as_str(), None)?;
        self.pending.note(url.as_str(), None);
        Ok(())
    }

    /// Makes everything so far durable and visible, together with the journal position it stands for.
    /// An error where a merge since the last commit has met a damaged file.
    pub fn commit(&mut self, position: u64) -> Result<(), SearchError> {
        self.checks.told(self.index.index())?;
        let payload = Payload {
            format: FORMAT.to_owned(),
            position,
        };
        let payload = serde_json::to_string(&payload).expect("two plain fields always encode");
        let mut prepared = self.index.prepare_commit().map_err(SearchError::Write)?;
        prepared.set_payload(&payload);
        prepared.commit().map_err(SearchError::Write)?;
        self.sums.note(&self.path, self.index.index())?;
        self.reader.reload()?;
        self.pending.clear();
        self.pending_bytes = 0;
        self.position = position;
        Ok(())
    }

    /// Commits nothing more, waits for merges under way, and closes. An error where one of them has met a damaged file.
    /// The same where a check sum did not fit that was looked at meanwhile.
    pub fn close(mut self) -> Result<(), SearchError> {
        let index = self.index.index().clone();
        self.turn.wait();
        self.index
            .wait_merging_threads()
            .map_err(SearchError::Write)?;
        self.sums.note(&self.path, &index)?;
        self.checks.told_at_the_end(&index)
    }

    fn put(&mut self, page: Page) -> Result<Added, SearchError> {
        self.bound()?;
        let digest = page.short_digest();
        self.take_out(&page.url, Some(digest))?;
        match self.indexed_elsewhere(&page)? {
            Elsewhere::Nowhere => {}
            Elsewhere::Behind(sender) => self.put_behind(&sender)?,
            Elsewhere::Somewhere => {
                self.write(entry::alias(&self.fields, &page)?)?;
                self.pending.note(&page.url, Some(Standing::Alias(digest)));
                return Ok(Added::Duplicate);
            }
        }
        self.pending_bytes += page.text.len();
        self.put_indexed(page)?;
        Ok(Added::Indexed)
    }

    /// Writes a page that is found by its words, and its repute beside it.
    fn put_indexed(&mut self, mut page: Page) -> Result<(), SearchError> {
        let repute = std::mem::take(&mut page.repute);
        let digest = page.short_digest();
        self.pending
            .note(&page.url, Some(Standing::Indexed(digest)));
        let sender = page.canonical.is_some().then(|| page.clone());
        self.pending.note_sender(digest, sender);
        self.write_repute(entry::tie(&page.url), &page.stemmed_as, &repute)?;
        self.write(entry::indexed(&self.fields, page)?)
    }

    /// Deletes the URL's entry. Where it carried a text that other addresses have too, and does
    /// not keep it, one of them is indexed in its place.
    fn take_out(&mut self, url: &str, kept: Option<u64>) -> Result<(), SearchError> {
        let standing = match self.pending.standing(url) {
            Some(standing) => standing,
            None => self.committed(url)?.map(|(standing, _, _)| standing),
        };
        let Some(standing) = standing else {
            return Ok(());
        };
        self.delete(url);
        let Standing::Indexed(digest) = standing else {
            return Ok(());
        };
        self.delete_repute(entry::tie(url));
        if kept == Some(digest) {
            return Ok(());
        }
        self.pending.note(url, None);
        if self.pending.has_alias(digest) {
            self.flush()?;
        }
        if let Some(heir) = self.heir(digest)? {
            self.delete(&heir.url);
            self.put_indexed(heir)?;
        }
        Ok(())
    }

    /// The first other address of a text, by name, so that a rebuild chooses the same.
    fn heir(&self, digest: u64) -> Result<Option<Page>, SearchError> {
        let searcher = self.reader.searcher();
        let mut heir: Option<(String, DocAddress)> = None;
        for at in store::holding(
            &searcher,
            &Term::from_field_u64(self.fields.alias_of, digest),
        )? {
            let url = store::head(&searcher, at)?.url;
            let stands = self.pending.standing(&url).is_none();
            if stands && heir.as_ref().is_none_or(|(known, _)| url < *known) {
                heir = Some((url, at));
            }
        }
        heir.map(|(_, at)| self.page(&searcher, at)).transpose()
    }

    /// A stored page with its text, to be written once more.
    fn page(&self, searcher: &Searcher, at: DocAddress) -> Result<Page, SearchError> {
        self.checks.pages(searcher.segment_reader(at.segment_ord))?;
        store::page(searcher, at)
    }

    /// An indexed page becomes another address of its text. What others say of it comes back with the next
    /// ranks.
    fn put_behind(&mut self, page: &Page) -> Result<(), SearchError> {
        self.delete(&page.url);
        self.delete_repute(entry::tie(&page.url));
        self.write(entry::alias(&self.fields, page)?)?;
        let standing = Standing::Alias(page.short_digest());
        self.pending.note(&page.url, Some(standing));
        Ok(())
    }

    /// Whether another address is indexed with this text.
    ///
    /// One that calls this page the right one stands behind it, unless this one sends on in turn: then there is
    /// neither a loop nor a chain.
    fn indexed_elsewhere(&self, page: &Page) -> Result<Elsewhere, SearchError> {
        let digest = page.short_digest();
        if page.digest == 0 {
            return Ok(Elsewhere::Nowhere);
        }
        let tie = Some(entry::tie(&page.url));
        let is_behind = |known: &Page| page.canonical.is_none() && known.canonical == tie;
        if let Some(url) = self.pending.indexed(digest) {
            let sender = self.pending.sender(digest);
            return Ok(match sender.filter(|sender| is_behind(sender)) {
                _ if url == page.url => Elsewhere::Nowhere,
                Some(sender) => Elsewhere::Behind(Box::new(sender.clone())),
                None => Elsewhere::Somewhere,
            });
        }
        let searcher = self.reader.searcher();
        for at in store::holding(&searcher, &Term::from_field_u64(self.fields.digest, digest))? {
            let known = store::head(&searcher, at)?;
            let stands = self.pending.standing(&known.url).is_none();
            if stands && known.url != page.url && known.digest == page.digest {
                return Ok(if is_behind(&known) {
                    Elsewhere::Behind(Box::new(self.page(&searcher, at)?))
                } else {
                    Elsewhere::Somewhere
                });
            }
        }
        Ok(Elsewhere::Nowhere)
    }

    /// How the URL stands in the last commit, its page without the text, and where that is.
    fn committed(&self, url: &str) -> Result<Option<(Standing, Page, DocAddress)>, SearchError> {
        let searcher = self.reader.searcher();
        let term = Term::from_field_text(self.fields.url, url);
        let Some(&at) = store::holding(&searcher, &term)?.first() else {
            return Ok(None);
        };
        let page = store::head(&searcher, at)?;
        let digest = page.short_digest();
        let columns = searcher.segment_reader(at.segment_ord).fast_fields();
        let is_alias = columns.u64("alias_of")?.first(at.doc_id).is_some();
        let standing = if is_alias {
            Standing::Alias(digest)
        } else {
            Standing::Indexed(digest)
        };
        Ok(Some((standing, page, at)))
    }

    /// The mark of the repute of an indexed page; that of none where it has none.
    fn committed_mark(&self, tie: u64) -> Result<u64, SearchError> {
        let searcher = self.reader.searcher();
        let term = Term::from_field_u64(self.fields.of, tie);
        let Some(&at) = store::holding(&searcher, &term)?.first() else {
            return Ok(Repute::default().mark());
        };
        let columns = searcher.segment_reader(at.segment_ord).fast_fields();
        Ok(columns.u64("mark")?.first(at.doc_id).unwrap_or(0))
    }

    fn delete_repute(&self, tie: u64) {
        self.index
            .delete_term(Term::from_field_u64(self.fields.of, tie));
    }

    fn write_repute(&self, tie: u64, language: &str, repute: &Repute) -> Result<(), SearchError> {
        match entry::repute(&self.fields, tie, language, repute) {
            Some(entry) => self.write(entry),
            None => Ok(()),
        }
    }

    fn delete(&self, url: &str) {
        self.index
            .delete_term(Term::from_field_text(self.fields.url, url));
    }

    fn write(&self, entry: Entry) -> Result<(), SearchError> {
        self.index.add_document(entry).map_err(SearchError::Write)?;
        Ok(())
    }

    /// Keeps what is pending within its bound.
    fn bound(&mut self) -> Result<(), SearchError> {
        let most_bytes = self.config.max_pending_bytes;
        let is_full = self.pending.len() >= self.config.max_pending.max(1)
            || self.pending_bytes >= most_bytes.max(1)
            || self.pending.sender_bytes() >= (most_bytes / SENDERS_PART).max(1);
        if is_full {
            self.flush()?;
        }
        Ok(())
    }

    /// Commits at the old position: what is already in is then added again at a replay, which changes nothing.
    fn flush(&mut self) -> Result<(), SearchError> {
        self.commit(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::Writer;
    use crate::config::IndexConfig;
    use crate::page::Extras;

    fn commit(writer: &mut Writer, number: u64) {
        let document = crate::page::tests::document(&format!("http://a.pt/{number}"), "zebra");
        writer.add(&document, &Extras::default()).unwrap();
        writer.commit(number + 1).unwrap();
    }

    /// A full disk, say: the library leaves the segments as they were and tells nobody.
    #[test]
    fn after_a_merge_that_failed_its_segments_are_merged_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(folder.path(), IndexConfig::default()).unwrap();
        // Seven are too few to be merged.
        for number in 0..7 {
            commit(&mut writer, number);
        }
        let before = writer.index.index().searchable_segment_ids().unwrap();
        assert_eq!(before.len(), 7);
        writer.checks.merge_failed(&before);
        for number in 7..10 {
            commit(&mut writer, number);
        }
        let index = writer.index.index().clone();
        writer.close().unwrap();
        let after = index.searchable_segment_ids().unwrap();
        let left = after.iter().filter(|id| before.contains(id)).count();
        assert_eq!(left, 0, "{left} of {} are as they were", before.len());
    }
}
