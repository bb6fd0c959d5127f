//! Archives that others wrote: good ones read, broken ones reported, indexes as theirs.
#![allow(clippy::unwrap_used, reason = "these are tests")]

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use support::shared_data;
use teia_archive::{CdxEntry, Damage, Found, WarcReader, index_warc};
use teia_base::{DiskFiles, Files};

fn samples(count: usize) -> Option<PathBuf> {
    let path = shared_data("warc");
    if path.is_none() {
        eprintln!("SKIPPED {count}: shared data missing");
    }
    path
}

fn index(root: &Path, file: &str) -> (Vec<CdxEntry>, Vec<Damage>) {
    index_warc(&DiskFiles::existing(root), Path::new(file)).unwrap()
}

/// Files, captures in them, damaged places in them.
///
/// The numbers of captures are those of cdxj-indexer 1.5.0, except where it gives up: several
/// records in one gzip member (the three `bad` ones, which we read) and a header that it finds odd
/// (`link-extraction-test`). `wrong-chunks` has a record that runs over several members, and ARC is
/// not read; `example.warc` and `example-trunc.warc` have stray bytes at their end.
const SAMPLES: &[(&str, usize, usize)] = &[
    ("iipc-specs/20130729-heritrix-original.warc.gz", 1, 0),
    (
        "iipc-specs/20130729-heritrix-revisit-with-http-headers.warc.gz",
        1,
        0,
    ),
    (
        "iipc-specs/20141124-heritrix-server-not-modified.warc.gz",
        1,
        0,
    ),
    ("iipc-specs/20141129-heritrix-original.warc.gz", 1, 0),
    (
        "iipc-specs/20141129-heritrix-revisit-with-http-headers-and-new-warc-headers.warc.gz",
        1,
        0,
    ),
    ("iipc-specs/hello-world.warc", 4, 0),
    ("iipc-specs/hello-world.warc.gz", 4, 0),
    ("jwarc/cc.warc.gz", 1, 0),
    ("jwarc/gzip_extra_sl.warc.gz", 0, 0),
    ("pywb-sample_archive/warcs/bad.arc", 0, 1),
    ("pywb-sample_archive/warcs/dupes.warc.gz", 12, 0),
    ("pywb-sample_archive/warcs/example-bad.warc.gz.bad", 3, 0),
    ("pywb-sample_archive/warcs/example-extra.warc", 3, 0),
    ("pywb-sample_archive/warcs/example.arc", 0, 1),
    ("pywb-sample_archive/warcs/example.arc.gz", 0, 1),
    ("pywb-sample_archive/warcs/example.warc", 3, 1),
    ("pywb-sample_archive/warcs/iana.warc.gz", 171, 0),
    ("warcio/bad.arc", 0, 1),
    ("warcio/example-bad-non-chunked.warc.gz", 2, 0),
    ("warcio/example-bad.warc.gz.bad", 3, 0),
    ("warcio/example-digest.warc", 0, 0),
    ("warcio/example-iana.org-chunked.warc", 1, 0),
    ("warcio/example-resource.warc.gz", 1, 0),
    ("warcio/example-space-in-target-uri.warc.gz", 1, 0),
    ("warcio/example-space-in-url.arc", 0, 1),
    ("warcio/example-trunc.warc", 1, 1),
    ("warcio/example-wget-bad-target-uri.warc.gz", 4, 0),
    ("warcio/example-wrong-chunks.warc.gz", 0, 1),
    ("warcio/example.arc", 0, 1),
    ("warcio/example.warc", 2, 0),
    ("warcio/example.warc.gz", 2, 0),
    ("warcio/post-test.warc.gz", 3, 0),
    ("webarchive-commons/IAH-urls-wget.warc", 19, 0),
    ("webarchive-commons/double-single-inflate-error.gz", 0, 1),
    ("webarchive-commons/empty.gz", 0, 1),
    ("webarchive-commons/hi-2.gz", 0, 1),
    ("webarchive-commons/hi.gz", 0, 1),
    ("webarchive-commons/link-extraction-test.warc", 6, 0),
    ("webarchive-commons/mutliple-headers.warc", 1, 0),
];

#[test]
fn samples_give_their_captures_and_their_damage() {
    let Some(root) = samples(SAMPLES.len()) else {
        return;
    };
    let mut wrong = Vec::new();
    for (file, captures, damages) in SAMPLES {
        let (entries, found) = index(&root, file);
        if (entries.len(), found.len()) != (*captures, *damages) {
            wrong.push(format!(
                "(\"{file}\", {}, {}), {found:?}",
                entries.len(),
                found.len()
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_sample_clipped_and_flipped_ends_without_a_panic() {
    let Some(root) = samples(SAMPLES.len()) else {
        return;
    };
    let temporary = tempfile::tempdir().unwrap();
    let files = DiskFiles::new(temporary.path()).unwrap();
    for (file, ..) in SAMPLES {
        let bytes = std::fs::read(root.join(file)).unwrap();
        let bytes = &bytes[..bytes.len().min(8 << 10)];
        for at in (0..bytes.len()).step_by(89) {
            let mut flipped = bytes.to_vec();
            flipped[at] ^= 1 << (at % 8);
            for variant in [&bytes[..at], &flipped] {
                std::fs::write(temporary.path().join("x"), variant).unwrap();
                let path = Path::new("x");
                let mut reader = WarcReader::new(files.open(path).unwrap(), path, 0).unwrap();
                let mut last = None;
                while let Some(found) = reader.next_found().unwrap() {
                    let offset = match found {
                        Found::Record(record) => {
                            record.verify().unwrap();
                            record.offset
                        }
                        Found::Damage(damage) => damage.offset,
                    };
                    assert!(
                        last.is_none_or(|last| last <= offset),
                        "{file} {at}: never backwards"
                    );
                    last = Some(offset);
                }
            }
        }
    }
}

#[track_caller]
fn check_cdxj(root: &Path, warc: &str, cdxj: &str, adjust: impl Fn(&mut CdxEntry)) {
    let (mut entries, damages) = index(root, &format!("pywb-sample_archive/warcs/{warc}"));
    assert_eq!(damages, []);
    entries.iter_mut().for_each(adjust);
    let ours: BTreeSet<String> = entries.iter().map(CdxEntry::to_line).collect();
    let theirs = std::fs::read_to_string(root.join("pywb-sample_archive").join(cdxj)).unwrap();
    let theirs: BTreeSet<String> = theirs.lines().map(|line| format!("{line}\n")).collect();
    let only_ours: Vec<_> = ours.difference(&theirs).collect();
    let only_theirs: Vec<_> = theirs.difference(&ours).collect();
    assert!(
        only_ours.is_empty() && only_theirs.is_empty(),
        "{warc}\nours {only_ours:#?}\ntheirs {only_theirs:#?}"
    );
}

#[test]
fn our_cdxj_is_that_of_pywb_byte_for_byte() {
    let Some(root) = samples(5) else { return };
    check_cdxj(&root, "iana.warc.gz", "cdxj/iana.cdxj", |_| {});
    check_cdxj(&root, "dupes.warc.gz", "cdxj/dupes.cdxj", |_| {});
    check_cdxj(&root, "example2.warc.gz", "cdxj/example2.cdxj", |_| {});
}

#[test]
fn a_revisit_of_another_url_has_the_lines_of_pywb() {
    let Some(root) = samples(1) else { return };
    let mut lines: Vec<String> = ["orig", "revisit"]
        .iter()
        .flat_map(|part| {
            index(
                &root,
                &format!("pywb-sample_archive/warcs/example-url-agnostic-{part}.warc.gz"),
            )
            .0
        })
        .map(|entry| entry.to_line())
        .collect();
    lines.sort_unstable();
    let theirs =
        std::fs::read_to_string(root.join("pywb-sample_archive/cdxj/url-agnost-example.cdxj"))
            .unwrap();
    assert_eq!(lines.concat(), theirs);
}

#[test]
fn our_cdxj_differs_from_pywbs_minimal_one_by_the_fields_it_leaves_out() {
    let Some(root) = samples(1) else { return };
    check_cdxj(&root, "example.warc.gz", "cdxj/example.cdxj", |entry| {
        entry.status = None;
        if !entry.is_revisit() {
            "-".clone_into(&mut entry.mime);
        }
    });
}
