//! Folds: what was told to the store goes into its blocks, on a thread beside the commits, and what
//! is found out there comes back.

use std::collections::HashMap;
use std::thread::JoinHandle;
use std::time::Duration;

use teia_base::journal::{Exclusion, LinkVerdict, UrlChange};
use teia_base::{CanonicalUrl, HostId, Outcome, Timestamp};

use super::Repository;
use super::disk::{News, moment};
use super::survey::Stage;
use crate::blocks::{FoldDone, FoldJob, News as Found, Stands, StoreError};
use crate::row::State;

/// A fold is begun at the latest after this long, if there is anything to fold.
const PATIENCE: Duration = Duration::from_secs(10);

/// Rows of a fold whose news is heard at once, about: a fold may have news of a million URLs, and
/// commits go on beside it.
pub(super) const NEWS_AT_ONCE: usize = 10_000;

/// Whether everything is being decided that is still to be decided.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deciding {
    No,
    /// By the fold that is under way.
    Folding,
    /// By a fold that is over, and has visited so many blocks.
    Folded(usize),
}

/// What the store keeps for the Repository beside the URLs.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The rules that left URLs out, by number.
    pub(super) rules: Vec<Exclusion>,
    /// See [`super::disk::Disk`].
    pub(super) remade: bool,
}

impl Notes {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let read = postcard::take_from_bytes(bytes);
        let (rules, rest) = read.unwrap_or_default();
        Self {
            rules,
            // Notes of earlier builds end before it.
            remade: rest == [1],
        }
    }

    fn write(&self) -> Vec<u8> {
        let mut bytes = postcard::to_stdvec(&self.rules).unwrap_or_default();
        bytes.push(u8::from(self.remade));
        bytes
    }
}

impl Repository {
    /// Looks after what goes on beside the commits: moves to the disk when memory is used up, begins
    /// folds, takes their results in. To be called often; never takes long. With `quiet`, everything
    /// that was offered is committed.
    pub fn maintain(&mut self, now: Timestamp, quiet: bool) -> Result<(), StoreError> {
        if self.is_too_large() {
            self.begin_moving(if quiet { 0 } else { 2 })?;
        }
        let Some(disk) = &mut self.disk else {
            return Ok(());
        };
        if let Some(error) = disk.failure.take() {
            return Err(error);
        }
        if std::mem::take(&mut self.replaying) {
            if let Some(disk) = self.disk.as_mut().filter(|disk| disk.remade) {
                // Folds from now on have heard of all that was told.
                disk.store.check_told(disk.store.last_fold());
            }
            self.hear_all_news()?;
        }
        let Some(disk) = &mut self.disk else {
            return Ok(());
        };
        if quiet {
            disk.open_commits = 0;
        }
        if disk.moving.is_some() {
            self.move_some(50_000);
            return Ok(());
        }
        if let Some(folding) = disk.folding.take_if(|folding| folding.is_finished()) {
            let done = join(folding)?;
            let visited = self.finish_fold(done)?;
            if let Some(disk) = &mut self.disk
                && matches!(disk.deciding, Deciding::Folding)
            {
                disk.deciding = Deciding::Folded(visited);
            }
        }
        self.hear_news(NEWS_AT_ONCE)?;
        let Some(disk) = &mut self.disk else {
            return Ok(());
        };
        let last = *disk.last_fold.get_or_insert(now);
        let is_old = disk.store.has_unfolded() && now.since(last) >= PATIENCE;
        let may_fold = disk.folding.is_none() && disk.open_commits == 0;
        if may_fold && matches!(disk.survey, Some(Stage::Wanted)) {
            let unfolded = disk.store.has_unfolded();
            let fold = disk.store.last_fold() + u64::from(unfolded);
            disk.survey = Some(Stage::Folding(fold));
            if unfolded {
                disk.last_fold = Some(now);
                self.begin_fold(FoldJob::everywhere);
            }
        } else if may_fold && (disk.store.wants_fold() || is_old || disk.wants_mending()) {
            disk.last_fold = Some(now);
            self.begin_fold(|job| job);
        }
        Ok(())
    }

    /// Files with damage that was made good when they were read are written anew, by a fold: for the owner, not for
    /// those who only look.
    pub fn mend_files(&mut self) {
        if let Some(disk) = &mut self.disk {
            disk.mends = true;
        }
    }

    /// Whether there is more than memory should hold, or so long a past that a start should not read
    /// all of it again: few URLs that were visited for years.
    pub(super) fn is_too_large(&self) -> bool {
        self.disk.is_none()
            && self.backing.as_ref().is_some_and(|backing| {
                // While they move, rows are in both places.
                self.weight > backing.memory / 5 * 2 || self.replayed > backing.memory / 32
            })
    }

    /// Seals what was told so far, to be folded.
    fn seal(&mut self) -> Option<FoldJob> {
        let disk = self.disk.as_mut()?;
        let is_all_told = !self.replaying && disk.store.is_checked();
        if disk.remade && is_all_told {
            disk.are_remade(false);
        }
        let notes = Notes {
            rules: self.rules.clone(),
            remade: disk.remade,
        };
        disk.store.set_notes(notes.write());
        for state in 0..5 {
            disk.ahead[0][state] += std::mem::take(&mut disk.ahead[1][state]);
        }
        Some(disk.store.begin_fold(self.position))
    }

    fn begin_fold(&mut self, plan: impl FnOnce(FoldJob) -> FoldJob) {
        let job = self.seal().map(plan);
        let (Some(job), Some(disk)) = (job, &mut self.disk) else {
            return;
        };
        let begun = std::thread::Builder::new()
            .name("teia-fold".to_owned())
            .spawn(move || job.run());
        match begun {
            Ok(folding) => disk.folding = Some(folding),
            Err(source) => disk.fail(StoreError::disk("start a thread for", "fold")(source)),
        }
    }

    fn finish_fold(&mut self, done: FoldDone) -> Result<usize, StoreError> {
        let Some(disk) = &mut self.disk else {
            return Ok(0);
        };
        let before = State::ALL.map(|state| disk.store.count(state));
        let report = disk.store.finish_fold(done)?;
        disk.damaged.extend(report.damaged);
        for (state, before) in State::ALL.into_iter().zip(before) {
            let change = disk.store.count(state).cast_signed() - before.cast_signed();
            disk.ahead[0][state as usize] -= change;
        }
        Ok(report.visited)
    }

    /// Takes all news of folds that was not told yet. Says whether there was any.
    fn hear_all_news(&mut self) -> Result<bool, StoreError> {
        let mut heard = false;
        while self.hear_news(NEWS_AT_ONCE)? {
            heard = true;
        }
        Ok(heard)
    }

    /// Takes news of folds that was not told yet, that of about so many rows. Says whether there
    /// was any.
    fn hear_news(&mut self, most: usize) -> Result<bool, StoreError> {
        let Some(disk) = &mut self.disk else {
            return Ok(false);
        };
        let verdicts = disk.store.some_verdicts(most)?;
        let heard = verdicts.is_some();
        let inherited = disk.inherited;
        let mut half_told = disk.half_told;
        if let Some(fold) = verdicts {
            let is_counted = fold.fold <= inherited;
            let mut changes = Vec::new();
            for told in fold.urls {
                if !is_counted {
                    self.expect_news(told.news, told.state);
                }
                let verdict = match (told.news, told.state) {
                    (Found::New, State::Excluded) | (Found::Lowered, _) => continue,
                    (Found::New, _) => LinkVerdict::New,
                    (Found::Readmitted, _) => LinkVerdict::Readmitted,
                };
                let url = CanonicalUrl::from_stored(&told.url);
                let host = self.intern_host(url.host_str());
                if !is_counted {
                    let row = &mut self.hosts[host as usize];
                    row.known += u32::from(verdict == LinkVerdict::New);
                    row.waiting += 1;
                }
                self.wake_for_store(host);
                if told.told_before {
                    continue;
                }
                changes.push(UrlChange {
                    url,
                    depth: told.depth,
                    verdict,
                });
            }
            if half_told.0 == fold.fold {
                // The same news in the same order: the journal has the first of it.
                let told = half_told.1.min(changes.len());
                changes.drain(..told);
                half_told.1 -= told;
                if let Some(disk) = &mut self.disk {
                    disk.half_told = half_told;
                }
            }
            if let Some(disk) = &mut self.disk
                && (fold.is_last || !changes.is_empty())
            {
                disk.news.push(News {
                    fold: fold.fold,
                    changes,
                    is_last: fold.is_last,
                });
            }
        }
        if let Some(disk) = &mut self.disk
            && disk.folding.is_none()
            && !disk.store.has_verdicts()
            && disk.store.waiting_rows() == 0
        {
            // What the blocks say is all that was sealed.
            disk.ahead[0] = [0; 5];
        }
        Ok(heard)
    }

    /// What a fold found out has reached the blocks with it: nobody had counted it before.
    fn expect_news(&mut self, news: Found, state: State) {
        let Some(disk) = &mut self.disk else { return };
        let ahead = &mut disk.ahead[0];
        match (news, state) {
            (Found::Lowered, _) => {}
            (Found::New, State::Excluded) => ahead[State::Excluded as usize] += 1,
            (Found::New, _) => ahead[State::Waiting as usize] += 1,
            (Found::Readmitted, _) => {
                ahead[State::Excluded as usize] -= 1;
                ahead[State::Waiting as usize] += 1;
            }
        }
    }

    /// A host may have something on disk that it had not before.
    pub(super) fn wake_for_store(&mut self, host: u32) {
        self.look_at_disk(host);
        if let Some(disk) = &mut self.disk
            && disk.woken.last() != Some(&HostId(host))
        {
            disk.woken.push(HostId(host));
        }
    }

    /// Hosts that may have a URL for which they are to be asked, since the last call.
    pub fn take_woken(&mut self) -> Vec<HostId> {
        let disk = self.disk.as_mut();
        disk.map_or_else(Vec::new, |disk| std::mem::take(&mut disk.woken))
    }

    /// What folds found out since the last call, to be written down.
    pub fn take_news(&mut self) -> Vec<News> {
        let disk = self.disk.as_mut();
        disk.map_or_else(Vec::new, |disk| std::mem::take(&mut disk.news))
    }

    /// Blocks that could not be visited since the last call; their news waits.
    pub fn take_damage(&mut self) -> Vec<StoreError> {
        let disk = self.disk.as_mut();
        disk.map_or_else(Vec::new, |disk| std::mem::take(&mut disk.damaged))
    }

    /// A file of the blocks of which nothing can be read.
    pub fn lost_run(&self) -> Option<StoreError> {
        self.disk.as_ref().and_then(|disk| disk.store.lost_run())
    }

    /// Whether files of the blocks were gone when they were opened: their owner has others now, or they are lost.
    pub fn misses_files(&self) -> bool {
        let disk = self.disk.as_ref();
        disk.is_some_and(|disk| disk.store.misses_files())
    }

    /// Decides everything that is still to be decided, and waits for it: for a moment in which there
    /// is nothing else to do. Says whether anything was. Nothing may be offered and not committed.
    pub fn decide_everything(&mut self) -> Result<bool, StoreError> {
        let Some(disk) = &mut self.disk else {
            return Ok(false);
        };
        disk.open_commits = 0;
        let is_all = !disk.store.has_unfolded() && disk.moving.is_none() && !disk.wants_mending();
        if is_all {
            return self.hear_all_news();
        }
        let visited = self.fold_everything()?;
        self.find_hosts()?;
        Ok(visited > 0)
    }

    /// The same beside whatever else goes on: to be asked again until nothing was to be decided, with [`Repository::maintain`] in between.
    pub fn decide_beside(&mut self) -> Result<bool, StoreError> {
        let Some(disk) = &mut self.disk else {
            return Ok(false);
        };
        if disk.moving.is_some() {
            return self.decide_everything();
        }
        disk.open_commits = 0;
        if disk.folding.is_some() {
            return Ok(true);
        }
        if let Deciding::Folded(visited) = std::mem::replace(&mut disk.deciding, Deciding::No) {
            self.hear_all_news()?;
            self.find_hosts()?;
            return Ok(visited > 0);
        }
        if !disk.store.has_unfolded() && !disk.wants_mending() {
            return self.hear_all_news();
        }
        disk.deciding = Deciding::Folding;
        self.begin_fold(FoldJob::everywhere);
        Ok(true)
    }

    /// Whether a fold is under way for which somebody waits who has nothing else to do.
    pub fn is_deciding(&self) -> bool {
        let disk = self.disk.as_ref();
        disk.is_some_and(|disk| !matches!(disk.deciding, Deciding::No))
    }

    /// Brings everything that was told into the blocks. Returns how many were visited.
    pub(super) fn fold_everything(&mut self) -> Result<usize, StoreError> {
        while self.disk.as_ref().is_some_and(|disk| disk.moving.is_some()) {
            self.move_some(u32::MAX);
        }
        let mut visited = self.wait_for_fold()?;
        let unfolded = self.disk.as_ref().is_some_and(|disk| {
            disk.open_commits == 0
                && (disk.store.has_unfolded() || disk.wants_mending())
                && disk.failure.get().is_none()
        });
        if unfolded && let Some(job) = self.seal() {
            let done = job.everywhere().run()?;
            visited += self.finish_fold(done)?;
            self.hear_unless_replaying()?;
            if let Some(disk) = &mut self.disk
                && disk.damaged.iter().all(StoreError::is_mended)
            {
                // Every block has its news: what the blocks say is all there is.
                disk.ahead = [[0; 5]; 2];
            }
        }
        Ok(visited)
    }

    /// Whether more was met than a fold can take in meanwhile: memory is bounded, so the next links
    /// must wait for it.
    pub fn is_behind(&self) -> bool {
        let disk = self.disk.as_ref();
        disk.is_some_and(|disk| disk.folding.is_some() && disk.store.is_behind())
    }

    /// Waits for the fold that is under way.
    pub fn catch_up(&mut self) -> Result<(), StoreError> {
        self.wait_for_fold().map(drop)
    }

    fn wait_for_fold(&mut self) -> Result<usize, StoreError> {
        let folding = self.disk.as_mut().and_then(|disk| disk.folding.take());
        match folding {
            Some(folding) => {
                let done = join(folding)?;
                let visited = self.finish_fold(done)?;
                if let Some(disk) = &mut self.disk {
                    disk.deciding = Deciding::No;
                }
                self.hear_unless_replaying()?;
                Ok(visited)
            }
            None => Ok(0),
        }
    }

    /// While the journal is replayed, an entry to come may say that this news was told.
    fn hear_unless_replaying(&mut self) -> Result<(), StoreError> {
        if !self.replaying {
            self.hear_all_news()?;
        }
        Ok(())
    }

    /// After an entry of the journal was replayed: nothing else goes on, so everything may take its
    /// time.
    pub(super) fn keep_up(&mut self) {
        let kept_up = self.keep_up_or_fail();
        if let (Err(error), Some(disk)) = (kept_up, &self.disk) {
            disk.fail(error);
        }
    }

    fn keep_up_or_fail(&mut self) -> Result<(), StoreError> {
        if self.is_too_large() {
            self.begin_moving(0)?;
        }
        while self.disk.as_ref().is_some_and(|disk| disk.moving.is_some()) {
            self.move_some(u32::MAX);
        }
        if self
            .disk
            .as_ref()
            .is_some_and(|disk| disk.store.wants_fold())
        {
            self.begin_fold(|job| job);
            self.wait_for_fold()?;
        }
        Ok(())
    }

    /// URLs of a host, or of all, that ended in a way that is worth another chance wait again.
    pub(super) fn reopen_on_disk(
        &mut self,
        host: Option<&str>,
        worth_it: impl Fn(Outcome, Timestamp) -> bool,
    ) {
        if let (Err(error), Some(disk)) = (self.try_reopen(host, worth_it), &self.disk) {
            disk.fail(error);
        }
    }

    fn try_reopen(
        &mut self,
        host: Option<&str>,
        worth_it: impl Fn(Outcome, Timestamp) -> bool,
    ) -> Result<(), StoreError> {
        self.fold_everything()?;
        let Some(disk) = &self.disk else {
            return Ok(());
        };
        let mut survey = match host {
            Some(host) => disk.store.survey_of(host),
            None => disk.store.survey(),
        };
        let ended = |state| !matches!(state, State::Waiting | State::Excluded);
        let wanted = |state| {
            if host.is_some() {
                ended(state)
            } else {
                state == State::Failed
            }
        };
        let (mut is_end, mut any) = (false, false);
        while !is_end {
            let mut batch = self.batch();
            let Some(disk) = &mut self.disk else {
                return Ok(());
            };
            while !is_end && !batch.is_full() {
                let gone_on = disk.store.survey_on(&mut survey, 1, wanted, |url, known| {
                    let visited = known.rare.visited.as_ref();
                    if visited.is_some_and(|it| {
                        worth_it(Outcome::from_number(it.outcome), moment(it.last_attempt))
                    }) {
                        // A page more than it has room for is no harm.
                        let _ = batch.push(url, known.state);
                    }
                });
                // What stands on a damaged page stays as it is.
                is_end = gone_on.or_else(|error| disk.store.note_damage(error).map(|()| false))?;
            }
            for (url, state) in &batch.urls {
                disk.store.stand(url, Stands::default());
                disk.expect(*state, -1);
                disk.expect(State::Waiting, 1);
            }
            if !batch.urls.is_empty() {
                any = true;
                // Only what is in the blocks is found there; and memory holds a bounded number of them.
                self.fold_everything()?;
            }
        }
        if any {
            self.find_hosts()?;
        }
        Ok(())
    }

    /// Reads from the directories of the blocks which hosts there are and what waits on them.
    pub(super) fn find_hosts(&mut self) -> Result<(), StoreError> {
        let mut hosts: HashMap<String, (u64, u64)> = HashMap::new();
        let Some(disk) = &self.disk else {
            return Ok(());
        };
        disk.store.hosts(|counts| {
            let host = hosts.entry(counts.host).or_default();
            host.0 += counts.urls;
            host.1 += counts.waiting;
        })?;
        let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let mut hosts: Vec<_> = hosts.into_iter().collect();
        hosts.sort_unstable();
        for (name, (urls, waiting)) in hosts {
            let at = self.intern_host(&name);
            let row = &mut self.hosts[at as usize];
            row.known = narrow(urls);
            row.waiting = narrow(waiting);
            if waiting > 0 {
                self.look_at_disk(at);
                if let Some(disk) = &mut self.disk {
                    disk.woken.push(HostId(at));
                }
            }
        }
        Ok(())
    }
}

fn join(folding: JoinHandle<Result<FoldDone, StoreError>>) -> Result<FoldDone, StoreError> {
    folding.join().unwrap_or_else(|_| {
        let source = std::io::Error::other("the thread that folds has ended");
        Err(StoreError::disk("finish", "fold")(source))
    })
}
