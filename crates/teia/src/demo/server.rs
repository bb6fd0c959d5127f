//! A tiny HTTP/1.1 server: virtual hosts, keep-alive, gzip, conditional requests, a few milliseconds of latency.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};

use super::answer::{Answer, Delivery, choose};
use super::atlas::Atlas;

/// Connections served at once; the next one waits to be accepted.
const MAX_CONNECTIONS: usize = 128;
/// Bytes of one request head; a longer one ends the connection.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// How long a connection may stay silent.
const IDLE: Duration = Duration::from_secs(15);
/// The least any answer takes.
const LATENCY_MS: usize = 2;
/// How much longer, at most, some addresses take.
const LATENCY_SPREAD_MS: usize = 9;

/// Serves the atlas until `stopped` resolves or its sender is gone.
pub(super) async fn serve(
    listener: TcpListener,
    atlas: Arc<Atlas>,
    mut stopped: oneshot::Receiver<()>,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let place = tokio::select! {
            _ = &mut stopped => return,
            place = Arc::clone(&places).acquire_owned() => place,
        };
        let stream = tokio::select! {
            _ = &mut stopped => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(_) => {
                    // Out of descriptors, or a client gone before it was accepted: neither is worth the demo.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
        };
        let atlas = Arc::clone(&atlas);
        tokio::spawn(async move {
            // A client that went away is an ordinary day.
            let _ = converse(stream, &atlas).await;
            drop(place);
        });
    }
}

/// Answers request after request on one connection.
async fn converse(mut stream: TcpStream, atlas: &Atlas) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(2048);
    loop {
        let Some((request, consumed)) = read_request(&mut stream, &mut buffer).await? else {
            return Ok(());
        };
        buffer.drain(..consumed);
        let answer = atlas.answer(&request.host, &request.target);
        let wait = LATENCY_MS + choose(&request.target, LATENCY_SPREAD_MS);
        tokio::time::sleep(Duration::from_millis(wait as u64)).await;
        let reply = reply(&request, &answer);
        stream.write_all(&reply.bytes).await?;
        if reply.closes {
            stream.shutdown().await?;
            return Ok(());
        }
    }
}

/// What the server needs to know of a request.
#[derive(Debug, Default)]
struct Request {
    method: String,
    target: String,
    host: String,
    accepts_gzip: bool,
    known_tag: String,
    closes: bool,
}

/// Reads one request head; nothing when the client is done, silent for too long, or not speaking HTTP.
async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<(Request, usize)>> {
    loop {
        match parse(buffer) {
            Parsed::Request(request, consumed) => return Ok(Some((request, consumed))),
            Parsed::Partial if buffer.len() < MAX_HEAD_BYTES => {}
            Parsed::Partial | Parsed::Nonsense => return Ok(None),
        }
        let Ok(read) = tokio::time::timeout(IDLE, stream.read_buf(buffer)).await else {
            return Ok(None);
        };
        if read? == 0 {
            return Ok(None);
        }
    }
}

/// What some bytes at the start of a request are.
#[derive(Debug)]
enum Parsed {
    Request(Request, usize),
    Partial,
    Nonsense,
}

fn parse(bytes: &[u8]) -> Parsed {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Request::new(&mut headers);
    let consumed = match head.parse(bytes) {
        Ok(httparse::Status::Complete(consumed)) => consumed,
        Ok(httparse::Status::Partial) => return Parsed::Partial,
        Err(_) => return Parsed::Nonsense,
    };
    let mut request = Request {
        method: head.method.unwrap_or_default().to_owned(),
        target: head.path.unwrap_or_default().to_owned(),
        closes: head.version == Some(0),
        ..Request::default()
    };
    for header in head.headers.iter() {
        let value = String::from_utf8_lossy(header.value);
        let value = value.trim();
        match header.name.to_ascii_lowercase().as_str() {
            "host" => request.host = value.to_owned(),
            "accept-encoding" => request.accepts_gzip = value.contains("gzip"),
            "if-none-match" => request.known_tag = value.to_owned(),
            "connection" => request.closes |= value.eq_ignore_ascii_case("close"),
            // A body is never read, so what follows it could not be told from it.
            "content-length" | "transfer-encoding" => request.closes |= value != "0",
            _ => {}
        }
    }
    Parsed::Request(request, consumed)
}

/// The bytes of an answer, and whether the connection ends with them.
#[derive(Debug)]
struct Reply {
    bytes: Vec<u8>,
    closes: bool,
}

fn reply(request: &Request, answer: &Answer) -> Reply {
    if answer.delivery == Delivery::Garbled {
        return Reply {
            bytes: b"HTTQ/9 yes\r\n\x01\x02broken: header\r\n\r\n".to_vec(),
            closes: true,
        };
    }
    let refused = !matches!(request.method.as_str(), "GET" | "HEAD");
    let tag = answer.etag();
    let unchanged = answer.status == 200 && request.known_tag.contains(&tag);
    let (status, body, coded) = if refused {
        (405, Vec::new(), false)
    } else if unchanged {
        (304, Vec::new(), false)
    } else {
        let (body, coded) = encode(request, answer);
        (answer.status, body, coded)
    };
    let cut = answer.delivery == Delivery::CutShort && !refused;
    let chunked = answer.delivery == Delivery::Chunked && status == 200;

    let mut head = format!(
        "HTTP/1.1 {status} {}\r\nServer: teia-demo\r\nContent-Type: {}\r\n",
        reason(status),
        answer.media_type
    );
    for (name, value) in &answer.headers {
        head += &format!("{name}: {value}\r\n");
    }
    if answer.status == 200 {
        head += &format!("ETag: {tag}\r\nVary: Accept-Encoding\r\n");
    }
    if refused {
        head += "Allow: GET, HEAD\r\n";
    }
    if coded {
        head += "Content-Encoding: gzip\r\n";
    }
    if chunked {
        head += "Transfer-Encoding: chunked\r\n";
    } else if status != 304 {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    let closes = request.closes || cut;
    head += if closes {
        "Connection: close\r\n\r\n"
    } else {
        "Connection: keep-alive\r\n\r\n"
    };

    let mut bytes = head.into_bytes();
    if request.method != "HEAD" {
        if chunked {
            push_chunks(&mut bytes, &body);
        } else if cut {
            bytes.extend_from_slice(&body[..body.len() / 2]);
        } else {
            bytes.extend_from_slice(&body);
        }
    }
    Reply { bytes, closes }
}

/// The body as this client wants it, and whether it was compressed.
fn encode(request: &Request, answer: &Answer) -> (Vec<u8>, bool) {
    let worth = answer.is_text() && answer.body.len() > 256;
    if request.accepts_gzip && worth && answer.delivery != Delivery::CutShort {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let written = encoder.write_all(&answer.body);
        if let (Ok(()), Ok(body)) = (written, encoder.finish()) {
            return (body, true);
        }
    }
    (answer.body.clone(), false)
}

fn push_chunks(bytes: &mut Vec<u8>, body: &[u8]) {
    for chunk in body.chunks(1000) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        404 => "Not Found",
        405 => "Method Not Allowed",
        410 => "Gone",
        500 => "Internal Server Error",
        _ => "Answer",
    }
}
