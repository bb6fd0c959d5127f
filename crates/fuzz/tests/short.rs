//! A few thousand broken inputs for each target, always the same ones.
#![allow(clippy::print_stdout, reason = "the counts are the result")]

use teia_fuzz::{TARGETS, corpus_of, run_target};

#[test]
fn nothing_that_reads_what_others_wrote_panics_or_hangs() {
    let mut broken = Vec::new();
    for target in TARGETS {
        let ran = run_target(target, 1, |inputs| inputs < target.inputs_in_tests);
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
    let ran = run_target(&target, 1, |inputs| inputs < 1000);
    assert!(
        ran.broken
            .is_some_and(|found| found.why.contains("planted"))
    );
}
