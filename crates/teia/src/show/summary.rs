//! The summary of a run: outcomes (like Tarântula's Table 1), types, the largest hosts.

use std::io::{self, Write};

use teia_base::Outcome;
use teia_base::measure::format_size;
use teia_engine::{EndReason, Report, Stats};

/// Writes the summary to standard output.
pub(crate) fn print_summary(report: &Report, is_terminal: bool) -> io::Result<()> {
    let style = Style::new(is_terminal);
    let mut out = io::stdout().lock();
    let seconds = report.elapsed.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let rate = if seconds > 0.0 {
        report.fetched as f64 / seconds
    } else {
        0.0
    };
    writeln!(
        out,
        "{}Collection {}{}: {} pages, {}, {seconds:.1} s, {rate:.1} pages/s; {}",
        style.strong,
        report.collection,
        style.plain,
        group(report.fetched),
        format_size(report.stats.bytes),
        ending(report),
    )?;
    writeln!(
        out,
        "{} URLs known on {} hosts, {} waiting, {} with the content of another",
        group(report.known_urls),
        group(report.hosts as u64),
        group(report.waiting),
        group(report.stats.duplicates),
    )?;
    if report.waiting > 0 {
        writeln!(
            out,
            "`teia resume {}` goes on with what is waiting.",
            report.collection
        )?;
    }
    drop(out);
    print_tables(&report.stats, is_terminal)
}

/// Why it ended, in words.
fn ending(report: &Report) -> &'static str {
    if report.reason == EndReason::Done && report.waiting > 0 {
        return "nothing more is due within a minute";
    }
    report.reason.sentence()
}

/// Writes the tables of outcomes, types and hosts.
pub(crate) fn print_tables(stats: &Stats, is_terminal: bool) -> io::Result<()> {
    let style = Style::new(is_terminal);
    let mut out = io::stdout().lock();
    let total: u64 = stats.codes.values().sum();
    if total > 0 {
        writeln!(
            out,
            "\n{}{:>5}  {:<22} {:<62} {:>9} {:>6}{}",
            style.strong, "code", "outcome", "meaning", "count", "%", style.plain
        )?;
        let mut rows: Vec<(&i16, &u64)> = stats.codes.iter().collect();
        rows.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        for (code, count) in rows {
            let outcome = Outcome::from_number(*code);
            let colour = match code {
                200..=299 => style.good,
                300..=399 => style.plain,
                _ => style.warn,
            };
            writeln!(
                out,
                "{code:>5}  {colour}{:<22}{} {:<62} {:>9} {:>6.1}",
                outcome.name(),
                style.plain,
                outcome.sentence(),
                group(*count),
                percent(*count, total),
            )?;
        }
    }
    table(
        &mut out,
        &style,
        "type",
        &stats
            .types
            .iter()
            .map(|(name, count)| (name.as_str(), *count))
            .collect::<Vec<_>>(),
        10,
    )?;
    table(
        &mut out,
        &style,
        "host",
        &stats
            .hosts
            .iter()
            .map(|(name, count)| (name.as_str(), *count))
            .collect::<Vec<_>>(),
        10,
    )
}

fn table(
    out: &mut impl Write,
    style: &Style,
    name: &str,
    rows: &[(&str, u64)],
    most: usize,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let total: u64 = rows.iter().map(|(_, count)| count).sum();
    let mut sorted: Vec<&(&str, u64)> = rows.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    writeln!(
        out,
        "\n{}{name:<50} {:>9} {:>6}{}",
        style.strong, "pages", "%", style.plain
    )?;
    for (text, count) in sorted.iter().take(most) {
        writeln!(
            out,
            "{text:<50} {:>9} {:>6.1}",
            group(*count),
            percent(*count, total)
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
pub(super) fn group(number: u64) -> String {
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
