//! A few thousand broken inputs for each target, always the same ones.
#![allow(clippy::print_stdout, reason = "the counts are the result")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use teia_fuzz::{Broken, TARGETS, Target, Tried, Watched, corpus_of, run_target, watch};

#[test]
fn nothing_that_reads_what_others_wrote_panics_or_hangs() {
    let mut broken = Vec::new();
    for target in TARGETS {
        let ran = run_target(target, 1, None, |inputs| inputs < target.inputs_in_tests)
            .expect("kept inputs");
        println!(
            "{:12} {:>6} inputs, slowest {:?} of CPU",
            target.name, ran.inputs, ran.slowest
        );
        if let Some(found) = ran.broken {
            broken.push(format!("{}: {}: {:?}", target.name, found.why, found.input));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Each target has inputs that are kept: those that once broke something, and those that break others.
#[test]
fn every_target_has_kept_inputs_and_every_kept_input_a_target() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    for name in &names {
        let kept = corpus_of(name).expect("a folder that can be read");
        assert!(!kept.is_empty(), "corpus/{name} has no input");
    }
    let folders = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    for folder in std::fs::read_dir(folders).expect("kept inputs") {
        let name = folder.expect("a folder").file_name();
        let name = name.to_string_lossy().into_owned();
        assert!(names.contains(&name.as_str()), "nobody reads corpus/{name}");
    }
}

#[test]
fn a_target_that_panics_is_caught() {
    let target = teia_fuzz::Target {
        name: "planted",
        words: &["boom"],
        inputs_in_tests: 0,
        examples: || vec![b"abc".to_vec()],
        read: |input| {
            assert!(!input.windows(4).any(|four| four == b"boom"), "planted");
            Ok(())
        },
    };
    let ran = run_target(&target, 1, None, |inputs| inputs < 1000).expect("no kept inputs");
    assert!(
        ran.broken
            .is_some_and(|found| found.why.contains("planted"))
    );
}

/// Names the file in which the planted process notes its inputs.
const NOTED: &str = "TEIA_FUZZ_PLANTED";

/// A target that ends its process, runs over its stack or never returns, each for one word.
const PLANTED: Target = Target {
    name: "planted",
    words: &[],
    inputs_in_tests: 0,
    // The last one comes first.
    examples: || {
        [
            b"never tried".as_slice(),
            b"?",
            b"a longer one that is sound",
        ]
        .map(<[u8]>::to_vec)
        .to_vec()
    },
    read: |input| {
        let word = std::env::var("TEIA_FUZZ_WORD").unwrap_or_default();
        match (input, word.as_str()) {
            (b"?", "abort") => std::process::abort(),
            (b"?", "overflow") => Err(deeper(1).to_string()),
            (b"?", "loop") => loop {
                std::thread::sleep(Duration::from_millis(1));
            },
            _ => Ok(()),
        }
    },
};

/// Never ends by itself; what is added behind the call keeps it from being made a loop.
fn deeper(depth: u64) -> u64 {
    let room = std::hint::black_box([depth; 64]);
    if depth == u64::MAX {
        return depth;
    }
    deeper(depth + 1) + std::hint::black_box(room)[7]
}

/// Not a test but the process that the next one watches.
#[test]
fn a_planted_process() {
    let Some(noted) = std::env::var_os(NOTED) else {
        return;
    };
    let mut tried = Tried::create(Path::new(&noted)).expect("a file");
    run_target(&PLANTED, 1, Some(&mut tried), |_| false).expect("notes");
}

/// Who dies, or never comes back, says nothing: what it was given is known all the same.
#[test]
fn an_input_that_ends_the_process_or_never_ends_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    for (word, said) in [
        ("abort", "ended by signal 6"),
        ("overflow", "ended by signal"),
        ("loop", "took longer"),
    ] {
        let noted = folder.path().join(word);
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "a_planted_process"])
            .env(NOTED, &noted)
            .env("TEIA_FUZZ_WORD", word)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("this program again");
        // Nothing but the loop takes long, and that would take for ever.
        let limit = Duration::from_secs(20);
        let limit = if word == "loop" { limit / 4 } else { limit * 6 };
        let watched = watch(&mut child, &noted, limit).expect("notes");
        let Watched::Broken(Broken { input, why }) = watched else {
            panic!("{word}: {watched:?}");
        };
        assert!(why.contains(said), "{word}: {why}");
        assert_eq!(input, b"?", "{word}");
    }
}

/// What is kept is changed like the examples: who once found something may find its neighbours.
#[test]
fn kept_inputs_are_changed_too() {
    let robots = TARGETS.iter().find(|target| target.name == "robots");
    let target = Target {
        // Nothing of what is kept is in it.
        examples: || vec![b"zzzz".to_vec()],
        words: &[],
        read: |input| {
            let kept = corpus_of("robots").expect("kept inputs");
            let is_kept = kept.iter().any(|(_, one)| one == input);
            let is_like_one = input
                .windows(8)
                .any(|some| some.eq_ignore_ascii_case(b"disallow"));
            match is_like_one && !is_kept {
                true => Err("a neighbour".to_owned()),
                false => Ok(()),
            }
        },
        ..*robots.expect("a target")
    };
    let ran = run_target(&target, 1, None, |inputs| inputs < 500).expect("kept inputs");
    assert!(
        ran.broken.is_some(),
        "{} inputs, and none like those that are kept",
        ran.inputs
    );
}
