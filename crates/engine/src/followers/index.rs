//! The search index as a follower.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use teia_base::journal::{Attempt, Entry, Record};
use teia_base::{Document, Files, Flags, LinkKind};
use teia_search::{Added, Extras, IndexConfig, SearchError, Writer};

use super::config::LinksSection;
use super::fate::{Fate, left_out as left_out_by};
use super::follow::{Documents, Follower, Trouble};
use super::ranks::{Ranks, Renewal, note_renewed, renewed};
use crate::collection::CollectionConfig;
use crate::directory::Layout;
use crate::sites::Sites;

/// Pages that get new anchors and ranks between two commits.
const RENEWED_AT_ONCE: usize = 1000;

/// Keeps `NAME/index/` in step with the journal.
pub(super) struct Index {
    pub(super) files: Arc<dyn Files>,
    pub(super) layout: Layout,
    /// Where it lies on this machine.
    pub(super) path: PathBuf,
    pub(super) config: IndexConfig,
    pub(super) links: LinksSection,
    pub(super) who: Indexed,
    /// How often ranks were computed while this runs.
    pub(super) rankings: Arc<AtomicU64>,
    pub(super) state: State,
}

/// Which hosts are in it.
#[derive(Debug)]
pub(super) struct Indexed {
    usually: bool,
    sites: Sites,
}

impl Indexed {
    pub(super) fn new(config: &CollectionConfig) -> Self {
        Self {
            usually: config.index.enabled,
            sites: Sites::new(config),
        }
    }

    pub(super) fn has(&self, attempt: &Attempt) -> bool {
        let own = self.sites.by_name(attempt.url.normal().host_str());
        own.map_or(self.usually, |own| own.config.index.enabled)
    }
}

/// What is open.
#[derive(Default)]
pub(super) struct State {
    writer: Option<Writer>,
    seen_rankings: u64,
    ranks: Option<Ranks>,
    renewal: Option<Renewal>,
}

impl Index {
    /// Begins to give pages the newest ranks; false where they have them, or where there are none.
    pub(super) fn begin_renewal(&mut self) -> bool {
        let max_anchors = self.config.max_anchors;
        let ranks = Ranks::open(&*self.files, &self.layout, &self.links, max_anchors);
        let ranks = ranks.unwrap_or_else(|error| {
            tracing::warn!(%error, "ranks cannot be read; the index goes without");
            None
        });
        self.state.ranks.clone_from(&ranks);
        let news = ranks.filter(|ranks| ranks.position() != renewed(&*self.files, &self.layout));
        self.state.renewal = news.map(Renewal::new);
        self.state.renewal.is_some()
    }

    /// Goes on with that; whether there is more.
    pub(super) fn renew(&mut self) -> Result<bool, Trouble> {
        let (Some(writer), Some(renewal)) = (&mut self.state.writer, &mut self.state.renewal)
        else {
            return Ok(false);
        };
        if renewal.step(writer, RENEWED_AT_ONCE)? {
            return Ok(true);
        }
        let position = renewal.position();
        writer.commit(writer.position())?;
        note_renewed(&*self.files, &self.layout, position);
        self.state.renewal = None;
        Ok(false)
    }

    /// Waits for merges under way and closes; what they have found where it is damaged.
    pub(super) fn close(&mut self) -> Result<(), Trouble> {
        let Some(writer) = self.state.writer.take() else {
            return Ok(());
        };
        match writer.close() {
            Err(error) if !error.is_damage() => {
                tracing::warn!(%error, "the index was not closed well; it is complete all the same");
                Ok(())
            }
            closed => Ok(closed?),
        }
    }

    pub(super) fn has_archive(&self) -> bool {
        let files = self.files.list(&self.layout.archive());
        files.is_ok_and(|files| !files.is_empty())
    }

    fn writer(&mut self) -> Result<&mut Writer, Trouble> {
        self.state.writer.as_mut().ok_or_else(|| Trouble {
            is_damage: false,
            text: "it is not open".to_owned(),
        })
    }
}

impl Follower for Index {
    const NAME: &'static str = "search index";
    const SOURCE: &'static str = "archive";

    fn remedy(&self) -> String {
        if self.has_archive() {
            return format!("it is built anew from the {}", Self::SOURCE);
        }
        let kept = aside(&self.path, "damaged");
        format!(
            "there is no archive to build it from, so it is kept as {}, and another one begins",
            kept.display()
        )
    }

    fn open(&mut self, anew: bool) -> Result<u64, Trouble> {
        self.state = State::default();
        let failed = |error: std::io::Error| Trouble::of(&error, false);
        recover(&self.path).map_err(failed)?;
        if anew {
            if !self.has_archive() && self.path.exists() {
                // Nobody can make it again, and somebody may be able to mend it.
                let kept = aside(&self.path, "damaged");
                remove_directory(&kept).map_err(failed)?;
                std::fs::rename(&self.path, &kept).map_err(failed)?;
            }
            remove_directory(&self.path).map_err(failed)?;
            note_renewed(&*self.files, &self.layout, 0);
        }
        let writer = Writer::open(&self.path, self.config.clone())?;
        let position = writer.position();
        self.state.writer = Some(writer);
        self.begin_renewal();
        Ok(position)
    }

    fn apply(&mut self, entry: &Entry, documents: Documents<'_>) -> Result<(), Trouble> {
        let Record::Commit(commit) = &entry.record else {
            return Ok(());
        };
        let ranks = self.state.ranks.take();
        let left_out: Vec<bool> = commit
            .attempts
            .iter()
            .map(|attempt| !self.who.has(attempt))
            .collect();
        let writer = self.writer()?;
        let mut next = 0;
        for (attempt, left_out) in commit.attempts.iter().zip(left_out) {
            match documents {
                _ if left_out => {
                    take_in(writer, attempt, Text::None, ranks.as_ref())?;
                }
                // They come in the order of the attempts; not every attempt has one.
                Documents::Handed(documents) => {
                    let is_of = |document: &Document| {
                        document.fetched == attempt.started && document.url == *attempt.url.normal()
                    };
                    let found = documents[next..].iter().position(is_of);
                    let document = found.map(|at| &documents[next + at]);
                    next += found.map_or(0, |at| at + 1);
                    take_in(writer, attempt, Text::of(document), ranks.as_ref())?;
                }
                Documents::Archived(rereader) => {
                    let text = reread(attempt, |attempt| rereader.document(attempt));
                    take_in(writer, attempt, text.as_text(), ranks.as_ref())?;
                }
            }
        }
        for (url, _) in left_out_by(commit) {
            writer.remove(url)?;
        }
        self.state.ranks = ranks;
        Ok(())
    }

    fn commit(&mut self, position: u64) -> Result<(), Trouble> {
        Ok(self.writer()?.commit(position)?)
    }

    fn spare(&mut self) -> Result<bool, Trouble> {
        let rankings = self.rankings.load(Ordering::Acquire);
        if rankings != self.state.seen_rankings {
            self.state.seen_rankings = rankings;
            self.begin_renewal();
        }
        let had_work = self.state.renewal.is_some();
        self.renew()?;
        Ok(had_work)
    }
}

/// What is known of a document's text.
#[derive(Clone, Copy)]
pub(super) enum Text<'a> {
    /// It has one.
    Some(&'a Document),
    /// It has none: a picture, a style sheet.
    None,
    /// Nobody knows: there is no copy of it.
    Unknown,
}

impl<'a> Text<'a> {
    fn of(document: Option<&'a Document>) -> Self {
        match document {
            Some(document) if has_text(document) => Self::Some(document),
            _ => Self::None,
        }
    }
}

/// A document that was read again.
pub(super) enum Reread {
    Document(Box<Document>),
    Unknown,
    NotNeeded,
}

impl Reread {
    pub(super) fn as_text(&self) -> Text<'_> {
        match self {
            Self::Document(document) => Text::of(Some(document)),
            Self::Unknown => Text::Unknown,
            Self::NotNeeded => Text::None,
        }
    }
}

/// Reads the document of an attempt again, if it is needed.
pub(super) fn reread(attempt: &Attempt, read: impl FnOnce(&Attempt) -> Option<Document>) -> Reread {
    // A page that asks to stay out stays out, whatever it says.
    if Fate::of(attempt) != Fate::Kept || attempt.flags.has(Flags::NOINDEX) {
        return Reread::NotNeeded;
    }
    match read(attempt) {
        Some(document) => Reread::Document(Box::new(document)),
        None => Reread::Unknown,
    }
}

/// Whether there is anything to search for.
pub(crate) fn has_text(document: &Document) -> bool {
    !(document.text.is_empty() && document.title.is_empty())
}

/// Applies to the index what an attempt says of a page; what became of its document.
pub(super) fn take_in(
    writer: &mut Writer,
    attempt: &Attempt,
    text: Text<'_>,
    ranks: Option<&Ranks>,
) -> Result<Option<Added>, SearchError> {
    let document = match (Fate::of(attempt), text) {
        (Fate::AsBefore, _) | (Fate::Kept, Text::Unknown) => return Ok(None),
        (Fate::Kept, Text::Some(document)) => document,
        _ => {
            writer.remove(attempt.url.normal())?;
            return Ok(None);
        }
    };
    let (anchors, rank) = ranks
        .map(|ranks| ranks.of(&document.url))
        .transpose()
        .unwrap_or_else(|error| {
            tracing::warn!(%error, url = %document.url, "the rank cannot be read");
            None
        })
        .unwrap_or_default();
    let mut links = attempt.links.iter();
    let canonical = links.find(|link| link.kind == LinkKind::Canonical);
    let extras = Extras {
        anchors,
        rank,
        size: attempt.body_bytes,
        noindex: attempt.flags.has(Flags::NOINDEX),
        canonical: canonical.map(|link| link.url.normal().clone()),
    };
    writer.add(document, &extras).map(Some)
}

/// A rebuild that was interrupted while it took the old index's place leaves that aside.
pub(super) fn recover(path: &Path) -> std::io::Result<()> {
    let old = aside(path, "old");
    if !path.exists() && old.exists() {
        std::fs::rename(&old, path)?;
    }
    remove_directory(&old)?;
    remove_directory(&aside(path, "new"))
}

/// The directory beside the index.
pub(super) fn aside(path: &Path, what: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(what);
    name.into()
}

pub(super) fn remove_directory(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
