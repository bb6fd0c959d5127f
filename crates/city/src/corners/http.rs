//! HTTP/1 framing and speed.

use std::time::Duration;

use crate::corner::{Corner, Trick};
use crate::step::Step;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
const WHOLE: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello";
const FAKE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfake";

/// The corners of this group.
pub(super) fn corners() -> Vec<Corner> {
    [
        status_lines(),
        fields(),
        lengths(),
        chunks(),
        ends(),
        speeds(),
        statuses(),
    ]
    .concat()
}

fn status_lines() -> Vec<Corner> {
    let noise: Vec<u8> = (0..=255).rev().cycle().take(4096).collect();
    let reason = |text: &[u8]| {
        let head = [
            b"HTTP/1.1 200 ",
            text,
            b"\r\nContent-Length: 5\r\n\r\nhello",
        ];
        head.concat()
    };
    let line = |text: &str| format!("{text}\r\nContent-Length: 5\r\n\r\nhello");
    vec![
        Corner::says("HTTP-01", "hello", "HELLO\r\n"),
        Corner::says("HTTP-01", "ssh", "SSH-2.0-OpenSSH_9.9\r\n"),
        Corner::says("HTTP-01", "noise", noise),
        Corner::says("HTTP-02", "leading-zero", line("HTTP/1.1 0200 OK")),
        Corner::says("HTTP-02", "two-digits", line("HTTP/1.1 99")),
        Corner::says("HTTP-02", "four-digits", line("HTTP/1.1 2000")),
        Corner::says("HTTP-02", "version", line("HTTP/9.9 200")),
        Corner::http(
            "HTTP-03",
            "no-head",
            vec![
                Step::say("<html><title>old</title>page</html>"),
                Step::Close,
            ],
        ),
        Corner::says("HTTP-04", "icy", line("ICY 200 OK")),
        Corner::says("HTTP-04", "small-letters", line("http/1.1 200 OK")),
        Corner::says("HTTP-05", "controls", reason(b"O\x01K\x1b[31m\x07")),
        Corner::says("HTTP-05", "eight-bit", reason(b"tr\xe8s bien")),
        Corner::says("HTTP-05", "long", reason(&vec![b'x'; 10 << 10])),
    ]
}

fn fields() -> Vec<Corner> {
    let with = |field: &str| format!("{OK}{field}\r\nContent-Length: 5\r\n\r\nhello");
    let honest = format!(
        "{OK}Content-Security-Policy: {}\r\n{}Content-Length: 5\r\n\r\nhello",
        "p".repeat(30 << 10),
        (0..148)
            .map(|n| format!("X-{n}: y\r\n"))
            .collect::<String>()
    );
    let many: String = (0..40_000).map(|n| format!("X{n}:\r\n")).collect();
    vec![
        Corner::says("HTTP-06", "no-colon", with("No colon")),
        Corner::says("HTTP-06", "space", with("Name : x")),
        Corner::says("HTTP-06", "no-name", with(": x")),
        Corner::says("HTTP-06", "nul", with("Na\0me: x")),
        Corner::says("HTTP-07", "folded", with("Link: </next>;\r\n\t rel=next")),
        Corner::says("HTTP-08", "line-feeds", with("A: b").replace("\r\n", "\n")),
        Corner::says("HTTP-08", "mixed", with("A: b\nC: d")),
        Corner::says("HTTP-08", "returns", with("A: b\rSet-Cookie: injected=1")),
        Corner::http(
            "HTTP-09",
            "slow",
            vec![
                Step::say(OK),
                Step::Drip(b"X-More: y\r\n".to_vec(), Duration::from_millis(10)),
            ],
        ),
        Corner::http(
            "HTTP-09",
            "fast",
            vec![Step::say(OK), Step::Endless(b"X-More: y\r\n".repeat(100))],
        ),
        Corner::http(
            "HTTP-10",
            "one",
            vec![
                Step::say(OK),
                Step::say("X-Long: "),
                Step::Repeat(vec![b'y'; 64 << 10], 160),
                Step::say("\r\n\r\n"),
            ],
        ),
        Corner::says("HTTP-11", "many", format!("{OK}{many}\r\n")),
        Corner::says("HTTP-12", "honest", honest),
    ]
}

fn lengths() -> Vec<Corner> {
    let with = |fields: &str| format!("{OK}{fields}\r\n\r\nhello");
    let mut corners = vec![
        Corner::says(
            "HTTP-13",
            "two",
            with("Content-Length: 5\r\nContent-Length: 6"),
        ),
        Corner::says(
            "HTTP-14",
            "fields",
            with("Content-Length: 5\r\nContent-Length: 5"),
        ),
        Corner::says("HTTP-14", "list", with("Content-Length: 5, 5")),
        Corner::says(
            "HTTP-15",
            "length-first",
            format!(
                "{OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
            ),
        ),
        Corner::says(
            "HTTP-15",
            "chunked-first",
            format!(
                "{OK}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
            ),
        ),
    ];
    for (name, value) in [
        ("negative", "-1"),
        ("plus", "+5"),
        ("hex", "0x10"),
        ("two-words", "5 5"),
        ("digits", "123456789012345678901234567890"),
    ] {
        corners.push(Corner::says(
            "HTTP-16",
            name,
            with(&format!("Content-Length: {value}")),
        ));
    }
    corners
}

fn chunks() -> Vec<Corner> {
    let chunked = format!("{OK}Transfer-Encoding: chunked\r\n\r\n");
    let mut corners = Vec::new();
    for (name, line) in [
        ("wide", "fffffffffffffffff"),
        ("negative", "-5"),
        ("letters", "xyz"),
        ("empty", ""),
    ] {
        corners.push(Corner::says(
            "HTTP-17",
            name,
            format!("{chunked}5\r\nhello\r\n{line}\r\nhello\r\n0\r\n\r\n"),
        ));
    }
    let extension = "e".repeat(64 << 10);
    corners.push(Corner::says(
        "HTTP-17",
        "extension",
        format!("{chunked}5\r\nhello\r\n5;{extension}\r\nhello\r\n0\r\n\r\n"),
    ));
    // The same without a good chunk before it: nothing says where a payload begins.
    for (name, body) in [
        ("first-plain", "said chunked and is plain".to_owned()),
        ("first-wide", "fffffffffffffffff\r\nhello".to_owned()),
        ("first-hex", "0x5\r\nhello\r\n0\r\n\r\n".to_owned()),
        ("first-negative", "-5\r\nhello\r\n0\r\n\r\n".to_owned()),
        ("first-empty", "\r\nhello\r\n0\r\n\r\n".to_owned()),
        (
            "first-extension",
            format!("5;{extension}\r\nhello\r\n0\r\n\r\n"),
        ),
    ] {
        corners.push(Corner::says("HTTP-17", name, format!("{chunked}{body}")));
    }
    let text =
        "<p>A page of <b>words</b>, as they stand in <a href=\"/a\">pages</a>.</p>\n".repeat(20);
    let text = &text[..1000];
    let small: String = text
        .chars()
        .map(|byte| format!("1\r\n{byte}\r\n"))
        .collect();
    let small = small.into_bytes();
    let large = format!("3e8\r\n{text}\r\n").into_bytes();
    for (name, thousand) in [("bytes", small), ("large", large)] {
        corners.push(Corner::http(
            "HTTP-18",
            name,
            vec![
                Step::say(&chunked),
                Step::Repeat(thousand, 1000),
                Step::say("0\r\n\r\n"),
            ],
        ));
    }
    for (name, body) in [
        ("no-last", "5\r\nhello\r\n"),
        ("in-size", "5\r\nhello\r\n1f"),
        // Nothing of the page had come.
        ("before-first-size", ""),
        ("in-first-size", "1f"),
        ("in-first-size-end", "1f\r"),
    ] {
        corners.push(Corner::http(
            "HTTP-19",
            name,
            vec![Step::say(format!("{chunked}{body}")), Step::Close],
        ));
    }
    corners.push(Corner::http(
        "HTTP-20",
        "endless",
        vec![
            Step::say(format!("{chunked}5\r\nhello\r\n0\r\n")),
            Step::Endless(b"X-Trailer: y\r\n".repeat(100)),
        ],
    ));
    corners.push(Corner::http(
        "HTTP-20",
        "huge",
        vec![
            Step::say(format!("{chunked}5\r\nhello\r\n0\r\nX: ")),
            Step::Repeat(vec![b'y'; 64 << 10], 16),
            Step::say("\r\n\r\n"),
        ],
    ));
    corners
}

fn ends() -> Vec<Corner> {
    vec![
        Corner::http(
            "HTTP-21",
            "short",
            vec![
                Step::say(format!("{OK}Content-Length: 10\r\n\r\nhello")),
                Step::Close,
            ],
        ),
        Corner::says("HTTP-22", "long", format!("{WHOLE}{FAKE}")),
        Corner::http(
            "HTTP-22",
            "late",
            vec![
                Step::say(WHOLE),
                Step::Wait(Duration::from_millis(50)),
                Step::say(FAKE),
            ],
        ),
        Corner::http(
            "HTTP-23",
            "open",
            vec![Step::say(format!("{OK}\r\na page")), Step::silence()],
        ),
        Corner::http(
            "HTTP-24",
            "unsized",
            vec![
                Step::say(format!("{OK}\r\n")),
                Step::Endless(vec![b'x'; 64 << 10]),
            ],
        ),
        Corner::http(
            "HTTP-24",
            "chunked",
            vec![
                Step::say(format!("{OK}Transfer-Encoding: chunked\r\n\r\n")),
                Step::Endless([b"8000\r\n".as_slice(), &[b'x'; 32 << 10], b"\r\n"].concat()),
            ],
        ),
        ends_when_reused("reset", Step::Reset),
        ends_when_reused("close", Step::Close),
    ]
}

/// A connection that is kept, and ends under the next request on it.
fn ends_when_reused(name: &'static str, end: Step) -> Corner {
    Corner {
        id: "HTTP-34",
        name,
        trick: Trick::Http(vec![
            vec![Step::say(WHOLE)],
            vec![end],
            vec![Step::say(WHOLE)],
        ]),
    }
}

fn speeds() -> Vec<Corner> {
    let interim = |status: &str| format!("HTTP/1.1 {status}\r\nX: y\r\n\r\n").repeat(10);
    vec![
        Corner::http(
            "HTTP-25",
            "drip",
            vec![
                Step::say(format!("{OK}Content-Length: 100000\r\n\r\n")),
                Step::Drip(b"x".to_vec(), Duration::from_millis(50)),
            ],
        ),
        Corner::http("HTTP-26", "silent", vec![Step::silence()]),
        Corner::http(
            "HTTP-27",
            "continue",
            vec![Step::Endless(interim("100 Continue").into())],
        ),
        Corner::http(
            "HTTP-27",
            "processing",
            vec![Step::Endless(interim("102 Processing").into())],
        ),
        Corner::http(
            "HTTP-27",
            "hints",
            vec![Step::Endless(interim("103 Early Hints").into())],
        ),
        Corner::says(
            "HTTP-28",
            "switching",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        ),
    ]
}

fn statuses() -> Vec<Corner> {
    let page = |status: &str, fields: &str| {
        format!(
            "HTTP/1.1 {status}\r\n{fields}Content-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"
        )
    };
    let mut corners = vec![
        Corner::says(
            "HTTP-29",
            "no-content",
            format!("HTTP/1.1 204 No Content\r\n\r\n{FAKE}"),
        ),
        Corner::says(
            "HTTP-29",
            "not-modified",
            format!("HTTP/1.1 304 Not Modified\r\n\r\n{FAKE}"),
        ),
        Corner::says(
            "HTTP-30",
            "unasked",
            "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n",
        ),
        Corner::says(
            "HTTP-31",
            "unasked",
            page("206 Partial Content", "Content-Range: bytes 0-4/100\r\n"),
        ),
        Corner::says(
            "HTTP-31",
            "wrong",
            page("206 Partial Content", "Content-Range: bytes 7-2/x\r\n"),
        ),
        Corner::says("HTTP-33", "999", page("999 Denied", "")),
        Corner::says("HTTP-33", "520", page("520 Unknown", "")),
        Corner::says("HTTP-33", "600", page("600 What", "")),
    ];
    for (name, wait) in [
        (("zero", "zero-429"), "0"),
        (("decade", "decade-429"), "315360000"),
        (("overflow", "overflow-429"), "99999999999999999999999999"),
        (("nonsense", "nonsense-429"), "soon, I hope"),
        (("past", "past-429"), "Sun, 06 Nov 1994 08:49:37 GMT"),
    ] {
        let (busy, slowly) = name;
        for (name, status) in [(busy, "503 Busy"), (slowly, "429 Too Many Requests")] {
            corners.push(Corner::says(
                "HTTP-32",
                name,
                page(status, &format!("Retry-After: {wait}\r\n")),
            ));
        }
    }
    for (name, date) in [
        ("future", "Fri, 31 Dec 9999 23:59:59 GMT"),
        ("year-zero", "Sat, 01 Jan 0000 00:00:00 GMT"),
        ("far", "Sat, 01 Jan 99999 00:00:00 GMT"),
        ("nonsense", "yesterday"),
        ("bytes", "\u{1}\u{ff}"),
    ] {
        corners.push(Corner::says(
            "HTTP-35",
            name,
            page(
                "200 OK",
                &format!("Date: {date}\r\nLast-Modified: {date}\r\nExpires: {date}\r\n"),
            ),
        ));
    }
    corners
}
