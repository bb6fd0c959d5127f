//! The summary of a run: outcomes (like Tarântula's Table 1), types, the largest hosts.

use std::collections::BTreeMap;
use std::io::{self, Write};

use teia_base::Outcome;
use teia_base::measure::format_size;
use teia_engine::{EndReason, Report, Stats};

use super::counted;
use super::width::{Width, cut};

/// Writes the summary to standard output; `resume` is the command that goes on.
pub(crate) fn print_summary(report: &Report, resume: &str, is_terminal: bool) -> io::Result<()> {
    let style = Style::new(is_terminal);
    let width = Width::of_stdout(is_terminal);
    let mut out = io::stdout().lock();
    let seconds = report.elapsed.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = if seconds > 0.0 {
        report.fetched_here as f64 / seconds
    } else {
        0.0
    };
    let first = format!(
        "Collection {}: {}, {}, {seconds:.1} s, {rate:.1} pages/s; {}",
        report.collection,
        counted(report.fetched, "page"),
        format_size(report.stats.bytes),
        ending(report),
    );
    for (at, line) in width.wrap(&first).into_iter().enumerate() {
        match line.split_once(':').filter(|_| at == 0) {
            Some((name, rest)) => writeln!(out, "{}{name}{}:{rest}", style.strong, style.plain)?,
            None => writeln!(out, "{line}")?,
        }
    }
    let second = format!(
        "{} known on {}, {} waiting, {} with the content of another",
        counted(report.known_urls, "URL"),
        counted(report.hosts as u64, "host"),
        group(report.waiting),
        group(report.stats.duplicates),
    );
    for line in width.wrap(&second) {
        writeln!(out, "{line}")?;
    }
    if report.waiting > 0 {
        // A line of its own, never broken by us, so that it can be copied.
        writeln!(out, "`{resume}` goes on with what is waiting")?;
    }
    drop(out);
    print_tables(&report.stats, is_terminal)
}

/// Why it ended, in words.
fn ending(report: &Report) -> String {
    let before = report.fetched.saturating_sub(report.fetched_here);
    match report.reason {
        EndReason::Done if report.waiting > 0 => "nothing more is due within a minute".to_owned(),
        // Who interrupted a run and gives another limit may wonder where the pages are.
        reason @ (EndReason::MaxPages | EndReason::MaxBytes | EndReason::MaxTime) if before > 0 => {
            format!(
                "{}; this run had fetched {} before it went on, which count",
                reason.sentence(),
                counted(before, "page")
            )
        }
        reason => reason.sentence().to_owned(),
    }
}

/// Writes the tables of outcomes, types and hosts.
pub(crate) fn print_tables(stats: &Stats, is_terminal: bool) -> io::Result<()> {
    let style = Style::new(is_terminal);
    let width = Width::of_stdout(is_terminal);
    let mut out = io::stdout().lock();
    let total: u64 = stats.codes.values().sum();
    if total > 0 {
        let mut rows: Vec<(Outcome, u64)> = stats
            .codes
            .iter()
            .map(|(code, count)| (Outcome::from_number(*code), *count))
            .collect();
        rows.sort_by_key(|(outcome, count)| (std::cmp::Reverse(*count), outcome.number()));
        let longest = rows.iter().map(|(outcome, _)| outcome.name().len()).max();
        let longest = longest.unwrap_or(0).max("outcome".len());
        // Code, count and share with the spaces between: 5 + 2 + 1 + 9 + 1 + 6.
        let names = width.left_of(24, longest);
        // Where nothing of a meaning could be read, there is none.
        let meanings = match width.left_of(25 + names, 62) {
            0..8 => 0,
            columns => columns + 1,
        };
        writeln!(
            out,
            "\n{}{:>5}  {:<names$}{:<meanings$} {:>9} {:>6}{}",
            style.strong,
            "code",
            cut("outcome", names),
            cut(" meaning", meanings),
            "attempts",
            "%",
            style.plain
        )?;
        for (outcome, count) in rows {
            let colour = match outcome.number() {
                200..=299 => style.good,
                300..=399 => style.plain,
                _ => style.warn,
            };
            writeln!(
                out,
                "{:>5}  {colour}{:<names$}{}{:<meanings$} {:>9} {:>6.1}",
                outcome.number(),
                cut(&outcome.name(), names),
                style.plain,
                cut(&format!(" {}", outcome.sentence()), meanings),
                group(count),
                percent(count, total),
            )?;
        }
    }
    for (name, rows) in [
        ("type", &stats.types),
        ("declared language", &stats.languages),
        ("host", &stats.hosts),
    ] {
        table(&mut out, &style, width, name, rows, 10)?;
    }
    Ok(())
}

fn table(
    out: &mut impl Write,
    style: &Style,
    width: Width,
    name: &str,
    rows: &BTreeMap<String, u64>,
    most: usize,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let names = width.left_of(17, 50);
    let total: u64 = rows.values().sum();
    let mut sorted: Vec<(&String, &u64)> = rows.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    writeln!(
        out,
        "\n{}{:<names$} {:>9} {:>6}{}",
        style.strong,
        cut(name, names),
        "pages",
        "%",
        style.plain
    )?;
    for (text, count) in sorted.iter().take(most) {
        writeln!(
            out,
            "{:<names$} {:>9} {:>6.1}",
            cut(text, names),
            group(**count),
            percent(**count, total)
        )?;
    }
    if sorted.len() > most {
        writeln!(out, "… and {} more", sorted.len() - most)?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn percent(count: u64, total: u64) -> f64 {
    count as f64 * 100.0 / total.max(1) as f64
}

/// 1234567 as 1 234 567.
pub(crate) fn group(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// Colours only on terminals, and not where `NO_COLOR` is set.
struct Style {
    strong: &'static str,
    good: &'static str,
    warn: &'static str,
    plain: &'static str,
}

impl Style {
    fn new(is_terminal: bool) -> Self {
        if is_terminal && std::env::var_os("NO_COLOR").is_none() {
            Self {
                strong: "\x1b[1m",
                good: "\x1b[32m",
                warn: "\x1b[33m",
                plain: "\x1b[0m",
            }
        } else {
            Self {
                strong: "",
                good: "",
                warn: "",
                plain: "",
            }
        }
    }
}
