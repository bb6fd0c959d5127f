//! A few thousand broken inputs for each target, always the same ones.
#![allow(clippy::print_stdout, reason = "the counts are the result")]

use teia_fuzz::{TARGETS, run_target};

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
