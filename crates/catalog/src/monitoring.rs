//! What is shown of a collection while it is collected, and of a host to its webmaster.

use std::collections::BTreeMap;

use serde::Serialize;
use teia_base::{Outcome, Timestamp};

use crate::CatalogError;
use crate::reader::{Known, Reader, Row, number};

/// Of the newest attempts so many are looked at for what changes quickly.
const NEWEST: i64 = 10_000;
/// Rows of each list of hosts.
const HOSTS: i64 = 25;
/// Rows of each list of names.
const NAMES: i64 = 25;
/// Errors that are listed.
const ERRORS: i64 = 50;
/// Minutes of a curve: a week.
const MINUTES: i64 = 10_080;
/// Requests to a host of which the rests are told, the newest.
const MOST_RESTS: i64 = 100_000;
/// Runs that are listed, the newest.
const RUNS: i64 = 100;

/// A collection at a glance.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Dashboard {
    /// Documents by what became of them, the most frequent first.
    pub outcomes: Vec<OutcomeCount>,
    /// Documents collected by media type, the most frequent first.
    pub types: Names,
    /// Documents collected that have a text, by declared language.
    pub languages: Names,
    /// Documents collected by hops from a seed, all of them.
    pub depths: Vec<DepthCount>,
    /// Hosts with the most documents.
    pub largest: Vec<HostRow>,
    /// Hosts that take longest to answer.
    pub slowest: Vec<HostRow>,
    /// Hosts with the most errors.
    pub failing: Vec<HostRow>,
    /// Where the time of the newest attempts went, in microseconds.
    pub times: Times,
    /// Failed attempts among the newest, newest first.
    pub errors: Vec<Failed>,
    /// What each minute brought, oldest first; a week at most.
    pub minutes: Vec<Minute>,
    /// Runs, newest first.
    pub runs: Vec<RunRow>,
}

/// Documents with an outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutcomeCount {
    /// A status, or a negative number of Teia's own.
    pub code: i64,
    /// Its name.
    pub name: String,
    /// What it means.
    pub meaning: &'static str,
    /// How many.
    pub documents: i64,
}

/// The most frequent names, and all documents that have one, also of those that are not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Names {
    /// These of them.
    pub items: Vec<NameCount>,
    /// All documents.
    pub documents: i64,
}

/// Documents with a name: a type, a language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NameCount {
    /// The name; empty where it is not known.
    pub name: String,
    /// How many.
    pub documents: i64,
}

/// Documents so many hops from a seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DepthCount {
    /// Hops.
    pub depth: i64,
    /// How many.
    pub documents: i64,
}

/// A host in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostRow {
    /// Its name.
    pub host: String,
    /// URLs met there.
    pub admitted: i64,
    /// Documents answered.
    pub fetched: i64,
    /// Attempts that failed.
    pub errors: i64,
    /// Bytes received.
    pub bytes: i64,
    /// Requests made, for robots.txt too; also those that did not reach the server.
    pub requests: i64,
    /// Mean time of an answer, first byte and body, in microseconds.
    pub mean_answer_micros: i64,
    /// First and last attempt, in microseconds since 1970; 0 where there was none.
    pub first_at: i64,
    /// See `first_at`.
    pub last_at: i64,
}

/// Sums of the parts of requests, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// Requests that were summed up.
    pub requests: i64,
    /// Resolving names.
    pub dns: i64,
    /// Connecting.
    pub connect: i64,
    /// TLS.
    pub tls: i64,
    /// Waiting for the first byte.
    pub first_byte: i64,
    /// Reading the body.
    pub body: i64,
}

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failed {
    /// When, in microseconds since 1970.
    pub at: i64,
    /// At what.
    pub url: String,
    /// A status, or a negative number of Teia's own.
    pub code: i64,
    /// What that means.
    pub meaning: &'static str,
    /// What else is known.
    pub detail: String,
}

/// What a minute brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Minute {
    /// When it began, in microseconds since 1970.
    pub at: i64,
    /// Documents answered.
    pub fetched: i64,
    /// Attempts that failed.
    pub errors: i64,
    /// Bytes received.
    pub bytes: i64,
    /// URLs met for the first time.
    pub admitted: i64,
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunRow {
    /// Its number.
    pub number: i64,
    /// When it began and when something last happened, in microseconds since 1970.
    pub started_at: i64,
    /// See `started_at`.
    pub last_at: i64,
    /// Why it ended; empty while it runs, or after a kill.
    pub ended: String,
    /// Without pauses.
    pub active_micros: i64,
    /// Documents answered.
    pub fetched: i64,
    /// Attempts that failed.
    pub errors: i64,
    /// Bytes received.
    pub bytes: i64,
}

/// A part of the hosts of a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostPage {
    /// How many there are.
    pub total: i64,
    /// These of them.
    pub hosts: Vec<HostRow>,
}

/// By what hosts are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostOrder {
    /// The most documents first.
    #[default]
    Fetched,
    /// The most errors first.
    Errors,
    /// The slowest first.
    Slowest,
    /// The last visited first.
    Latest,
    /// By name.
    Name,
}

/// What was asked of a host, and how gently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostReport {
    /// Its sums.
    pub host: HostRow,
    /// Which of the collections that were named have met it, by their places.
    pub collections: Vec<usize>,
    /// The shortest rest between the end of an answer and the next request, in microseconds; none
    /// with fewer than two requests.
    pub shortest_rest_micros: Option<i64>,
    /// The usual rest: half of them are longer.
    pub median_rest_micros: Option<i64>,
    /// Requests, newest first.
    pub requests: Vec<Asked>,
    /// How many requests were looked at: all, or the newest hundred thousand.
    pub total: i64,
}

/// A request to a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    /// When it was made, in microseconds since 1970.
    pub at: i64,
    /// For what.
    pub url: String,
    /// A status, or a negative number of Teia's own.
    pub code: i64,
    /// What that means.
    pub meaning: &'static str,
    /// Bytes received.
    pub bytes: i64,
    /// How long it took, in microseconds.
    pub micros: i64,
    /// The rest between the end of the one before and this, in microseconds.
    pub rest_micros: Option<i64>,
}

const HOST_COLUMNS: &str = "host, admitted, fetched, errors, bytes, requests, CASE WHEN answered > 0 THEN answer_micros / answered ELSE 0 END, COALESCE(first_at, 0), COALESCE(last_at, 0)";
/// The same over several collections.
const HOST_SUMS: &str = "host, CAST(SUM(admitted) AS BIGINT), CAST(SUM(fetched) AS BIGINT), CAST(SUM(errors) AS BIGINT), CAST(SUM(bytes) AS BIGINT), CAST(SUM(requests) AS BIGINT), CASE WHEN SUM(answered) > 0 THEN CAST(SUM(answer_micros) / SUM(answered) AS BIGINT) ELSE 0 END, COALESCE(MIN(first_at), 0), COALESCE(MAX(last_at), 0)";
const SPENT: &str = "COALESCE(dns_micros, 0) + COALESCE(connect_micros, 0) + COALESCE(tls_micros, 0) + COALESCE(first_byte_micros, 0) + COALESCE(body_micros, 0)";

impl Known {
    /// The collection at a glance.
    pub fn dashboard(self, reader: &mut Reader) -> Result<Dashboard, CatalogError> {
        let collected = "(outcome BETWEEN 200 AND 299 OR outcome = 304)";
        let of = format!("collection = {}", self.id);
        let mut ask = |question: &str| reader.ask(question);
        let outcomes = ask(&format!(
            "SELECT outcome, COUNT(*) FROM document WHERE {of} GROUP BY outcome ORDER BY 2 DESC, 1"
        ))?;
        // Of all documents, also of those whose names are not among the most frequent.
        let all = "CAST(SUM(COUNT(*)) OVER () AS BIGINT)";
        let types = ask(&format!(
            "SELECT COALESCE(media_type, ''), COUNT(*), {all} FROM document WHERE {of} AND {collected} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {NAMES}"
        ))?;
        let languages = ask(&format!(
            "SELECT COALESCE(language, ''), COUNT(*), {all} FROM document WHERE {of} AND {collected} AND (language IS NOT NULL OR text_digest IS NOT NULL) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {NAMES}"
        ))?;
        let depths = ask(&format!(
            "SELECT depth, COUNT(*) FROM document WHERE {of} AND {collected} GROUP BY depth ORDER BY depth"
        ))?;
        let mut hosts = |condition: &str, order: &str| -> Result<Vec<HostRow>, CatalogError> {
            let rows = ask(&format!(
                "SELECT {HOST_COLUMNS} FROM host WHERE {of} AND {condition} ORDER BY {order} LIMIT {HOSTS}"
            ))?;
            Ok(rows.iter().map(host_row).collect())
        };
        let largest = hosts("fetched > 0", "fetched DESC, host")?;
        let slowest = hosts("answered > 0", "7 DESC, host")?;
        let failing = hosts("errors > 0", "errors DESC, host")?;
        let newest = format!(
            "(SELECT * FROM attempt WHERE {of} ORDER BY entry DESC, place DESC LIMIT {NEWEST}) AS newest"
        );
        let sum = |column: &str| format!("CAST(COALESCE(SUM({column}), 0) AS BIGINT)");
        let times = ask(&format!(
            "SELECT COUNT(*), {}, {}, {}, {}, {} FROM {newest} WHERE is_request = 1",
            sum("dns_micros"),
            sum("connect_micros"),
            sum("tls_micros"),
            sum("first_byte_micros"),
            sum("body_micros")
        ))?;
        let errors = ask(&format!(
            "SELECT started_at, url, outcome, COALESCE(detail, '') FROM {newest} WHERE is_robots = 0 AND next <> 'waiting' AND (outcome >= 400 OR outcome < 0) AND outcome NOT IN ({}, {}, {}) ORDER BY entry DESC, place DESC LIMIT {ERRORS}",
            Outcome::ROBOTS_DISALLOWED.number(),
            Outcome::ROBOTS_UNREACHABLE.number(),
            Outcome::ALIAS_HOST.number()
        ))?;
        let mut minutes = ask(&format!(
            "SELECT minute, CAST(SUM(fetched) AS BIGINT), CAST(SUM(errors) AS BIGINT), CAST(SUM(bytes) AS BIGINT), CAST(SUM(admitted) AS BIGINT) FROM minute WHERE {of} GROUP BY minute ORDER BY minute DESC LIMIT {MINUTES}"
        ))?;
        minutes.reverse();
        let runs = ask(&format!(
            "SELECT number, started_at, last_at, COALESCE(ended, ''), active_micros, fetched, errors, bytes FROM run WHERE {of} ORDER BY number DESC LIMIT {RUNS}"
        ))?;
        Ok(Dashboard {
            outcomes: outcomes.iter().map(outcome_count).collect(),
            types: names(&types),
            languages: names(&languages),
            depths: depths.iter().map(depth_count).collect(),
            largest,
            slowest,
            failing,
            times: times.first().map(times_of).unwrap_or_default(),
            errors: errors.iter().map(failed).collect(),
            minutes: minutes.iter().map(minute).collect(),
            runs: runs.iter().map(run_row).collect(),
        })
    }

    /// For how long its runs were at work, without pauses, in microseconds; of those from one number to another.
    pub fn active_micros(
        self,
        reader: &mut Reader,
        from: u32,
        to: u32,
    ) -> Result<BTreeMap<i64, i64>, CatalogError> {
        let rows = reader.ask(&format!(
            "SELECT number, active_micros FROM run WHERE collection = {} AND number BETWEEN {from} AND {to}",
            self.id
        ))?;
        Ok(rows
            .iter()
            .map(|row| (number(row, 0), number(row, 1)))
            .collect())
    }

    /// Some of its hosts whose names have this text in them.
    pub fn hosts(
        self,
        reader: &mut Reader,
        part_of_name: &str,
        order: HostOrder,
        limit: u32,
        offset: u32,
    ) -> Result<HostPage, CatalogError> {
        let mut of = format!(
            "collection = {} AND (requests > 0 OR admitted > 0)",
            self.id
        );
        if !part_of_name.is_empty() {
            // Not LIKE: no character of a name means anything but itself.
            let (name, place) = (quoted(part_of_name), place_function(reader));
            of.push_str(&format!(" AND {place}(host, {name}) > 0"));
        }
        let order = match order {
            HostOrder::Fetched => "fetched DESC, host",
            HostOrder::Errors => "errors DESC, host",
            HostOrder::Slowest => "7 DESC, host",
            HostOrder::Latest => "9 DESC, host",
            HostOrder::Name => "host",
        };
        let total = reader.ask(&format!("SELECT COUNT(*) FROM host WHERE {of}"))?;
        let rows = reader.ask(&format!(
            "SELECT {HOST_COLUMNS} FROM host WHERE {of} ORDER BY {order} LIMIT {limit} OFFSET {offset}"
        ))?;
        Ok(HostPage {
            total: total.first().map_or(0, |row| number(row, 0)),
            hosts: rows.iter().map(host_row).collect(),
        })
    }

    /// What this collection asked of a host; see [`HostReport::of`].
    pub fn host_report(
        self,
        reader: &mut Reader,
        host: &str,
        limit: u32,
        offset: u32,
    ) -> Result<Option<HostReport>, CatalogError> {
        HostReport::of(reader, &[self], host, limit, offset)
    }
}

impl HostReport {
    /// What these collections together asked of a host: its sums, its rests, and a part of its requests,
    /// newest first. None where nothing is known of it.
    pub fn of(
        reader: &mut Reader,
        collections: &[Known],
        host: &str,
        limit: u32,
        offset: u32,
    ) -> Result<Option<Self>, CatalogError> {
        let ids: Vec<String> = collections.iter().map(|one| one.id.to_string()).collect();
        if ids.is_empty() {
            return Ok(None);
        }
        let ids = ids.join(", ");
        let of = format!("collection IN ({ids}) AND host = {}", quoted(host));
        let rows = reader.ask(&format!(
            "SELECT {HOST_SUMS} FROM host WHERE {of} GROUP BY host"
        ))?;
        let Some(host) = rows.first().map(host_row) else {
            return Ok(None);
        };
        let met = reader.ask(&format!("SELECT collection FROM host WHERE {of}"))?;
        // However much was asked of a host, so many requests are looked at.
        let newest = format!(
            "(SELECT * FROM attempt WHERE {of} AND is_request = 1 ORDER BY started_at DESC LIMIT {MOST_RESTS}) AS newest"
        );
        let rests = format!(
            "SELECT collection, entry, place, started_at, url, outcome, wire_bytes, {SPENT} AS spent, started_at - LAG(started_at + {SPENT}) OVER (ORDER BY started_at, collection, entry, place) AS rest FROM {newest}"
        );
        let sums = reader.ask(&format!("SELECT COUNT(*), MIN(rest) FROM ({rests}) AS r"))?;
        let count = sums.first().map_or(0, |row| number(row, 0));
        let shortest = sums.first().and_then(|row| maybe(row, 1));
        let median = reader.ask(&format!(
            "SELECT rest FROM ({rests}) AS r WHERE rest IS NOT NULL ORDER BY rest LIMIT 1 OFFSET {}",
            (count - 1).max(0) / 2
        ))?;
        let requests = reader.ask(&format!(
            "SELECT started_at, url, outcome, COALESCE(wire_bytes, 0), spent, rest FROM ({rests}) AS r ORDER BY started_at DESC, collection DESC, entry DESC, place DESC LIMIT {limit} OFFSET {offset}"
        ))?;
        Ok(Some(Self {
            host,
            collections: (0..collections.len())
                .filter(|at| met.iter().any(|row| number(row, 0) == collections[*at].id))
                .collect(),
            shortest_rest_micros: shortest,
            median_rest_micros: median.first().and_then(|row| maybe(row, 0)),
            requests: requests.iter().map(asked).collect(),
            total: count,
        }))
    }
}

impl Minute {
    /// When it began.
    pub fn moment(self) -> Timestamp {
        Timestamp::from_micros(self.at)
    }
}

/// The function that finds a text in another, which the two databases call differently.
fn place_function(reader: &Reader) -> &'static str {
    if reader.is_postgres() {
        "strpos"
    } else {
        "instr"
    }
}

/// A text in SQL. Both databases take everything but the quote as it is.
fn quoted(text: &str) -> String {
    let plain: String = text.chars().filter(|c| *c != '\0').collect();
    format!("'{}'", plain.replace('\'', "''"))
}

fn text(row: &Row, at: usize) -> String {
    row.get(at).cloned().flatten().unwrap_or_default()
}

fn maybe(row: &Row, at: usize) -> Option<i64> {
    row.get(at)?.as_deref()?.parse().ok()
}

fn outcome_of(row: &Row, at: usize) -> Outcome {
    Outcome::from_number(i16::try_from(number(row, at)).unwrap_or(0))
}

fn outcome_count(row: &Row) -> OutcomeCount {
    let outcome = outcome_of(row, 0);
    OutcomeCount {
        code: number(row, 0),
        name: outcome.name().into_owned(),
        meaning: outcome.sentence(),
        documents: number(row, 1),
    }
}

fn names(rows: &[Row]) -> Names {
    Names {
        items: rows.iter().map(name_count).collect(),
        documents: rows.first().map_or(0, |row| number(row, 2)),
    }
}

fn name_count(row: &Row) -> NameCount {
    NameCount {
        name: text(row, 0),
        documents: number(row, 1),
    }
}

fn depth_count(row: &Row) -> DepthCount {
    DepthCount {
        depth: number(row, 0),
        documents: number(row, 1),
    }
}

fn host_row(row: &Row) -> HostRow {
    HostRow {
        host: text(row, 0),
        admitted: number(row, 1),
        fetched: number(row, 2),
        errors: number(row, 3),
        bytes: number(row, 4),
        requests: number(row, 5),
        mean_answer_micros: number(row, 6),
        first_at: number(row, 7),
        last_at: number(row, 8),
    }
}

fn times_of(row: &Row) -> Times {
    Times {
        requests: number(row, 0),
        dns: number(row, 1),
        connect: number(row, 2),
        tls: number(row, 3),
        first_byte: number(row, 4),
        body: number(row, 5),
    }
}

fn failed(row: &Row) -> Failed {
    Failed {
        at: number(row, 0),
        url: text(row, 1),
        code: number(row, 2),
        meaning: outcome_of(row, 2).sentence(),
        detail: text(row, 3),
    }
}

fn minute(row: &Row) -> Minute {
    Minute {
        at: number(row, 0),
        fetched: number(row, 1),
        errors: number(row, 2),
        bytes: number(row, 3),
        admitted: number(row, 4),
    }
}

fn run_row(row: &Row) -> RunRow {
    RunRow {
        number: number(row, 0),
        started_at: number(row, 1),
        last_at: number(row, 2),
        ended: text(row, 3),
        active_micros: number(row, 4),
        fetched: number(row, 5),
        errors: number(row, 6),
        bytes: number(row, 7),
    }
}

fn asked(row: &Row) -> Asked {
    Asked {
        at: number(row, 0),
        url: text(row, 1),
        code: number(row, 2),
        meaning: outcome_of(row, 2).sentence(),
        bytes: number(row, 3),
        micros: number(row, 4),
        rest_micros: maybe(row, 5),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_quotes() {
        assert_eq!(quoted("a'b\0c"), "'a''bc'");
        assert_eq!(
            quoted("'; DROP TABLE host; --"),
            "'''; DROP TABLE host; --'"
        );
    }
}
