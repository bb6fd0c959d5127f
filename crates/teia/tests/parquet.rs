//! What is exported as Parquet is read by Apache Arrow, and says what CSV says.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::{Home, LIMIT, crawl};
use teia_catalog::{Cell, Statistic};
use teia_testweb::{Listen, Server, WebConfig};

/// Reads a table back, compares it with CSV field by field, and says what it is made of.
const READER: &str = r#"
import csv, json, sys
try:
    import pyarrow.parquet as parquet
except ImportError:
    print("null")
    sys.exit()
table = parquet.read_table(sys.argv[1])
lines = list(csv.reader(open(sys.argv[2], newline="", encoding="utf-8")))
assert table.column_names == lines[0], (table.column_names, lines[0])
assert table.num_rows == len(lines) - 1, (table.num_rows, len(lines))
def plain(value):
    if value is None: return ""
    if isinstance(value, float): return "%.2f" % value
    if hasattr(value, "isoformat"): return value.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return str(value)
for at, column in enumerate(table.columns):
    is_text = str(table.schema.types[at]) == "string"
    for row, value in enumerate(column.to_pylist()):
        wanted = lines[row + 1][at]
        # An apostrophe keeps a spreadsheet from calculating.
        if is_text and wanted[:1] == "'" and wanted[1:2] in "=+-@\t\r": wanted = wanted[1:]
        assert plain(value) == wanted, (lines[0][at], row, value, wanted)
metadata = parquet.ParquetFile(sys.argv[1]).metadata
print(json.dumps({
    "types": dict(zip(table.column_names, map(str, table.schema.types))),
    "rows": table.num_rows,
    "groups": metadata.num_row_groups,
    "by": metadata.created_by,
}))
"#;

/// What the independent reader says of a table; nothing where there is no such reader.
#[track_caller]
fn read_back(parquet: &Path, csv: &Path) -> Option<Value> {
    let Some(python) = std::env::var_os("TEIA_PYTHON").map(PathBuf::from) else {
        eprintln!(
            "SKIPPED 1: TEIA_PYTHON is not set; tools/python-tools.sh DIR makes a Python for it"
        );
        return None;
    };
    let done = Command::new(python)
        .args(["-c", READER])
        .args([parquet, csv])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}: {said}", parquet.display());
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    if told.is_null() {
        eprintln!("SKIPPED 1: TEIA_PYTHON has no pyarrow; tools/python-tools.sh DIR installs it");
        return None;
    }
    Some(told)
}

/// A table, or the documents, in both forms.
fn export(home: &Home, table: Option<&str>) -> (PathBuf, PathBuf) {
    let name = table.unwrap_or("documents");
    let file = |form: &str| {
        let path = home.beside(&format!("{name}.{form}"));
        let shown = path.display().to_string();
        let mut arguments = vec!["export", form, "--output", &shown];
        if let Some(table) = table {
            arguments.extend(["--table", table]);
        }
        home.good(&arguments);
        path
    };
    (file("parquet"), file("csv"))
}

#[test]
fn every_table_and_the_documents_say_the_same_in_parquet_and_csv() {
    let config = WebConfig {
        hosts: 4,
        pages_per_host: 25,
        redirects: 2,
        missing: 3,
        queries: true,
        ..WebConfig::default()
    };
    let server = Server::start(config, Listen::Names { port: 0 }).unwrap();
    let home = Home::new();
    home.good(&crawl(&home, &server, "0s", &["--no-requisites"]));
    let stats = home.json(&["stats", "--tables", "--json"]);
    let tables = stats["tables"].as_array().unwrap();
    assert!(tables.len() > 8, "{}", tables.len());
    for table in tables {
        let name = table["name"].as_str().unwrap();
        let (parquet, csv) = export(&home, Some(name));
        let Some(told) = read_back(&parquet, &csv) else {
            return;
        };
        if name == "hosts" {
            assert_eq!(told["rows"].as_u64().unwrap(), 4, "{told}");
            let types: Vec<&str> = table["columns"]
                .as_array()
                .unwrap()
                .iter()
                .map(|column| told["types"][column.as_str().unwrap()].as_str().unwrap())
                .collect();
            assert_eq!(types[..2], ["string", "int64"], "{told}");
        }
    }
    let (parquet, csv) = export(&home, None);
    let told = read_back(&parquet, &csv).unwrap();
    assert!(told["rows"].as_u64().unwrap() > 100, "{told}");
    assert_eq!(told["types"]["outcome"], "int64");
    assert_eq!(told["types"]["last_at"], "timestamp[us, tz=UTC]", "{told}");
    assert!(told["by"].as_str().unwrap().starts_with("teia"), "{told}");
    same_over_http(&home);
}

/// The page and the API give the bytes that the command gives.
fn same_over_http(home: &Home) {
    let wanted = std::fs::read(home.beside("hosts.parquet")).unwrap();
    let running = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let address = running.address().trim_start_matches("http://").to_owned();
    let made = home.json(&["token", "new", "tests", "--role", "viewer", "--json"]);
    let token = made["token"].as_str().unwrap();
    let get = |path: &str| -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
        )
        .unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let body = bytes.split_off(end + 4);
        (String::from_utf8(bytes).unwrap(), body)
    };
    for path in [
        "/api/collections/default/statistics.parquet?table=hosts",
        "/statistics.parquet?collection=default&table=hosts",
    ] {
        let (head, body) = get(path);
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        assert!(head.contains("application/vnd.apache.parquet"), "{head}");
        assert_eq!(body, wanted, "{path}");
    }
    let (head, _) = get("/api/collections/default/statistics.parquet?table=hostes");
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    let (head, _) = get("/api/collections/default/statistics.parquet");
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
}

#[test]
fn a_long_table_with_gaps_is_read_back_over_its_row_groups() {
    let home = Home::new();
    let rows: i64 = 150_000;
    let row = |number: i64| -> Vec<Cell> {
        let text = match number % 3 {
            0 => Cell::Empty,
            1 => Cell::from(""),
            _ => Cell::from(format!("linha \"{number}\", não")),
        };
        let share = match number % 1000 {
            0 => Cell::Empty,
            // A quarter has two digits.
            _ => Cell::Share(f64::from(i32::try_from(number).unwrap()) / 4.0),
        };
        vec![Cell::Count(number - 7), text, share]
    };
    let table = Statistic {
        name: "long",
        title: String::new(),
        like: "",
        columns: vec!["count", "text", "share"],
        rows: (0..rows).map(row).collect(),
        total: None,
    };
    let (parquet, csv) = (home.beside("long.parquet"), home.beside("long.csv"));
    std::fs::write(&parquet, table.write_parquet(Vec::new()).unwrap()).unwrap();
    let mut text = String::from("count,text,share\n");
    for row in &table.rows {
        let quoted = format!("\"{}\"", row[1].plain().replace('"', "\"\""));
        text.push_str(&format!("{},{quoted},{}\n", row[0].plain(), row[2].plain()));
    }
    std::fs::write(&csv, text).unwrap();
    let Some(told) = read_back(&parquet, &csv) else {
        return;
    };
    assert_eq!(told["groups"], 3, "{told}");
    assert_eq!(told["types"]["share"], "double");
}
