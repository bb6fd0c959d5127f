//! Undoing content coding, of honest and of hostile bodies.
#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;
use teia_base::{Body, Chunks, Head, Outcome, Response};
use teia_fetch::{DecodeLimits, Decoded, Extent, decode, measure};

const TEXT: &[u8] = b"a page of text, a page of text, a page of text";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A brotli stream of stored blocks (RFC 7932, 9.2), for want of an encoder.
fn brotli(bytes: &[u8]) -> Vec<u8> {
    // WBITS = 16 is the single bit 0; ISLAST 0; MNIBBLES 4 (00); MLEN-1 in 16 bits; ISUNCOMPRESSED 1.
    let len = u32::try_from(bytes.len() - 1).unwrap();
    let head = len << 4 | 1 << 20;
    let mut stream = head.to_le_bytes()[..3].to_vec();
    stream.extend_from_slice(bytes);
    stream.push(0b11); // ISLAST, ISLASTEMPTY
    stream
}

fn response(codings: &[&str], content_type: &str, body: Vec<u8>) -> Response {
    let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
    let mut fields = Vec::new();
    let all = codings
        .iter()
        .map(|coding| ("content-encoding", *coding))
        .chain([("content-type", content_type)]);
    for (name, value) in all {
        let start = head.len();
        head.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        fields.push((
            start..start + name.len(),
            start + name.len() + 2..head.len() - 2,
        ));
    }
    head.extend_from_slice(b"\r\n");
    Response {
        status: 200,
        head: Head::new(head.into(), fields),
        body: body.into(),
        chunks: None,
    }
}

fn decoded(coding: &str, body: Vec<u8>) -> Decoded {
    decode(
        &response(&[coding], "text/html", body),
        &DecodeLimits::default(),
    )
}

#[track_caller]
fn good(coding: &str, body: Vec<u8>) {
    let decoded = decoded(coding, body);
    assert_eq!(
        (decoded.bytes.as_ref(), decoded.fault, decoded.truncated),
        (TEXT, None, false),
        "{coding}"
    );
}

#[track_caller]
fn faulty(decoded: &Decoded, outcome: Outcome, name: &str) {
    assert_eq!(decoded.fault, Some((outcome, name)));
}

#[test]
fn every_coding_is_undone() {
    good("gzip", gzip(TEXT));
    good("X-GZIP", gzip(TEXT));
    good("deflate", zlib(TEXT));
    good("deflate", deflate(TEXT));
    good("zstd", zstd::encode_all(TEXT, 3).unwrap());
    good("br", brotli(TEXT));
    good("identity", TEXT.to_vec());
    good("", TEXT.to_vec());
    good(
        "gzip, deflate, zstd",
        zstd::encode_all(zlib(&gzip(TEXT)).as_slice(), 3).unwrap(),
    );
}

#[test]
fn a_plain_body_is_not_copied() {
    let bytes = Bytes::from_static(TEXT);
    let mut response = response(&[], "text/html", Vec::new());
    response.body = Body::Memory(bytes.clone());
    assert_eq!(
        decode(&response, &DecodeLimits::default()).bytes.as_ptr(),
        bytes.as_ptr()
    );
}

#[test]
fn chunks_and_files_are_joined() {
    let compressed = gzip(TEXT);
    let (a, b) = compressed.split_at(7);
    let mut wire = b"7\r\n".to_vec();
    wire.extend_from_slice(a);
    wire.extend_from_slice(b"\r\n!!");
    wire.extend_from_slice(b);
    let mut response = response(&["gzip"], "text/html", wire.clone());
    let mut chunks = Chunks::default();
    chunks.push(3, 7);
    chunks.push(4, wire.len() as u64 - 14);
    response.chunks = Some(chunks.into());
    assert_eq!(decode(&response, &DecodeLimits::default()).bytes, TEXT);
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&wire).unwrap();
    response.body = Body::File {
        file: std::sync::Arc::new(file),
        len: wire.len() as u64,
    };
    assert_eq!(decode(&response, &DecodeLimits::default()).bytes, TEXT);
}

#[test]
fn bombs_do_not_go_off() {
    let zeros = vec![0; 40 << 20];
    for (coding, bomb) in [
        ("gzip", gzip(&zeros)),
        ("deflate", deflate(&zeros)),
        ("zstd", zstd::encode_all(zeros.as_slice(), 3).unwrap()),
    ] {
        let decoded = decoded(coding, bomb);
        assert_eq!(decoded.fault.unwrap().0, Outcome::DECODE_BOMB, "{coding}");
        assert!(
            decoded.truncated && decoded.bytes.len() <= 32 << 20,
            "{coding}"
        );
        assert!(!decoded.bytes.is_empty());
    }
    // A bomb in two layers: each is small for its own input.
    let decoded = decoded("gzip, gzip", gzip(&gzip(&zeros)));
    assert_eq!(decoded.fault.unwrap().0, Outcome::DECODE_BOMB);
    assert!(decoded.bytes.len() <= 32 << 20);
}

#[test]
fn well_packed_pages_are_no_bombs() {
    let page = TEXT.repeat(20_000);
    let decoded = decoded("gzip", gzip(&page));
    assert_eq!((decoded.fault, decoded.bytes.len()), (None, page.len()));
}

#[test]
fn too_many_layers_are_refused_over_all_fields() {
    let decoded = decode(
        &response(&["gzip, gzip", "gzip", "gzip"], "text/html", gzip(TEXT)),
        &DecodeLimits::default(),
    );
    faulty(&decoded, Outcome::DECODE_CHAIN_TOO_LONG, "layers");
}

#[test]
fn damage_keeps_what_was_decoded() {
    let page = TEXT.repeat(1000);
    let whole = gzip(&page);
    let short = decoded("gzip", whole[..whole.len() - 20].to_vec());
    faulty(&short, Outcome::DECODE_ERROR, "short");
    assert!(page.starts_with(&short.bytes) && short.bytes.len() > 1000 && short.truncated);
    let mut wrong = whole.clone();
    let crc = wrong.len() - 6;
    wrong[crc] ^= 1;
    let decoded_wrong = decoded("gzip", wrong);
    faulty(&decoded_wrong, Outcome::DECODE_ERROR, "damaged");
    assert_eq!(decoded_wrong.bytes, page);
    let trailing = decoded("gzip", [gzip(TEXT), b"junk".to_vec()].concat());
    faulty(&trailing, Outcome::DECODE_ERROR, "trailing_bytes");
    assert_eq!(trailing.bytes, TEXT);
    let members = decoded("gzip", [gzip(&TEXT[..9]), gzip(&TEXT[9..])].concat());
    assert_eq!((members.bytes.as_ref(), members.fault), (TEXT, None));
}

#[test]
fn wrong_labels_are_noticed() {
    let plain = decoded("gzip", TEXT.to_vec());
    faulty(&plain, Outcome::DECODE_ERROR, "not_gzip");
    assert_eq!((plain.bytes.as_ref(), plain.truncated), (TEXT, false));
    let silent = decode(
        &response(&[], "text/html", gzip(TEXT)),
        &DecodeLimits::default(),
    );
    faulty(&silent, Outcome::DECODE_ERROR, "gzip_not_labelled");
    assert_eq!(silent.bytes, TEXT);
    let file = decode(
        &response(&[], "application/gzip", gzip(TEXT)),
        &DecodeLimits::default(),
    );
    assert_eq!(
        (file.bytes.as_ref(), file.fault),
        (gzip(TEXT).as_slice(), None)
    );
    let unknown = decoded("x-foo", TEXT.to_vec());
    faulty(&unknown, Outcome::DECODE_ERROR, "unknown_coding");
}

#[test]
fn large_windows_are_refused() {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(25).unwrap();
    encoder
        .write_all(&TEXT.repeat(3_000_000 / TEXT.len()))
        .unwrap();
    let wide = encoder.finish().unwrap();
    assert_eq!(
        decoded("zstd", wide).fault.unwrap().0,
        Outcome::DECODE_ERROR
    );
    // The first byte 0x11 asks for brotli's large window.
    assert_eq!(
        decoded("br", vec![0x11, 0x1e, 0, 0, 0, 0]).fault.unwrap().0,
        Outcome::DECODE_ERROR
    );
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        coding in prop_oneof![Just("gzip"), Just("deflate"), Just("br"), Just("zstd"), Just("gzip, br, zstd")],
        magic in any::<bool>(),
    ) {
        let body = if magic { [gzip(&bytes), bytes].concat() } else { bytes };
        decoded(coding, body);
    }
}

#[test]
fn a_document_may_unpack_to_more_than_a_page() {
    let limits = DecodeLimits {
        decoded_bytes: 1000,
        document_bytes: 5000,
        ..DecodeLimits::default()
    };
    let body = gzip(&[b'x'; 4000]);
    let page = decode(&response(&["gzip"], "text/html", body.clone()), &limits);
    assert_eq!((page.bytes.len(), page.truncated), (1000, true));
    let document = decode(&response(&["gzip"], "application/pdf", body), &limits);
    assert_eq!((document.bytes.len(), document.truncated), (4000, false));
}

/// What nobody reads is told of as if it had been unpacked: its length, its beginning, what is wrong with it.
#[test]
fn measuring_says_what_decoding_says() {
    let lines = (0..60_000).map(|n| format!("{n:06} words\n").into_bytes());
    let text: Vec<u8> = lines.flatten().collect();
    let mut cut = gzip(&text);
    cut.truncate(cut.len() / 2);
    let mut damaged = gzip(&text);
    let middle = damaged.len() / 2;
    damaged[middle..middle + 20].fill(0xff);
    let two: Vec<u8> = [gzip(&text), gzip(&text)].concat();
    let bomb = gzip(&vec![0; 8 << 20]);
    let small = DecodeLimits {
        decoded_bytes: 400_000,
        ..DecodeLimits::default()
    };
    assert!(gzip(&text).len() < 400_000 && text.len() > 400_000);
    let usual = DecodeLimits::default();
    let twice = ["gzip, gzip"];
    for (codings, body, limits) in [
        (&[][..], text.clone(), &usual),
        (&[], text.clone(), &small),
        (&[], Vec::new(), &usual),
        (&["gzip"], gzip(&text), &usual),
        (&["gzip"], gzip(&text), &small),
        (&["gzip"], text.clone(), &usual),
        (&["gzip"], Vec::new(), &usual),
        (&["gzip"], two, &usual),
        (&["gzip"], cut, &usual),
        (&["gzip"], bomb, &usual),
        (&["deflate"], zlib(&text), &usual),
        (&["deflate"], deflate(&text), &usual),
        (&["br"], brotli(&text[..60_000]), &usual),
        (&["zstd"], zstd::encode_all(&text[..], 1).unwrap(), &usual),
        (&twice, gzip(&gzip(&text)), &usual),
        (&["x-foo"], text.clone(), &usual),
        (&["gzip, gzip, gzip, gzip"], text.clone(), &usual),
    ] {
        let response = response(codings, "image/png", body);
        let decoded = decode(&response, limits);
        let measured = measure(&response, limits, 1000, Extent::Whole);
        let start = &decoded.bytes[..decoded.bytes.len().min(1000)];
        assert_eq!(measured.start, start, "{codings:?}");
        assert_eq!(measured.fault, decoded.fault, "{codings:?}");
        assert_eq!(measured.truncated, decoded.truncated, "{codings:?}");
        if decoded.fault.is_none_or(|(_, name)| name != "short") {
            assert_eq!(measured.len, decoded.bytes.len() as u64, "{codings:?}");
        }
        let look = measure(&response, limits, 1000, Extent::Start);
        assert_eq!(look.start, start, "{codings:?}");
    }
    // Of a damaged one as much as can be had, and that it is.
    let response = response(&["gzip"], "image/png", damaged);
    let measured = measure(&response, &usual, 1000, Extent::Whole);
    assert_eq!(measured.fault, Some((Outcome::DECODE_ERROR, "damaged")));
}
