//! What an entry of the journal holds, behind its check sum: what was changed before that was taken, or by a program with a
//! mistake.

use teia_base::journal::{
    Added, ArchivePosition, Attempt, Commit, Entry, Exclusion, Folded, HostUpdate, LinkRecord,
    LinkVerdict, Next, Quarantined, Record, Recovered, RecoveredUrl, RunEnded, RunStarted,
    SeedRecord, UrlChange,
};
use teia_base::{
    CaptureId, Charset, CharsetSource, FoundUrl, LinkKind, NormalForm, Outcome, Rel, Timestamp,
};

use super::{Target, hold};

/// What can be read is written again, and read as the same.
pub(super) const ENTRY: Target = Target {
    name: "entry",
    words: &["http://a.example/", "\u{7f}", "\u{1}\u{1}\u{1}"],
    inputs_in_tests: 20_000,
    examples: || {
        records()
            .into_iter()
            .map(|record| bytes_of(&entry(record)))
            .collect()
    },
    read: |input| {
        let Ok(entry) = postcard::from_bytes::<Entry>(input) else {
            return Ok(());
        };
        let again = bytes_of(&entry);
        let read: Entry = postcard::from_bytes(&again).map_err(|error| error.to_string())?;
        hold(format!("{read:?}") == format!("{entry:?}"), || {
            format!("{entry:?} is read again as {read:?}")
        })?;
        // What comes of it is counted without a panic.
        let _ = entry.record.told();
        if let Record::Commit(commit) = &entry.record {
            for attempt in &commit.attempts {
                let _ = (
                    attempt.is_request(),
                    attempt.is_error(),
                    attempt.outcome.name(),
                );
                let _ = teia_engine::tell_attempt(attempt);
            }
        }
        Ok(())
    },
};

fn entry(record: Record) -> Entry {
    Entry {
        sequence: 7,
        wall: Timestamp::from_micros(1_800_000_000_000_000),
        run: 2,
        record,
    }
}

fn bytes_of(entry: &Entry) -> Vec<u8> {
    postcard::to_stdvec(entry).expect("plain data")
}

fn url(text: &str) -> FoundUrl {
    NormalForm::default().parse(text).expect("a URL")
}

/// One of each kind that has something in it: all but `Paused` and `Resumed`.
fn records() -> Vec<Record> {
    let (page, other) = (url("http://a.example/x?y=1"), url("http://b.example/"));
    let wall = Timestamp::from_micros(1_800_000_000_000_000);
    let excluded = LinkVerdict::Excluded(Exclusion {
        outcome: Outcome::OUT_OF_SCOPE,
        rule: "scope host".to_owned(),
    });
    let link = |verdict| LinkRecord {
        url: other.clone(),
        kind: LinkKind::Anchor,
        rel: Rel::default(),
        anchor: "there".to_owned(),
        last_modified: Some(wall),
        depth: 1,
        requisite: false,
        chain: None,
        verdict,
    };
    let mut attempt = Attempt::new(page.clone(), wall, Outcome::http(200));
    attempt.capture = Some(CaptureId(9));
    attempt.remote = Some(([127, 0, 0, 1], 80).into());
    attempt.detail = Some("chunked".to_owned());
    attempt.title = "A page".to_owned();
    attempt.next = Next::RetryAt(wall);
    attempt.links = vec![link(LinkVerdict::New), link(excluded.clone())];
    attempt.junk = b"SSH-2.0".to_vec();
    attempt.charset = Some(Charset {
        name: "UTF-8".into(),
        source: CharsetSource::Meta,
    });
    let change = UrlChange {
        url: page.normal().clone(),
        depth: 1,
        verdict: LinkVerdict::New,
    };
    vec![
        Record::RunStarted(RunStarted {
            options: "max-pages = 1".to_owned(),
            seeds: vec![SeedRecord {
                url: page.clone(),
                fallback_http: true,
                verdict: LinkVerdict::New,
            }],
            version: "1".to_owned(),
        }),
        Record::Commit(Commit {
            attempts: vec![attempt],
            hosts: vec![HostUpdate {
                host: "a.example".to_owned(),
                robots: Some(("http://a.example".to_owned(), vec![1, 2, 3])),
                back_off_until: Some(wall),
                alias_of: Some(String::new()),
            }],
            archive: Some(ArchivePosition {
                file: "x.warc.gz".to_owned(),
                len: 99,
            }),
            changes: vec![change.clone()],
        }),
        Record::Folded(Folded {
            fold: 3,
            changes: vec![change],
            is_last: true,
        }),
        Record::Added(Added {
            urls: vec![(page.clone(), LinkVerdict::Known)],
        }),
        Record::Quarantined(Quarantined {
            host: "a.example".to_owned(),
            pattern: "/calendar/{n}".to_owned(),
        }),
        Record::Lifted(Quarantined {
            host: "a.example".to_owned(),
            pattern: "/calendar/{n}".to_owned(),
        }),
        Record::RunEnded(RunEnded {
            reason: "max-pages".to_owned(),
        }),
        Record::Recovered(Recovered {
            urls: vec![RecoveredUrl {
                url: page.clone(),
                depth: 2,
                requisite: true,
                seed: Some(true),
                verdict: excluded,
            }],
        }),
        Record::Spelled("sort-query = true".to_owned()),
        Record::Prioritised(vec![(page.normal().clone(), -5)]),
        Record::Changed("[]".to_owned()),
    ]
}
