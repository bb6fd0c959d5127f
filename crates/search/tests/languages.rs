//! Detection and stemming, measured on the shared data.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod shared;

use std::path::Path;

use shared::data;
use teia_search::{detect, stem};

/// The share of texts found to be in a language, at least `least`.
#[track_caller]
fn check<'a>(name: &str, texts: impl Iterator<Item = &'a str>, language: &str, least: f64) {
    let (mut right, mut all) = (0.0, 0.0);
    for text in texts {
        all += 1.0;
        right += f64::from(u8::from(detect(text).language == language));
    }
    let share = right / all;
    eprintln!("{name}: {language} {:.2} % of {all}", share * 100.0);
    assert!(share >= least, "{name}: {language} {share:.4} of {all}");
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}

#[test]
fn sentences_are_known_by_their_language() {
    let Some(folder) = data("lang-id") else {
        return;
    };
    for (language, least) in [
        ("pt", 0.985),
        ("es", 0.97),
        ("en", 0.98),
        ("fr", 0.98),
        ("it", 0.98),
        ("de", 0.98),
    ] {
        let text = read(&folder.join("lingua").join(language).join("sentences.txt"));
        check("lingua sentences", text.lines(), language, least);
    }
    for (language, file) in [
        ("pt", "PT_dev.tsv"),
        ("es", "ES_dev.tsv"),
        ("en", "EN_dev.tsv"),
    ] {
        let text = read(&folder.join("dsl-tl").join(file));
        check(
            "dsl-tl dev",
            text.lines().filter_map(|line| line.split('\t').nth(1)),
            language,
            0.99,
        );
    }
}

#[test]
fn portuguese_spanish_galician_and_catalan_are_told_apart() {
    let Some(folder) = data("lang-id") else {
        return;
    };
    for (file, language) in [
        ("por_PT", "pt"),
        ("por_BR", "pt"),
        ("glg", "gl"),
        ("spa", "es"),
        ("cat", "ca"),
    ] {
        let page = read(&folder.join("udhr").join(format!("{file}.html")));
        let paragraphs: Vec<String> = page.split("<p>").skip(1).map(without_markup).collect();
        let long = paragraphs
            .iter()
            .map(String::as_str)
            .filter(|text| text.len() > 25);
        check(file, long, language, 0.96);
    }
}

fn without_markup(text: &str) -> String {
    let mut plain = String::new();
    for part in text.split("</p>").next().unwrap().split('<') {
        plain.push_str(part.split_once('>').map_or(part, |(_, rest)| rest));
        plain.push(' ');
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_says_nothing_is_undetermined() {
    for text in ["", " … ", "12345 2026-11-15", "\u{0}"] {
        assert_eq!(detect(text).language, "und", "{text:?}");
    }
    assert!(detect("Toda a gente tem direito à liberdade e à segurança").confidence > 0.7);
}

#[test]
fn stems_are_those_of_snowball() {
    let Some(folder) = data("stemming") else {
        return;
    };
    for (name, language) in [("portuguese", "pt"), ("spanish", "es"), ("english", "en")] {
        let words = read(&folder.join(name).join("voc.txt"));
        let stems = read(&folder.join(name).join("output.txt"));
        let (mut right, mut all) = (0.0, 0.0);
        for (word, expected) in words.lines().zip(stems.lines()) {
            all += 1.0;
            right += f64::from(u8::from(stem(language, word) == expected));
        }
        let share = right / all;
        eprintln!("{name}: {:.3} % of {all}", share * 100.0);
        assert!(share > 0.98, "{name}: {share}");
    }
}
