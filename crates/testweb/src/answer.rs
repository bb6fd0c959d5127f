//! Answers: status, headers and body for a request, put together without copying the prose.

use std::io::{IoSlice, Write as _};
use std::time::Duration;

use flate2::{Compression, write::GzEncoder};

use crate::config::Failure;
use crate::draw::mix;
use crate::links::Site;
use crate::page::{TAIL, robots_tag};
use crate::place::{Place, push, push_number};
use crate::requisite::png;
use crate::robots::Robots;
use crate::web::Web;

/// Paragraphs are shorter than this, so the padding after the last one is, too.
const SPACES: [u8; 4096] = [b' '; 4096];
const CHUNK_BYTES: usize = 1500;

/// What of a request an answer depends on.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// How many times this place was asked for before; only flaky places mind.
    pub earlier: u32,
    /// The epoch of the web; only changing pages mind.
    pub epoch: u32,
    /// Whether the client takes gzip.
    pub gzip: bool,
    /// Whether the client takes chunks, as HTTP/1.1 does.
    pub chunks: bool,
    /// Whether the connection stays open.
    pub keep_alive: bool,
    /// The request's `If-None-Match`.
    pub if_none_match: Option<&'a str>,
    /// The request's `If-Modified-Since`.
    pub if_modified_since: Option<&'a str>,
}

impl Default for Asked<'_> {
    fn default() -> Self {
        Self {
            earlier: 0,
            epoch: 0,
            gzip: false,
            chunks: true,
            keep_alive: true,
            if_none_match: None,
            if_modified_since: None,
        }
    }
}

/// One answer. The same value can be filled again and again, which keeps its buffers.
#[derive(Debug, Default)]
pub struct Answer<'web> {
    /// The HTTP status; 0 when the connection is closed instead.
    pub status: u16,
    head: Vec<u8>,
    own: Vec<u8>,
    prose: &'web [u8],
    spaces: usize,
    tail: &'static str,
}

impl Answer<'_> {
    /// Status line and headers, up to and with the empty line.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The body as sent: after compression and chunking.
    pub fn body(&self) -> Vec<u8> {
        [
            &self.own,
            self.prose,
            &SPACES[..self.spaces],
            self.tail.as_bytes(),
        ]
        .concat()
    }

    /// Everything to send, in order; without the body for `HEAD`.
    pub(crate) fn slices(&self, with_body: bool) -> [IoSlice<'_>; 5] {
        let body: [&[u8]; 4] = if with_body {
            [
                &self.own,
                self.prose,
                &SPACES[..self.spaces],
                self.tail.as_bytes(),
            ]
        } else {
            [&[]; 4]
        };
        [&self.head, body[0], body[1], body[2], body[3]].map(IoSlice::new)
    }

    fn body_bytes(&self) -> usize {
        self.own.len() + self.prose.len() + self.spaces + self.tail.len()
    }

    /// Empties the answer and keeps its buffers.
    fn clear(&mut self) {
        self.head.clear();
        let mut own = std::mem::take(&mut self.own);
        own.clear();
        self.replace_body(own);
    }

    /// Replaces the body with these bytes.
    fn replace_body(&mut self, body: Vec<u8>) {
        self.own = body;
        self.prose = &[];
        self.spaces = 0;
        self.tail = "";
    }

    /// The value of a header, by its name as sent.
    pub fn header(&self, name: &str) -> Option<&str> {
        let head = std::str::from_utf8(&self.head).ok()?;
        head.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Web {
    /// The answer of a host to a request for a path.
    pub fn answer(&self, host: u32, path: &str, asked: &Asked<'_>) -> Answer<'_> {
        let mut answer = Answer::default();
        let place = self.spelling(host).read(path, &mut Vec::new());
        self.fill(&mut answer, host, place, asked);
        answer
    }

    /// How long an answer takes.
    pub fn latency(&self, place: Option<Place>) -> Duration {
        if let Some(Place::Slow(_)) = place {
            self.config.slow_latency
        } else {
            self.config.latency
        }
    }

    pub(crate) fn fill<'web>(
        &'web self,
        answer: &mut Answer<'web>,
        host: u32,
        place: Option<Place>,
        asked: &Asked<'_>,
    ) {
        answer.clear();
        let Some(place) = place.filter(|place| self.has(host, *place)) else {
            push(
                &mut answer.own,
                &["<!DOCTYPE html><title>404</title><p>Não existe.</p>\n"],
            );
            return self.finish(answer, 404, "text/html; charset=utf-8", &[], asked);
        };
        if let Place::Flaky(_) = place
            && asked.earlier < self.config.flaky_failures
        {
            return self.fail(answer, asked);
        }
        if let Some(link) = self.redirect(host, place) {
            let mut target = Vec::new();
            // Redirects within a host are by path or absolute, by draw.
            let draw = self.draw(self.original(host), place, 13);
            if link.site == Site::Here && draw.is_multiple_of(2) {
                self.naming.write_origin(host, &mut target);
            }
            self.write_href(host, link, "&", &mut target);
            let status = if draw.is_multiple_of(4) { 302 } else { 301 };
            let target = String::from_utf8_lossy(&target);
            return self.finish(answer, status, "text/html", &[("Location", &target)], asked);
        }
        let media_type = match place {
            Place::Robots if self.robots(host) == Robots::Failing => {
                return self.finish(answer, 503, "text/plain", &[], asked);
            }
            Place::Robots => {
                self.write_robots(host, &mut answer.own);
                "text/plain; charset=utf-8"
            }
            Place::Sitemap => {
                self.write_sitemap(host, &mut answer.own);
                "application/xml"
            }
            Place::Feed => {
                self.write_feed(host, &mut answer.own);
                "application/rss+xml"
            }
            Place::Style => {
                self.write_style(host, &mut answer.own);
                "text/css"
            }
            Place::Script => {
                self.write_script(host, &mut answer.own);
                "text/javascript"
            }
            Place::Image(_) => {
                answer.own = png(self.draw(self.original(host), place, 14));
                "image/png"
            }
            _ => return self.fill_page(answer, host, place, asked),
        };
        self.finish(answer, 200, media_type, &[], asked);
    }

    fn fill_page<'web>(
        &'web self,
        answer: &mut Answer<'web>,
        host: u32,
        place: Place,
        asked: &Asked<'_>,
    ) {
        let draw = self.draw(self.original(host), self.content(place), 15);
        let one_in =
            |every: u32, shift: u32| every > 0 && (draw >> shift).is_multiple_of(u64::from(every));
        let version = if one_in(self.config.changing_every, 0) {
            asked.epoch
        } else {
            0
        };
        let mut headers: [(&str, &str); 5] = [("", ""); 5];
        let (tag, modified);
        if self.config.conditional {
            tag = format!("\"{:x}-{version}\"", mix(&[draw, u64::from(version)]));
            modified = last_modified(draw, version);
            headers[0] = ("ETag", &tag);
            headers[1] = ("Last-Modified", &modified);
            let same = match (asked.if_none_match, asked.if_modified_since) {
                (Some(tags), _) => tags
                    .split(',')
                    .any(|each| each.trim().trim_start_matches("W/") == tag),
                (None, Some(date)) => date == modified,
                (None, None) => false,
            };
            if same {
                return self.finish(answer, 304, "", &headers, asked);
            }
        }
        if let Some(robots) = robots_tag(place) {
            headers[2] = ("X-Robots-Tag", robots);
        }
        self.write_page(host, place, version, &mut answer.own);
        (answer.prose, answer.spaces) = self.page_prose(host, place, answer.own.len());
        answer.tail = TAIL;
        // Paragraphs are far shorter than the spaces at hand.
        answer.spaces = answer.spaces.min(SPACES.len());
        if one_in(self.config.gzip_every, 16) && asked.gzip {
            answer.replace_body(gzip(&answer.body()));
            headers[3] = ("Content-Encoding", "gzip");
        }
        if one_in(self.config.chunked_every, 32) && asked.chunks {
            answer.replace_body(chunked(&answer.body(), draw));
            headers[4] = ("Transfer-Encoding", "chunked");
        }
        self.finish(answer, 200, "text/html; charset=utf-8", &headers, asked);
    }

    fn fail(&self, answer: &mut Answer<'_>, asked: &Asked<'_>) {
        match self.config.flaky_manner {
            Failure::Close => answer.status = 0,
            Failure::Unavailable(None) => self.finish(answer, 503, "text/plain", &[], asked),
            Failure::Unavailable(Some(seconds)) => {
                let seconds = seconds.to_string();
                self.finish(
                    answer,
                    503,
                    "text/plain",
                    &[("Retry-After", &seconds)],
                    asked,
                );
            }
        }
    }

    /// Writes the head; the body is in place. Headers without a name are left out.
    fn finish(
        &self,
        answer: &mut Answer<'_>,
        status: u16,
        media_type: &str,
        headers: &[(&str, &str)],
        asked: &Asked<'_>,
    ) {
        answer.status = status;
        let body_bytes = answer.body_bytes();
        let head = &mut answer.head;
        push(head, &["HTTP/1.1 "]);
        push_number(head, u64::from(status));
        push(head, &[" ", reason(status), "\r\nServer: testweb\r\n"]);
        if !media_type.is_empty() {
            push(head, &["Content-Type: ", media_type, "\r\n"]);
        }
        let mut framed = status == 304;
        for (name, value) in headers.iter().filter(|(name, _)| !name.is_empty()) {
            push(head, &[name, ": ", value, "\r\n"]);
            framed |= *name == "Transfer-Encoding";
        }
        if !framed {
            push(head, &["Content-Length: "]);
            push_number(head, body_bytes as u64);
            push(head, &["\r\n"]);
        }
        push(
            head,
            &[
                if asked.keep_alive {
                    ""
                } else {
                    "Connection: close\r\n"
                },
                "\r\n",
            ],
        );
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        304 => "Not Modified",
        404 => "Not Found",
        503 => "Service Unavailable",
        _ => "",
    }
}

/// A date in January 2026, which began on a Thursday; the time of day is the version.
fn last_modified(draw: u64, version: u32) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let day = draw % 31;
    let name = DAYS
        .iter()
        .cycle()
        .nth(usize::try_from(day).unwrap_or(0))
        .unwrap_or(&"Thu");
    let (hour, minute, second) = (version / 3600 % 24, version / 60 % 60, version % 60);
    format!(
        "{name}, {:02} Jan 2026 {hour:02}:{minute:02}:{second:02} GMT",
        day + 1
    )
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 3), Compression::fast());
    // Writing to memory does not fail; an empty body would show in the tests.
    encoder
        .write_all(body)
        .and_then(|()| encoder.finish())
        .unwrap_or_default()
}

/// The body in chunks of several sizes.
fn chunked(body: &[u8], draw: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() + 128);
    let size = CHUNK_BYTES / (1 + usize::try_from(draw % 5).unwrap_or(0));
    for chunk in body.chunks(size) {
        out.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}
