//! Bodies: content codings, charsets, types, and bodies without end.

use std::io::Write;
use std::sync::OnceLock;
use std::time::Duration;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use crate::corner::Corner;
use crate::step::Step;

const TEXT: &str = "<!doctype html><title>packed</title><p>A page of text, a page of text.";
/// 256 MiB of zeros, packed by the reference encoder of brotli.
const BROTLI_BOMB: &[u8] = include_bytes!("zeros.br");

/// The corners of this group.
pub(super) fn corners() -> Vec<Corner> {
    [bombs(), codings(), charsets(), types(), streams()].concat()
}

fn answer(fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn html(coding: &str, body: &[u8]) -> Vec<u8> {
    answer(
        &format!("Content-Type: text/html\r\nContent-Encoding: {coding}\r\n"),
        body,
    )
}

fn bombs() -> Vec<Corner> {
    // A member of 64 MiB of zeros, 160 times: 10 MiB on the wire, 10 GiB unpacked.
    static MEMBER: OnceLock<Vec<u8>> = OnceLock::new();
    static ZSTD: OnceLock<Vec<u8>> = OnceLock::new();
    let member = MEMBER.get_or_init(|| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(1));
        for _ in 0..64 {
            let _ = encoder.write_all(&[0; 1 << 20]);
        }
        encoder.finish().unwrap_or_default()
    });
    let zstd = ZSTD.get_or_init(|| {
        let zeros = std::io::Read::take(std::io::repeat(0), 512 << 20);
        zstd::encode_all(zeros, 1).unwrap_or_default()
    });
    let times = (10 << 20) / member.len().max(1);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        member.len() * times
    );
    // A frame that asks for a window of 128 MiB (RFC 8878, 3.1.1).
    let wide = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x88, 0x01, 0x00, 0x00];
    // The header of the large-window variant of brotli, which is no part of `br`.
    let large_window = [0x11, 0x1e, 0x00, 0x00, 0x00, 0x00];
    vec![
        Corner::http(
            "BODY-01",
            "gzip",
            vec![Step::say(head), Step::Repeat(member.clone(), times)],
        ),
        Corner::says("BODY-02", "brotli", html("br", BROTLI_BOMB)),
        Corner::says("BODY-03", "zstd", html("zstd", zstd)),
        Corner::says("BODY-03", "window", html("zstd", &wide)),
        Corner::says("BODY-04", "large-window", html("br", &large_window)),
    ]
}

fn codings() -> Vec<Corner> {
    let packed = gzip(TEXT.as_bytes());
    let spread = "Content-Encoding: gzip\r\n".repeat(100);
    let (first, second) = TEXT.split_at(30);
    let mut wrong_crc = packed.clone();
    let crc = wrong_crc.len() - 8;
    wrong_crc[crc] ^= 0xff;
    vec![
        Corner::says(
            "BODY-05",
            "list",
            html(&vec!["gzip"; 100].join(", "), &packed),
        ),
        Corner::says(
            "BODY-05",
            "fields",
            answer(&format!("Content-Type: text/html\r\n{spread}"), &packed),
        ),
        Corner::says(
            "BODY-06",
            "members",
            html(
                "gzip",
                &[gzip(first.as_bytes()), gzip(second.as_bytes())].concat(),
            ),
        ),
        Corner::says(
            "BODY-06",
            "garbage",
            html("gzip", &[packed.as_slice(), b"garbage"].concat()),
        ),
        Corner::says(
            "BODY-06",
            "no-trailer",
            html("gzip", &packed[..packed.len() - 8]),
        ),
        Corner::says("BODY-06", "wrong-crc", html("gzip", &wrong_crc)),
        Corner::says("BODY-07", "plain", html("gzip", TEXT.as_bytes())),
        Corner::says(
            "BODY-08",
            "unlabelled",
            answer("Content-Type: text/html\r\n", &packed),
        ),
        Corner::says("BODY-09", "raw", html("deflate", &deflate(TEXT.as_bytes()))),
        Corner::says("BODY-09", "zlib", html("deflate", &zlib(TEXT.as_bytes()))),
        Corner::says("BODY-10", "unknown", html("x-foo", TEXT.as_bytes())),
        Corner::says("BODY-10", "identity", html("identity", TEXT.as_bytes())),
        Corner::says("BODY-10", "empty", html("", TEXT.as_bytes())),
        Corner::says("BODY-10", "capitals", html("GZIP", &packed)),
        Corner::says(
            "BODY-11",
            "file",
            answer(
                "Content-Type: application/gzip\r\nContent-Encoding: gzip\r\n",
                &gzip(&packed),
            ),
        ),
    ]
}

fn charsets() -> Vec<Corner> {
    let meta = "<!doctype html><meta charset=\"iso-8859-15\"><title>caf\u{e9}</title><p>\u{fffd}";
    let latin: Vec<u8> = meta
        .chars()
        .map(|c| u8::try_from(c).unwrap_or(0xa4))
        .collect();
    let typed = |charset: &str, body: &[u8]| {
        answer(
            &format!("Content-Type: text/html; charset={charset}\r\n"),
            body,
        )
    };
    let wide: Vec<u8> = "<title>caf\u{e9}</title><p>wide"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let wide_be: Vec<u8> = "<title>caf\u{e9}</title><p>wide"
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    let invalid = b"<title>ok</title><p>\xff\xfe \xc0\xaf \xed\xa0\x80 \xe2\x82";
    let russian =
        b"<title>\xf0\xd2\xc9\xd7\xc5\xd4</title><p>\xf0\xd2\xc9\xd7\xc5\xd4 \xcd\xc9\xd2";
    vec![
        Corner::says("BODY-12", "three", typed("utf-8", &latin)),
        Corner::says(
            "BODY-13",
            "le-bom",
            typed("utf-8", &[b"\xff\xfe".as_slice(), &wide].concat()),
        ),
        Corner::says(
            "BODY-13",
            "be-bom",
            typed("utf-8", &[b"\xfe\xff".as_slice(), &wide_be].concat()),
        ),
        Corner::says("BODY-13", "le", typed("utf-16le", &wide)),
        Corner::says("BODY-13", "be", typed("utf-16be", &wide_be)),
        Corner::says("BODY-13", "le-bare", typed("", &wide)),
        Corner::says("BODY-13", "be-bare", typed("", &wide_be)),
        Corner::says(
            "BODY-13",
            "utf-7",
            typed("utf-7", b"<title>plain</title>+ADw-script+AD4-"),
        ),
        Corner::says(
            "BODY-13",
            "utf-32",
            typed("utf-32", b"<title>plain</title>text"),
        ),
        Corner::says("BODY-14", "invalid", typed("utf-8", invalid)),
        Corner::says("BODY-15", "right", typed("koi8-r", russian)),
        Corner::says("BODY-15", "wrong", typed("utf-8", russian)),
        Corner::says(
            "BODY-15",
            "unknown",
            typed("x-martian", b"<title>plain</title>text"),
        ),
        Corner::says(
            "BODY-16",
            "long",
            typed(&"x".repeat(64 << 10), TEXT.as_bytes()),
        ),
        Corner::says("BODY-16", "quotes", typed("\"utf-8", TEXT.as_bytes())),
        Corner::says("BODY-16", "folded", typed("koi8\r\n -r", TEXT.as_bytes())),
        Corner::says(
            "BODY-16",
            "nul-in-meta",
            answer(
                "Content-Type: text/html\r\n",
                format!("<meta charset=\"koi8-r\0\">{TEXT}").as_bytes(),
            ),
        ),
        Corner::says(
            "BODY-16",
            "line-in-meta",
            answer(
                "Content-Type: text/html\r\n",
                format!("<meta charset=\"koi8\n-r\">{TEXT}").as_bytes(),
            ),
        ),
        Corner::says(
            "BODY-16",
            "long-in-meta",
            answer(
                "Content-Type: text/html\r\n",
                format!("<meta charset=\"{}\">{TEXT}", "x".repeat(64 << 10)).as_bytes(),
            ),
        ),
    ]
}

fn types() -> Vec<Corner> {
    let typed = |fields: &str, body: &[u8]| answer(fields, body);
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    vec![
        Corner::says("BODY-17", "missing", typed("", TEXT.as_bytes())),
        Corner::says(
            "BODY-17",
            "two",
            typed(
                "Content-Type: text/html\r\nContent-Type: image/png\r\n",
                TEXT.as_bytes(),
            ),
        ),
        Corner::says(
            "BODY-17",
            "list",
            typed("Content-Type: text/html, text/html\r\n", TEXT.as_bytes()),
        ),
        Corner::says(
            "BODY-17",
            "star",
            typed("Content-Type: */*\r\n", TEXT.as_bytes()),
        ),
        Corner::says(
            "BODY-17",
            "long",
            typed(
                &format!("Content-Type: text/{}\r\n", "h".repeat(64 << 10)),
                TEXT.as_bytes(),
            ),
        ),
        Corner::says(
            "BODY-18",
            "html-as-png",
            typed("Content-Type: image/png\r\n", TEXT.as_bytes()),
        ),
        Corner::says(
            "BODY-18",
            "png-as-html",
            typed("Content-Type: text/html\r\n", png),
        ),
        Corner::says(
            "BODY-18",
            "script",
            typed("Content-Type: text/plain\r\n", b"<script>alert(1)</script>"),
        ),
        Corner::says(
            "BODY-19",
            "empty",
            typed("Content-Type: text/html\r\n", b""),
        ),
        Corner::says(
            "BODY-20",
            "one-line",
            typed(
                "Content-Type: text/html\r\n",
                &b"<b>word</b> ".repeat(1_250_000),
            ),
        ),
    ]
}

fn streams() -> Vec<Corner> {
    let part = b"--x\r\nContent-Type: text/html\r\n\r\n<p>again\r\n".to_vec();
    let chunk = [format!("{:x}\r\n", part.len()).as_bytes(), &part, b"\r\n"].concat();
    let head = |media_type: &str, more: &str| {
        Step::say(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n{more}\r\n"
        ))
    };
    let pause = Duration::from_millis(5);
    vec![
        Corner::http(
            "BODY-23",
            "unsized",
            vec![
                head("multipart/x-mixed-replace; boundary=x", ""),
                Step::Drip(part, pause),
            ],
        ),
        Corner::http(
            "BODY-23",
            "chunked",
            vec![
                head(
                    "multipart/x-mixed-replace; boundary=x",
                    "Transfer-Encoding: chunked\r\n",
                ),
                Step::Drip(chunk, pause),
            ],
        ),
        Corner::http(
            "BODY-24",
            "events",
            vec![
                head("text/event-stream", ""),
                Step::Drip(b"data: tick\n\n".to_vec(), pause),
            ],
        ),
        Corner::http(
            "BODY-24",
            "long-poll",
            vec![head("text/event-stream", ""), Step::silence()],
        ),
    ]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}
