//! Survey: all URLs on disk are gone through while a run goes on, because its rules have changed.
//!
//! ```text
//! begin ──> all that was told is folded in, beside the commits ──> the blocks of that moment, a few pages at a time
//! ```
//!
//! What is told of a URL may be outdated by then: whoever acts on it looks at it once more.

use super::Repository;
use crate::blocks::{StoreError, Survey};
use crate::row::{State, UrlState};

/// How far it has come.
#[derive(Debug)]
pub(super) enum Stage {
    /// A fold is to be begun that brings everything into the blocks.
    Wanted,
    /// The fold with this number does that.
    Folding(u64),
    /// The blocks are gone through.
    Pages(Survey),
}

/// How near visited pages are, gone through a few at a time: as of the moment in which it was begun.
#[derive(Debug)]
pub struct Depths(Option<Survey>);

impl Repository {
    /// Begins to go through the depths of URLs. What was told and not folded is not seen on disk.
    pub fn depths(&self) -> Depths {
        Depths(self.disk.as_ref().map(|disk| disk.store.survey()))
    }

    /// Goes on by so many pages, or, where everything is in memory, to the end; and says whether that was the end. A damaged page is
    /// passed over and told with other damage.
    pub fn depths_on(
        &self,
        depths: &mut Depths,
        pages: usize,
        wanted: impl Fn(State) -> bool,
        mut tell: impl FnMut(&str, u16),
    ) -> Result<bool, StoreError> {
        let (Some(survey), Some(disk)) = (&mut depths.0, &self.disk) else {
            let rows = self.table.rows().filter(|(_, row)| wanted(row.state));
            rows.for_each(|(_, row)| tell(&row.text, row.depth));
            return Ok(true);
        };
        disk.store
            .survey_on(survey, pages, wanted, |url, known| tell(url, known.depth))
            .or_else(|error| disk.store.note_damage(error).map(|()| false))
    }

    /// Begins to go through all URLs on disk; one that is under way comes to its end before, so that there is one however often this
    /// is asked for. Nothing happens where everything is in memory.
    pub fn begin_survey(&mut self) {
        match &mut self.disk {
            Some(disk) if matches!(disk.survey, Some(Stage::Pages(_))) => disk.survey_again = true,
            Some(disk) => disk.survey = Some(Stage::Wanted),
            None => {}
        }
    }

    /// Whether a survey was begun and did not come to its end.
    pub fn is_surveying(&self) -> bool {
        let disk = self.disk.as_ref();
        disk.is_some_and(|disk| disk.survey.is_some())
    }

    /// Whether there is something to go through now. (Before that everything is folded, which goes on by itself.)
    pub fn can_survey(&self) -> bool {
        self.disk.as_ref().is_some_and(|disk| match disk.survey {
            None | Some(Stage::Wanted) => false,
            Some(Stage::Folding(fold)) => {
                let is_heard = !disk.store.has_verdicts() && disk.news.is_empty();
                disk.store.last_fold() >= fold && is_heard
            }
            Some(Stage::Pages(_)) => true,
        })
    }

    /// Goes on by so many pages, and tells of URLs in states that are wanted. A damaged page is passed over and told with other damage;
    /// after any other error too the next call goes on behind it.
    pub fn survey_some(
        &mut self,
        pages: usize,
        wanted: impl Fn(State) -> bool,
        mut tell: impl FnMut(UrlState),
    ) -> Result<(), StoreError> {
        if !self.can_survey() {
            return Ok(());
        }
        let stage = self.disk.as_mut().and_then(|disk| disk.survey.take());
        let Some(disk) = &self.disk else {
            return Ok(());
        };
        let mut survey = match stage {
            Some(Stage::Pages(survey)) => survey,
            _ => disk.store.survey(),
        };
        let gone_on = disk
            .store
            .survey_on(&mut survey, pages, wanted, |url, known| {
                tell(self.view_known(url, &known));
            });
        let is_over = matches!(gone_on, Ok(true));
        let gone_on = gone_on.map(drop);
        let gone_on = gone_on.or_else(|error| disk.store.note_damage(error));
        if let Some(disk) = &mut self.disk {
            disk.survey = if !is_over {
                Some(Stage::Pages(survey))
            } else {
                std::mem::take(&mut disk.survey_again).then_some(Stage::Wanted)
            };
        }
        gone_on
    }
}
