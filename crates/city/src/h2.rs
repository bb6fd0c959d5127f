//! HTTP/2 by hand: frames that no library would send.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::Result;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::certificates::{Authority, Blemish};
use crate::door::Seen;
use crate::step::Step;
use crate::street::be_honest;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;
const PREFACE: usize = 24;
/// The number of a setting (RFC 9113, 6.5.2).
const MAX_CONCURRENT_STREAMS: u16 = 3;

/// What a corner of HTTP/2 does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum H2Trick {
    /// A head that never ends.
    Continuations,
    /// Every stream is reset, with this reason.
    Resets(u32),
    /// Frames of this type without end.
    Flood(u8),
    /// A head, then empty data without end.
    EmptyData,
    /// A head, then frames that are errors of their stream without end.
    StreamErrors,
    /// A short head that unpacks to so many kilobytes.
    HeaderBomb(usize),
    /// A head of so many fields.
    ManyHeaders(usize),
    /// A promise that nobody asked for.
    Push,
    /// A head, and never a body.
    NoBody,
    /// Nothing but "go away".
    GoAway,
    /// The same, and HTTP/1.1 is not spoken.
    GoAwayAlone,
    /// No stream at all is allowed, and none is answered.
    NoStreams,
    /// HTTP/1.1, where HTTP/2 was agreed on.
    SpeaksHttp1,
    /// HTTP/2, where HTTP/1.1 was agreed on.
    SpeaksHttp2,
    /// A field with a capital letter.
    CapitalName,
    /// A field that belongs to a connection.
    ConnectionField,
    /// No status.
    NoStatus,
    /// Two of them.
    TwoStatuses,
    /// A field that belongs to a connection, in every stream.
    EveryStream,
    /// One setting of this number and value, then honesty.
    Setting(u16, u32),
    /// Fewer bytes than announced.
    ShortBody,
    /// More bytes than announced.
    LongBody,
    /// A whole body, and so many fields behind it.
    Trailers(usize),
    /// A whole body, and fields behind it that never end.
    EndlessTrailers,
}

impl H2Trick {
    fn is_of_one_stream(self) -> bool {
        matches!(
            self,
            Self::CapitalName | Self::ConnectionField | Self::NoStatus | Self::TwoStatuses
        )
    }
}

/// Starts to serve; after so many tricks the corner is honest.
pub(crate) fn serve(
    listener: TcpListener,
    trick: &H2Trick,
    times: usize,
    authority: &Authority,
    seen: Arc<Seen>,
) -> Result<()> {
    let trick = *trick;
    let protocols: &[&[u8]] = match trick {
        H2Trick::SpeaksHttp2 => &[b"http/1.1"],
        H2Trick::GoAwayAlone => &[b"h2"],
        _ => &[b"h2", b"http/1.1"],
    };
    let acceptor = TlsAcceptor::from(authority.server(Blemish::None, protocols)?);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let n = seen.connections.fetch_add(1, Ordering::SeqCst);
            let (seen, acceptor) = (Arc::clone(&seen), acceptor.clone());
            let trick = (n < times).then_some(trick);
            tokio::spawn(async move {
                let _ = converse(stream, acceptor, trick, &seen).await;
                seen.closed.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    Ok(())
}

async fn converse(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    trick: Option<H2Trick>,
    seen: &Seen,
) -> io::Result<()> {
    let mut tls = acceptor.accept(stream).await?;
    let agreed = tls.get_ref().1.alpn_protocol() == Some(b"h2");
    match trick {
        Some(H2Trick::SpeaksHttp2) => {
            tls.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
            tls.flush().await?;
            speak(&mut tls, None, seen).await
        }
        Some(H2Trick::SpeaksHttp1) if agreed => {
            let answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
            tls.write_all(answer.as_bytes()).await?;
            tls.flush().await?;
            Step::silence().perform(&mut tls, &seen.sent).await
        }
        trick if agreed => speak(&mut tls, trick, seen).await,
        _ => be_honest(&mut tls, seen).await,
    }
}

/// Plays the trick, or an honest page, for each request.
async fn speak(
    tls: &mut (impl AsyncRead + AsyncWrite + Unpin),
    trick: Option<H2Trick>,
    seen: &Seen,
) -> io::Result<()> {
    tls.read_exact(&mut [0; PREFACE]).await?;
    let mut setting = Vec::new();
    let said = match trick {
        Some(H2Trick::Setting(name, value)) => Some((name, value)),
        Some(H2Trick::NoStreams) => Some((MAX_CONCURRENT_STREAMS, 0)),
        _ => None,
    };
    if let Some((name, value)) = said {
        setting.extend(name.to_be_bytes());
        setting.extend(value.to_be_bytes());
    }
    tls.write_all(&frame(SETTINGS, 0, 0, &setting)).await?;
    tls.write_all(&frame(SETTINGS, ACK, 0, &[])).await?;
    tls.flush().await?;
    loop {
        let mut head = [0; 9];
        tls.read_exact(&mut head).await?;
        let len = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let mut payload = vec![0; len];
        tls.read_exact(&mut payload).await?;
        if head[3] != HEADERS {
            continue;
        }
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        seen.request(format!("H2 stream {stream}"));
        if let Some(H2Trick::Flood(kind)) = trick {
            return flood(tls, &flood_frame(kind, stream), seen).await;
        }
        // What is wrong with one stream is so with the first only.
        let trick = trick.filter(|trick| stream == 1 || !trick.is_of_one_stream());
        for step in steps(trick, stream) {
            step.perform(tls, &seen.sent).await?;
        }
    }
}

fn flood_frame(kind: u8, stream: u32) -> Vec<u8> {
    match kind {
        PING => frame(PING, 0, 0, &[7; 8]),
        SETTINGS => frame(SETTINGS, 0, 0, &[]),
        PRIORITY => frame(PRIORITY, 0, stream + 2, &[0, 0, 0, 0, 16]),
        _ => frame(WINDOW_UPDATE, 0, stream, &1_u32.to_be_bytes()),
    }
}

/// This frame without end, and notes what is acknowledged meanwhile.
async fn flood(
    tls: &mut (impl AsyncRead + AsyncWrite + Unpin),
    one: &[u8],
    seen: &Seen,
) -> io::Result<()> {
    let (mut from, mut to) = tokio::io::split(tls);
    let acknowledged = async {
        loop {
            let mut head = [0; 9];
            from.read_exact(&mut head).await?;
            let len = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
            from.read_exact(&mut vec![0; len]).await?;
            if matches!(head[3], PING | SETTINGS) && head[4] & ACK != 0 {
                seen.request(format!("H2 acknowledges {}", head[3]));
            }
        }
    };
    let flooded = async {
        // Nobody reads on behind it; what was acknowledged by then is still there to be read.
        let _closed = Step::Endless(one.repeat(50))
            .perform(&mut to, &seen.sent)
            .await;
        std::future::pending().await
    };
    tokio::select! {
        read = acknowledged => read,
        never = flooded => never,
    }
}

fn steps(trick: Option<H2Trick>, stream: u32) -> Vec<Step> {
    let headers = |flags, block: &[u8]| Step::Say(frame(HEADERS, flags, stream, block));
    let data = |flags, bytes: &[u8]| Step::Say(frame(DATA, flags, stream, bytes));
    let honest = vec![
        headers(END_HEADERS, &ok()),
        data(END_STREAM, b"<title>next</title>honest"),
    ];
    let Some(trick) = trick else { return honest };
    match trick {
        // After what is no setting nothing counts any more.
        H2Trick::Setting(4 | 5, 0 | u32::MAX) => vec![Step::silence()],
        H2Trick::Setting(..) | H2Trick::SpeaksHttp1 | H2Trick::SpeaksHttp2 => honest,
        H2Trick::Continuations => {
            let part = frame(CONTINUATION, 0, stream, &literal(b"x-more", b"and more"));
            vec![headers(0, &ok()), Step::Endless(part)]
        }
        H2Trick::Resets(reason) => {
            vec![Step::Say(frame(
                RST_STREAM,
                0,
                stream,
                &reason.to_be_bytes(),
            ))]
        }
        H2Trick::Flood(kind) => vec![Step::Endless(flood_frame(kind, stream).repeat(50))],
        H2Trick::EmptyData => vec![
            headers(END_HEADERS, &ok()),
            Step::Endless(frame(DATA, 0, stream, &[]).repeat(50)),
        ],
        H2Trick::StreamErrors => vec![
            headers(END_HEADERS, &ok()),
            Step::Endless(frame(WINDOW_UPDATE, 0, stream, &[0; 4]).repeat(50)),
        ],
        H2Trick::HeaderBomb(kilobytes) => {
            let mut block = ok();
            // One entry of the dynamic table, and then a byte for each repetition of it.
            block.extend(indexed(b"x-bomb", &vec![b'b'; 3990]));
            block.extend(vec![0xbe; kilobytes.div_ceil(4)]);
            in_frames(stream, &block)
        }
        H2Trick::ManyHeaders(count) => {
            let mut block = ok();
            for n in 0..count {
                block.extend(literal(format!("x{n:x}").as_bytes(), b""));
            }
            in_frames(stream, &block)
        }
        H2Trick::Push => {
            let mut promise = 2_u32.to_be_bytes().to_vec();
            promise.extend([0x82, 0x87, 0x84]); // GET https /
            vec![
                Step::Say(frame(PUSH_PROMISE, END_HEADERS, stream, &promise)),
                Step::silence(),
            ]
        }
        H2Trick::NoBody => vec![headers(END_HEADERS, &ok()), Step::silence()],
        H2Trick::NoStreams => vec![Step::silence()],
        H2Trick::GoAway | H2Trick::GoAwayAlone => {
            let nothing_read = [0; 8];
            vec![
                Step::Say(frame(GOAWAY, 0, 0, &nothing_read)),
                Step::silence(),
            ]
        }
        H2Trick::CapitalName => field(stream, literal(b"X-Upper", b"yes")),
        H2Trick::ConnectionField | H2Trick::EveryStream => {
            field(stream, literal(b"connection", b"keep-alive"))
        }
        H2Trick::NoStatus => vec![headers(END_HEADERS | END_STREAM, &literal(b"a", b"b"))],
        H2Trick::TwoStatuses => field(stream, vec![0x88]),
        H2Trick::Trailers(count) => {
            let block: Vec<u8> = (0..count)
                .flat_map(|n| literal(format!("x{n:x}").as_bytes(), b"y"))
                .collect();
            let mut steps = vec![headers(END_HEADERS, &ok()), data(0, b"hello")];
            steps.extend(in_frames(stream, &block));
            steps
        }
        H2Trick::EndlessTrailers => {
            let part = frame(CONTINUATION, 0, stream, &literal(b"x-more", b"and more"));
            vec![
                headers(END_HEADERS, &ok()),
                data(0, b"hello"),
                headers(END_STREAM, &literal(b"x-first", b"one")),
                Step::Endless(part),
            ]
        }
        H2Trick::ShortBody | H2Trick::LongBody => {
            let mut block = ok();
            let length: &[u8] = if trick == H2Trick::ShortBody {
                b"50"
            } else {
                b"2"
            };
            block.extend(literal(b"content-length", length));
            vec![
                headers(END_HEADERS, &block),
                data(END_STREAM, b"ten bytes."),
            ]
        }
    }
}

/// A whole answer whose head has one thing more.
fn field(stream: u32, more: Vec<u8>) -> Vec<Step> {
    let block = [ok(), more].concat();
    vec![Step::Say(frame(
        HEADERS,
        END_HEADERS | END_STREAM,
        stream,
        &block,
    ))]
}

/// Status 200, and a type.
fn ok() -> Vec<u8> {
    let mut block = vec![0x88];
    block.extend(literal(b"content-type", b"text/html"));
    block
}

/// A head in as many frames as it needs.
fn in_frames(stream: u32, block: &[u8]) -> Vec<Step> {
    let parts: Vec<&[u8]> = block.chunks(16_000).collect();
    let mut steps = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        let kind = if n == 0 { HEADERS } else { CONTINUATION };
        let last = if n + 1 == parts.len() { END_HEADERS } else { 0 };
        let whole = if n == 0 { END_STREAM } else { 0 };
        steps.push(Step::Say(frame(kind, last | whole, stream, part)));
    }
    steps
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len())
        .unwrap_or(u32::MAX)
        .to_be_bytes();
    let mut bytes = vec![len[1], len[2], len[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A field written out, and not to be remembered (RFC 7541, 6.2.2).
fn literal(name: &[u8], value: &[u8]) -> Vec<u8> {
    [vec![0x00], string(name), string(value)].concat()
}

/// A field written out, and to be remembered (RFC 7541, 6.2.1).
fn indexed(name: &[u8], value: &[u8]) -> Vec<u8> {
    [vec![0x40], string(name), string(value)].concat()
}

/// A string without Huffman code: its length with a prefix of seven bits, then its bytes.
fn string(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let byte = |n: usize| u8::try_from(n).unwrap_or(u8::MAX);
    if text.len() < 127 {
        bytes.push(byte(text.len()));
    } else {
        bytes.push(127);
        let mut rest = text.len() - 127;
        while rest >= 128 {
            bytes.push(byte(rest % 128 + 128));
            rest /= 128;
        }
        bytes.push(byte(rest));
    }
    bytes.extend(text);
    bytes
}
