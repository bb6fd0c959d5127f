//! Each table and the question that it answers.

use std::collections::BTreeMap;

use teia_base::{Outcome, Timestamp};

use super::{Cell, Statistic};
use crate::CatalogError;
use crate::reader::{Known, Reader, Row, number};

/// What is collected, in SQL.
const COLLECTED: &str = "(outcome BETWEEN 200 AND 299 OR outcome = 304)";
/// Hosts in the list of the largest, as Tarântula has it.
const LARGEST: i64 = 25;
/// Extensions that Retriever names one by one.
const EXTENSIONS: usize = 15;
/// Types that Fischer names.
const TYPES: i64 = 10;
/// Rows of the growth at most; with more, each stands for a longer time.
const GROWTH_ROWS: usize = 60;
const MINUTE: i64 = 60_000_000;

/// What is known beside the catalog.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// URLs ever met.
    pub known: u64,
    /// URLs that wait for their turn.
    pub to_collect: u64,
    /// Collected documents by hops from a seed.
    pub depths: BTreeMap<u16, u64>,
    /// Bytes on disk, by part.
    pub disk: Vec<(String, u64)>,
}

/// Every table of a collection.
pub fn statistics(
    reader: &mut Reader,
    known: Known,
    beside: &Beside,
) -> Result<Vec<Statistic>, CatalogError> {
    let mut asking = Asking {
        reader,
        collection: known.id,
    };
    Ok(vec![
        asking.outcomes()?,
        asking.largest_hosts()?,
        asking.concentration()?,
        asking.growth()?,
        asking.kinds()?,
        asking.failures()?,
        asking.extensions()?,
        asking.media_types()?,
        disk(beside),
        asking.summary(beside)?,
        asking.languages()?,
        depths(beside),
    ])
}

struct Asking<'a> {
    reader: &'a mut Reader,
    collection: i64,
}

impl Asking<'_> {
    /// Asks with `{of}` as the condition of the collection and `{collected}` as that of a document.
    fn ask(&mut self, question: &str) -> Result<Vec<Row>, CatalogError> {
        let question = question
            .replace("{of}", &format!("collection = {}", self.collection))
            .replace("{collected}", COLLECTED);
        self.reader.ask(&question)
    }

    fn outcomes(&mut self) -> Result<Statistic, CatalogError> {
        let rows = self.ask(
            "SELECT outcome, COUNT(*) FROM document WHERE {of} GROUP BY outcome ORDER BY 2 DESC, 1",
        )?;
        let all: i64 = rows.iter().map(|row| number(row, 1)).sum();
        let row = |row: &Row| {
            let (code, count) = (number(row, 0), number(row, 1));
            let outcome = Outcome::from_number(i16::try_from(code).unwrap_or(0));
            vec![
                code.into(),
                outcome.sentence().into(),
                count.into(),
                Cell::share(count, all),
            ]
        };
        Ok(Statistic {
            name: "outcomes",
            title: "Documents by what became of them".to_owned(),
            like: "Tarântula, Table 1",
            columns: vec!["code", "meaning", "documents", "%"],
            rows: rows.iter().map(row).collect(),
            total: Some(vec![
                Cell::Empty,
                "total".into(),
                all.into(),
                Cell::share(all, all),
            ]),
        })
    }

    fn largest_hosts(&mut self) -> Result<Statistic, CatalogError> {
        let rows = self.ask(&format!(
            "SELECT host, COUNT(*) FROM document WHERE {{of}} AND {{collected}} GROUP BY host ORDER BY 2 DESC, 1 LIMIT {LARGEST}"
        ))?;
        Ok(Statistic {
            name: "hosts",
            title: format!("The {LARGEST} hosts with the most documents collected"),
            like: "Tarântula, Table 2",
            columns: vec!["host", "documents"],
            rows: rows.iter().map(named_count).collect(),
            total: None,
        })
    }

    fn concentration(&mut self) -> Result<Statistic, CatalogError> {
        let answered = self.ask("SELECT COUNT(*) FROM host WHERE {of} AND answered > 0")?;
        let answered = answered.first().map_or(0, |row| number(row, 0));
        let mut counts = self.ask(
            "SELECT COUNT(*) FROM document WHERE {of} AND {collected} GROUP BY host ORDER BY 1 DESC",
        )?;
        let counts: Vec<i64> = counts.drain(..).map(|row| number(&row, 0)).collect();
        let all: i64 = counts.iter().sum();
        let row = |share: i64| {
            let hosts = hosts_with(&counts, all, share);
            vec![
                Cell::Count(share),
                hosts.into(),
                Cell::share(hosts, answered),
            ]
        };
        Ok(Statistic {
            name: "concentration",
            title: format!("On how many of the {answered} hosts that answered the documents lie"),
            like: "Tarântula, section IV: 80 % of the documents on 8 % of the hosts",
            columns: vec!["% of documents", "hosts", "% of hosts"],
            rows: [50, 80, 95].into_iter().map(row).collect(),
            total: None,
        })
    }

    fn growth(&mut self) -> Result<Statistic, CatalogError> {
        let rows = self.ask(
            "SELECT minute, CAST(SUM(fetched) AS BIGINT), CAST(SUM(bytes) AS BIGINT) FROM minute WHERE {of} GROUP BY minute ORDER BY minute",
        )?;
        let minutes: Vec<[i64; 3]> = rows
            .iter()
            .map(|row| [0, 1, 2].map(|at| number(row, at)))
            .collect();
        let mut sum = 0;
        let spans = spans(&minutes);
        let row = |[from, fetched, bytes]: [i64; 3]| {
            sum += fetched;
            vec![
                Timestamp::from_micros(from).to_string().into(),
                fetched.into(),
                sum.into(),
                bytes.into(),
            ]
        };
        Ok(Statistic {
            name: "growth",
            title: "Answers over time, one for each visit to a page".to_owned(),
            like: "Tarântula, Figure 4",
            columns: vec!["from", "answers", "answers so far", "bytes"],
            rows: spans.into_iter().map(row).collect(),
            total: None,
        })
    }

    fn kinds(&mut self) -> Result<Statistic, CatalogError> {
        let rows = self.ask(
            "SELECT COALESCE(media_type, ''), COUNT(*), CAST(SUM(COALESCE(body_bytes, 0)) AS BIGINT) FROM document WHERE {of} AND {collected} GROUP BY 1",
        )?;
        let mut kinds: BTreeMap<usize, (i64, i64)> = BTreeMap::new();
        for row in &rows {
            let kind = kind_of_type(row[0].as_deref().unwrap_or_default());
            let (count, bytes) = kinds.entry(kind).or_default();
            *count += number(row, 1);
            *bytes += number(row, 2);
        }
        let all: (i64, i64) = kinds
            .values()
            .fold((0, 0), |sum, kind| (sum.0 + kind.0, sum.1 + kind.1));
        let row = |name: &str, (count, bytes): (i64, i64)| {
            vec![name.into(), count.into(), Cell::mean(bytes, 1000 * count)]
        };
        Ok(Statistic {
            name: "kinds",
            title: "Documents collected by kind".to_owned(),
            like: "Retriever, Table 2",
            columns: vec!["kind", "documents", "mean size in KB"],
            rows: kinds
                .iter()
                .map(|(kind, sums)| row(KINDS[*kind], *sums))
                .collect(),
            total: Some(row("total", all)),
        })
    }

    fn failures(&mut self) -> Result<Statistic, CatalogError> {
        let all = self
            .ask("SELECT COUNT(*) FROM attempt WHERE {of} AND is_robots = 0 AND is_request = 1")?;
        let all = all.first().map_or(0, |row| number(row, 0));
        let rows = self.ask(
            "SELECT CASE WHEN outcome > 0 THEN 400 ELSE outcome END, COUNT(*) FROM attempt WHERE {of} AND is_robots = 0 AND is_request = 1 AND (outcome >= 400 OR outcome < 0) GROUP BY 1 ORDER BY 2 DESC, 1",
        )?;
        let failed: i64 = rows.iter().map(|row| number(row, 1)).sum();
        let row = |row: &Row| {
            let (code, count) = (number(row, 0), number(row, 1));
            let what = match i16::try_from(code) {
                Ok(code) if code < 0 => Outcome::from_number(code).sentence(),
                _ => "the server answered with an error status (4xx, 5xx)",
            };
            vec![
                what.into(),
                count.into(),
                Cell::share(count, failed),
                Cell::share(count, all),
            ]
        };
        Ok(Statistic {
            name: "failures",
            title: format!("Failed requests by kind of failure, of {all} requests for documents"),
            like: "Retriever, Table 3",
            columns: vec!["failure", "requests", "% of failures", "% of all requests"],
            rows: rows.iter().map(row).collect(),
            total: Some(vec![
                "total".into(),
                failed.into(),
                Cell::share(failed, failed),
                Cell::share(failed, all),
            ]),
        })
    }

    fn extensions(&mut self) -> Result<Statistic, CatalogError> {
        let rows = self.ask(
            "SELECT extension, COUNT(*) FROM document WHERE {of} AND {collected} GROUP BY extension ORDER BY 2 DESC, 1",
        )?;
        let all: i64 = rows.iter().map(|row| number(row, 1)).sum();
        let (first, others) = rows.split_at(rows.len().min(EXTENSIONS));
        let mut shown: Vec<Vec<Cell>> = first
            .iter()
            .map(|row| {
                let name = row[0].as_deref().filter(|name| !name.is_empty());
                vec![name.unwrap_or("(none)").into(), number(row, 1).into()]
            })
            .collect();
        let others: i64 = others.iter().map(|row| number(row, 1)).sum();
        if others > 0 {
            shown.push(vec!["others".into(), others.into()]);
        }
        Ok(Statistic {
            name: "extensions",
            title: "Documents collected by extension".to_owned(),
            like: "Retriever, Table 5",
            columns: vec!["extension", "documents"],
            rows: shown,
            total: Some(vec!["total".into(), all.into()]),
        })
    }

    fn media_types(&mut self) -> Result<Statistic, CatalogError> {
        // An error is shown as a type, as Fischer does: `error/404`.
        let rows = self.ask(&format!(
            "SELECT CASE WHEN outcome >= 400 THEN 'error/' || outcome ELSE COALESCE(media_type, '(unknown)') END, COUNT(*) FROM document WHERE {{of}} AND ({{collected}} OR outcome >= 400) GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {TYPES}"
        ))?;
        Ok(Statistic {
            name: "types",
            title: format!("The {TYPES} most frequent types"),
            like: "Fischer, Quadro 23",
            columns: vec!["type", "documents"],
            rows: rows.iter().map(named_count).collect(),
            total: None,
        })
    }

    fn summary(&mut self, beside: &Beside) -> Result<Statistic, CatalogError> {
        let documents = self.ask(
            "SELECT COUNT(*), COALESCE(CAST(SUM(1 - is_dynamic) AS BIGINT), 0), COALESCE(CAST(SUM(is_dynamic) AS BIGINT), 0) FROM document WHERE {of} AND {collected}",
        )?;
        let runs = self.ask(
            "SELECT MIN(started_at), MAX(last_at), COALESCE(CAST(SUM(active_micros) AS BIGINT), 0) FROM run WHERE {of}",
        )?;
        let [collected, fixed, dynamic] =
            [0, 1, 2].map(|at| documents.first().map_or(0, |row| number(row, at)));
        let [from, to, active] = [0, 1, 2].map(|at| runs.first().map_or(0, |row| number(row, at)));
        // A collection that never ran has no period.
        let day = |micros: i64| match micros {
            0 => Cell::Empty,
            micros => Timestamp::from_micros(micros).to_string().into(),
        };
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX).into();
        let rows: Vec<(&str, Cell)> = vec![
            ("URLs collected", collected.into()),
            ("static URLs", fixed.into()),
            ("dynamic URLs", dynamic.into()),
            ("URLs to collect", count(beside.to_collect)),
            ("URLs known", count(beside.known)),
            ("from", day(from)),
            ("to", day(to)),
            ("effective time in seconds", (active / 1_000_000).into()),
        ];
        Ok(Statistic {
            name: "summary",
            title: "The collection".to_owned(),
            like: "VEUNI, Table 4.2",
            columns: vec!["what", "value"],
            rows: rows
                .into_iter()
                .map(|(what, value)| vec![what.into(), value])
                .collect(),
            total: None,
        })
    }

    fn languages(&mut self) -> Result<Statistic, CatalogError> {
        let rows = self.ask(
            "SELECT COALESCE(language, '(unknown)'), COUNT(*) FROM document WHERE {of} AND {collected} AND (language IS NOT NULL OR text_digest IS NOT NULL) GROUP BY 1 ORDER BY 2 DESC, 1",
        )?;
        Ok(Statistic {
            name: "languages",
            title: "Documents with a text by the language that they declare".to_owned(),
            like: "",
            columns: vec!["language", "documents"],
            rows: rows.iter().map(named_count).collect(),
            total: None,
        })
    }
}

fn depths(beside: &Beside) -> Statistic {
    let count = |count: u64| Cell::Count(i64::try_from(count).unwrap_or(i64::MAX));
    Statistic {
        name: "depths",
        title: "Documents collected by hops from a seed".to_owned(),
        like: "",
        columns: vec!["depth", "documents"],
        rows: beside
            .depths
            .iter()
            .map(|(depth, documents)| vec![i64::from(*depth).into(), count(*documents)])
            .collect(),
        total: None,
    }
}

fn disk(beside: &Beside) -> Statistic {
    let count = |bytes: u64| Cell::Count(i64::try_from(bytes).unwrap_or(i64::MAX));
    Statistic {
        name: "disk",
        title: "Bytes on disk by part".to_owned(),
        like: "Fischer, Quadro 24",
        columns: vec!["part", "bytes"],
        rows: beside
            .disk
            .iter()
            .map(|(part, bytes)| vec![part.as_str().into(), count(*bytes)])
            .collect(),
        total: Some(vec![
            "total".into(),
            count(beside.disk.iter().map(|(_, bytes)| bytes).sum()),
        ]),
    }
}

fn named_count(row: &Row) -> Vec<Cell> {
    let name = row[0].as_deref().unwrap_or_default();
    vec![name.into(), number(row, 1).into()]
}

/// The fewest hosts that have this share of all documents; counts with the largest first.
fn hosts_with(counts: &[i64], all: i64, share: i64) -> i64 {
    let mut sum = 0;
    let mut hosts = 0;
    for count in counts {
        if i128::from(sum) * 100 >= i128::from(all) * i128::from(share) {
            break;
        }
        sum += count;
        hosts += 1;
    }
    hosts
}

/// Minutes, joined to spans that are as long as they must be to be few.
fn spans(minutes: &[[i64; 3]]) -> Vec<[i64; 3]> {
    for length in [1, 10, 60, 360, 1440, 10_080, 40_320, 524_160] {
        let mut joined: Vec<[i64; 3]> = Vec::new();
        for [minute, fetched, bytes] in minutes {
            let from = minute.div_euclid(length * MINUTE) * length * MINUTE;
            match joined.last_mut() {
                Some(last) if last[0] == from => {
                    last[1] += fetched;
                    last[2] += bytes;
                }
                _ => joined.push([from, *fetched, *bytes]),
            }
        }
        if joined.len() <= GROWTH_ROWS {
            return joined;
        }
    }
    minutes.to_vec()
}

/// Kinds of documents, in the order of Retriever's table.
const KINDS: [&str; 8] = [
    "HTML",
    "image",
    "JavaScript",
    "CSS",
    "XML",
    "PDF",
    "Flash",
    "others",
];

/// The place of a media type among the kinds.
fn kind_of_type(media_type: &str) -> usize {
    match media_type {
        "text/html" | "application/xhtml+xml" => 0,
        image if image.starts_with("image/") => 1,
        "text/javascript" | "application/javascript" | "application/x-javascript" => 2,
        "text/css" => 3,
        "text/xml" | "application/xml" => 4,
        xml if xml.ends_with("+xml") => 4,
        "application/pdf" => 5,
        "application/x-shockwave-flash" => 6,
        _ => 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_hosts_that_have_a_share_are_found() {
        assert_eq!(hosts_with(&[80, 10, 5, 5], 100, 80), 1);
        assert_eq!(hosts_with(&[79, 11, 5, 5], 100, 80), 2);
        assert_eq!(hosts_with(&[1; 10], 10, 80), 8);
        assert_eq!(hosts_with(&[], 0, 80), 0);
    }

    #[test]
    fn a_long_growth_is_told_in_few_rows_that_add_up() {
        let minutes: Vec<[i64; 3]> = (0..100_000).map(|at| [at * MINUTE, 1, 2]).collect();
        let rows = spans(&minutes);
        assert!(rows.len() <= GROWTH_ROWS);
        assert_eq!(rows.iter().map(|row| row[1]).sum::<i64>(), 100_000);
        assert_eq!(spans(&minutes[..50]), minutes[..50]);
    }

    #[test]
    fn every_type_has_a_kind() {
        for (media_type, kind) in [
            ("text/html", "HTML"),
            ("image/svg+xml", "image"),
            ("application/rss+xml", "XML"),
            ("application/x-javascript", "JavaScript"),
            ("application/zip", "others"),
            ("", "others"),
        ] {
            assert_eq!(KINDS[kind_of_type(media_type)], kind, "{media_type}");
        }
    }
}
