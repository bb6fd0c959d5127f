//! A connection: requests in, answers out, one after the other. One read and one write for each.

use std::collections::HashMap;
use std::io::{self, IoSlice};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::answer::{Answer, Asked};
use crate::log::Entry;
use crate::place::Place;
use crate::record::{Record, lock};
use crate::request::{Parsed, Request, parse};
use crate::web::Web;

const FIRST_BUFFER_BYTES: usize = 2048;
const MAX_HEAD_BYTES: usize = 64 * 1024;

const BAD_REQUEST: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const NOT_ALLOWED: &[u8] =
    b"HTTP/1.1 405 Method Not Allowed\r\nAllow: GET, HEAD\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const MISDIRECTED: &[u8] =
    b"HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) web: Web,
    pub(crate) record: Record,
    pub(crate) epoch: AtomicU32,
    /// How often each flaky place was asked for; bounded by the number of them.
    pub(crate) asked: Mutex<HashMap<(u32, Place), u32>>,
}

/// Serves a connection to its end. `listener` is the host whose address it came to, in literal naming.
pub(crate) async fn serve(mut stream: TcpStream, listener: Option<u32>, shared: &Shared) {
    let mut visit = Visit {
        number: shared.record.connect(),
        host: listener,
        record: &shared.record,
    };
    shared.record.join(listener);
    // A broken connection is the client's affair: its requests are in the log either way.
    let _ = converse(&mut stream, &mut visit, listener, shared).await;
}

/// A connection in the record, for as long as it is open.
struct Visit<'a> {
    number: u64,
    host: Option<u32>,
    record: &'a Record,
}

impl Visit<'_> {
    /// Counts the connection as this host's from now on.
    fn go_to(&mut self, host: Option<u32>) {
        if host != self.host {
            self.record.leave(self.host);
            self.record.join(host);
            self.host = host;
        }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.record.disconnect(self.host);
    }
}

async fn converse(
    stream: &mut TcpStream,
    visit: &mut Visit<'_>,
    listener: Option<u32>,
    shared: &Shared,
) -> io::Result<()> {
    let mut buffer = vec![0; FIRST_BUFFER_BYTES];
    let (mut from, mut to) = (0, 0);
    let mut answer = Answer::default();
    let mut scratch = Vec::new();
    loop {
        let request = match parse(&buffer[from..to]) {
            Parsed::Whole(request) => request,
            Parsed::Bad => return stream.write_all(BAD_REQUEST).await,
            Parsed::Partial => {
                buffer.copy_within(from..to, 0);
                (from, to) = (0, to - from);
                if to == buffer.len() {
                    if to >= MAX_HEAD_BYTES {
                        return stream.write_all(BAD_REQUEST).await;
                    }
                    buffer.resize(to * 2, 0);
                }
                match stream.read(&mut buffer[to..]).await? {
                    0 => return Ok(()),
                    read => to += read,
                }
                continue;
            }
        };
        let host = listener.or_else(|| shared.web.host_number(request.authority));
        visit.go_to(host);
        let entry = shared
            .record
            .start(|| entry(&request, host, visit.number, shared));
        let pending = Pending {
            record: &shared.record,
            entry,
            status: 0,
            bytes: 0,
            sent: None,
        };
        let open = respond(
            stream,
            &request,
            host,
            shared,
            &mut answer,
            &mut scratch,
            pending,
        )
        .await?;
        if !open {
            return stream.shutdown().await;
        }
        from += request.bytes;
    }
}

/// A request whose answer is under way; when it is dropped, the answer has ended.
struct Pending<'a> {
    record: &'a Record,
    entry: Option<usize>,
    status: u16,
    bytes: u64,
    /// The moment before the answer was handed to the kernel: a client that reads it at once
    /// cannot be earlier, however late this thread runs again.
    sent: Option<Duration>,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.record
            .end(self.entry, self.status, self.bytes, self.sent);
    }
}

/// Answers one request; says whether the connection stays open.
async fn respond<'web>(
    stream: &mut TcpStream,
    request: &Request<'_>,
    host: Option<u32>,
    shared: &'web Shared,
    answer: &mut Answer<'web>,
    scratch: &mut Vec<u8>,
    mut pending: Pending<'_>,
) -> io::Result<bool> {
    let refusal = match (request.method, host) {
        (_, None) => Some((421, MISDIRECTED)),
        ("GET" | "HEAD", Some(_)) if !request.has_body => None,
        _ => Some((405, NOT_ALLOWED)),
    };
    let (Some(host), None) = (host, refusal) else {
        let (status, bytes) = refusal.unwrap_or((421, MISDIRECTED));
        pending.sent = Some(shared.record.now());
        stream.write_all(bytes).await?;
        (pending.status, pending.bytes) = (status, bytes.len() as u64);
        return Ok(false);
    };
    let web = &shared.web;
    let place = web.spelling(host).read(request.path, scratch);
    let asked = Asked {
        earlier: earlier(shared, host, place),
        epoch: shared.epoch.load(Relaxed),
        gzip: request.gzip,
        chunks: request.minor_version == 1,
        keep_alive: request.keep_alive,
        if_none_match: request.if_none_match,
        if_modified_since: request.if_modified_since,
    };
    web.fill(answer, host, place, &asked);
    let latency = web.latency(place);
    if latency > Duration::ZERO {
        tokio::time::sleep(latency).await;
    }
    if answer.status == 0 {
        return Ok(false);
    }
    pending.sent = Some(shared.record.now());
    pending.bytes = write_all(stream, &mut answer.slices(request.method == "GET")).await?;
    pending.status = answer.status;
    if let Some(place) = place
        && answer.status != 404
    {
        shared.record.serve(host, place);
    }
    Ok(request.keep_alive)
}

/// How often a flaky place was asked for before.
fn earlier(shared: &Shared, host: u32, place: Option<Place>) -> u32 {
    let Some(place @ Place::Flaky(number)) = place else {
        return 0;
    };
    if number >= shared.web.config().flaky {
        return 0;
    }
    let mut asked = lock(&shared.asked);
    let count = asked.entry((host, place)).or_default();
    *count += 1;
    *count - 1
}

/// Writes all the slices, in one call when the socket takes them; says how many bytes that was.
async fn write_all(stream: &mut TcpStream, mut slices: &mut [IoSlice<'_>]) -> io::Result<u64> {
    let mut total = 0;
    // Advancing by nothing drops the empty slices in front.
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        let written = stream.write_vectored(slices).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        total += written as u64;
        IoSlice::advance_slices(&mut slices, written);
    }
    Ok(total)
}

fn entry(request: &Request<'_>, host: Option<u32>, connection: u64, shared: &Shared) -> Entry {
    let name = match host {
        Some(host) => shared.web.host_name(host),
        None => request.authority.to_owned(),
    };
    Entry {
        sequence: 0,
        start: Duration::ZERO,
        end: None,
        host,
        method: request.method.to_owned(),
        url: ["http://", &name, request.path].concat(),
        connection,
        status: 0,
        agent: request.agent.to_owned(),
        bytes: 0,
    }
}
