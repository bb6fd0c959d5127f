//! One request and its answer on an HTTP/1 connection.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};

use bytes::Bytes;
use teia_base::{
    Beyond, Body, ChunkFault, ChunkReader, Flags, Head, MediaType, Outcome, Protocol, Request,
    Response,
};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, timeout_at};
use tokio_util::io::poll_read_buf;

use super::framing::{Framing, Plan, plan};
use super::head::{HeadLimits, HeadReader, ParsedHead};
use crate::answer::{Answer, Appetite, BODY_SHORT, Class, short_by};
use crate::bandwidth::Bandwidth;
use crate::config::FetchConfig;
use crate::fault::{CLOSED_BEFORE_ANSWER, Fault};
use crate::intake::{Intake, SpoolRules};
use crate::patience::{Limit, Patience};
use crate::stream::Stream;

/// Bytes kept of what came where no head could be read.
const JUNK_BYTES: usize = 1024;

/// What an exchange needs beside its connection.
#[derive(Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) config: &'a FetchConfig,
    pub(crate) spool: &'a SpoolRules,
    pub(crate) bandwidth: &'a Bandwidth,
}

/// Why reading stopped.
enum Cut {
    Time(Limit),
    Broken(io::Error),
    Ended,
}

/// Sends a request head and reads the answer; `hint` is about how many bytes it may have.
pub(crate) async fn exchange(
    stream: &mut Stream,
    request: &Request,
    request_head: &[u8],
    setting: &Setting<'_>,
    patience: &mut Patience,
    hint: usize,
) -> Answer {
    let mut reading = Reading {
        intake: Intake::new(setting.spool, hint),
        stream,
        setting,
        patience,
        first_byte: None,
        sent: Instant::now(),
    };
    let result = match reading.send(request_head).await {
        Ok(()) => reading.head().await,
        Err(fault) => Err(fault),
    };
    match result {
        Ok((head, plan)) => reading.body(request, head, plan).await,
        Err(fault) => reading.no_head(fault),
    }
}

struct Reading<'a> {
    stream: &'a mut Stream,
    setting: &'a Setting<'a>,
    patience: &'a mut Patience,
    intake: Intake,
    sent: Instant,
    first_byte: Option<Instant>,
}

impl Reading<'_> {
    async fn send(&mut self, request_head: &[u8]) -> Result<(), Fault> {
        self.patience.request_sent();
        self.sent = Instant::now();
        let write = async {
            self.stream.write_all(request_head).await?;
            self.stream.flush().await
        };
        match timeout_at(self.patience.next(), write).await {
            // A server may answer and close before it has read all; its answer counts.
            Ok(Ok(()) | Err(_)) => Ok(()),
            Err(_) => Err(Limit::FirstByte.into()),
        }
    }

    /// Reads once more into the intake, waiting as long as patience lasts.
    async fn read(&mut self) -> Result<usize, Cut> {
        let (stream, patience, buffer) =
            (&mut *self.stream, &mut *self.patience, self.intake.buffer());
        let read = poll_fn(|cx| {
            if let Poll::Ready(read) = poll_read_buf(Pin::new(&mut *stream), cx, buffer) {
                return Poll::Ready(match read {
                    Ok(0) => Err(Cut::Ended),
                    Ok(len) => Ok(len),
                    Err(error) => Err(Cut::Broken(error)),
                });
            }
            let limit = ready!(patience.poll(cx, || stream.has_bytes_waiting()));
            Poll::Ready(Err(Cut::Time(limit)))
        })
        .await?;
        self.patience.received(read);
        if self.first_byte.is_none() {
            self.first_byte = Some(Instant::now());
        }
        self.patience
            .forgive(self.setting.bandwidth.spend(read).await);
        Ok(read)
    }

    /// Reads the head of the final answer, past interim ones.
    async fn head(&mut self) -> Result<(ParsedHead, Plan), Fault> {
        let config = self.setting.config;
        let limits = HeadLimits {
            bytes: usize::try_from(config.headers_bytes).unwrap_or(usize::MAX),
            fields: config.headers_count,
        };
        let mut interim = 0;
        loop {
            let head = self.one_head(limits).await?;
            match head.status {
                101 => return Err(Fault::invalid("http_bad_status_line")),
                100..200 if interim == config.interim_max => {
                    return Err(Fault::invalid("http_interim_flood"));
                }
                100..200 => {
                    interim += 1;
                    self.intake.skip(head.len);
                }
                _ => {
                    let plan = plan(&head, self.intake.bytes()).map_err(Fault::invalid)?;
                    self.intake.head_ends(head.len);
                    return Ok((head, plan));
                }
            }
        }
    }

    async fn one_head(&mut self, limits: HeadLimits) -> Result<ParsedHead, Fault> {
        let mut reader = HeadReader::new(limits);
        loop {
            if let Some(head) = reader.read(self.intake.bytes()).map_err(Fault::invalid)? {
                return Ok(head);
            }
            self.intake.room_for_head();
            match self.read().await {
                Ok(_) => {}
                Err(Cut::Time(limit)) => return Err(limit.into()),
                // An interim answer is one: who sent it has read the request.
                Err(Cut::Ended) if self.first_byte.is_none() => {
                    return Err(Fault::new(Outcome::CONNECT_FAILED, CLOSED_BEFORE_ANSWER));
                }
                Err(Cut::Ended) => {
                    return Err(Fault::new(Outcome::CONNECT_FAILED, "closed_in_head"));
                }
                Err(Cut::Broken(error)) => {
                    let is_unanswered = self.first_byte.is_none();
                    return Err(Fault::connect(&error).before_answer_if(is_unanswered));
                }
            }
        }
    }

    /// The answer where no head could be read.
    fn no_head(self, fault: Fault) -> Answer {
        let came = self.intake.bytes();
        let fault = if is_http2(came) {
            Fault::new(Outcome::H2_PROTOCOL, "http2_not_agreed")
        } else {
            fault
        };
        Answer {
            junk: Bytes::copy_from_slice(&came[..came.len().min(JUNK_BYTES)]),
            first_byte: self
                .first_byte
                .map_or(Instant::now(), |at| at)
                .duration_since(self.sent),
            ..Answer::failed(fault, Protocol::Http11)
        }
    }

    async fn body(mut self, request: &Request, head: ParsedHead, plan: Plan) -> Answer {
        let length = if let Framing::Length(length) = plan.framing {
            Some(length)
        } else {
            None
        };
        let media_type = media_type(&head, self.intake.bytes());
        let class = Class::of(media_type.as_ref(), request, self.setting.config);
        let limit = class.wire_bytes;
        self.patience.body_begins(class.more_time);
        let end = match Appetite::of(request, head.status, media_type.as_ref(), length, limit) {
            Err(fault) => End {
                fault: Some(fault),
                // Nothing is lost if the unwanted body is here already.
                whole: length.is_some_and(|length| length == self.intake.body_len()),
                ..End::at(0)
            },
            Ok(appetite) => match plan.framing {
                Framing::Empty => End {
                    whole: self.intake.body_len() == 0,
                    ..End::at(0)
                },
                Framing::Length(length) => self.by_length(length, appetite).await,
                Framing::Chunked => self.by_chunks(appetite, limit, media_type.as_ref()).await,
                Framing::Close => self.by_close(appetite).await,
            },
        };
        self.finish(head, plan, end).await
    }

    async fn by_length(&mut self, length: u64, appetite: Appetite) -> End {
        let wanted = length.min(appetite.bytes);
        loop {
            let have = self.intake.body_len();
            if have >= wanted {
                let cut = length > wanted;
                return End {
                    whole: !cut && have == wanted,
                    truncated: cut.then_some("length"),
                    ..End::at(wanted)
                };
            }
            if let Err(stop) = self.more(Some(wanted - have)).await {
                return stop.into_end(have);
            }
        }
    }

    async fn by_close(&mut self, appetite: Appetite) -> End {
        loop {
            let have = self.intake.body_len();
            if have > appetite.bytes {
                return End::beyond(appetite, appetite.bytes);
            }
            match self.more(None).await {
                Ok(()) => {}
                Err(Stop::Cut(Cut::Ended)) => return End::at(have),
                Err(Stop::Cut(Cut::Broken(error)))
                    if error.kind() == io::ErrorKind::UnexpectedEof =>
                {
                    return End {
                        note: Some("tls_close_missing"),
                        ..End::at(have)
                    };
                }
                // Nobody said that more would come: what came is the page.
                Err(Stop::Cut(Cut::Time(_))) => {
                    return End {
                        truncated: Some("time"),
                        ..End::at(have)
                    };
                }
                Err(stop) => return stop.into_end(have),
            }
        }
    }

    async fn by_chunks(
        &mut self,
        appetite: Appetite,
        wire_limit: u64,
        media_type: Option<&MediaType>,
    ) -> End {
        let trailer_limit = self.setting.config.headers_bytes;
        let mut chunks = ChunkReader::new(usize::try_from(trailer_limit).unwrap_or(usize::MAX));
        let mut seen = 0;
        let end = loop {
            match chunks.advance(self.intake.body_from(seen)) {
                Ok(used) => seen += used as u64,
                Err(fault) => break End::bad_chunks(fault, self.intake.body_len()),
            }
            if !self.intake.room_for_chunks(chunks.chunks().memory()) {
                break End::bad_chunks(ChunkFault::TooMany, seen);
            }
            if chunks.is_done() {
                break End {
                    whole: seen == self.intake.body_len(),
                    ..End::at(seen)
                };
            }
            if chunks.chunks().payload() > appetite.bytes || seen > wire_limit {
                break End::beyond(appetite, seen);
            }
            // A known rest of a chunk is read at once; a little more brings the next size line.
            let expected = match chunks.expected() {
                0 => None,
                left => Some(left.min(wire_limit) + 64),
            };
            if let Err(stop) = self.more(expected.filter(|&left| left > 4096)).await {
                let endless = media_type.is_some_and(|media_type| {
                    matches!(
                        media_type.essence(),
                        "multipart/x-mixed-replace" | "text/event-stream"
                    )
                });
                let has_begun = seen == 0 || !chunks.is_unframed();
                break match stop {
                    Stop::Cut(Cut::Time(_)) if endless && has_begun => End {
                        truncated: Some("time"),
                        ..End::at(seen)
                    },
                    stop => stop.into_end(seen),
                };
            }
        };
        if chunks.is_unframed() {
            // Whatever the head says, this is not framed as chunks. Who reads an archive takes all of such a body for its
            // payload, so it is that here, too; and nothing of a page has come, however it ended.
            return End {
                short: end.short.map(|_| "http_bad_chunk"),
                ..end
            };
        }
        End {
            chunks: Some(chunks),
            ..end
        }
    }

    /// Makes room and reads once.
    async fn more(&mut self, expected: Option<u64>) -> Result<(), Stop> {
        self.intake.make_room(expected).await.map_err(Stop::Disk)?;
        self.read().await.map(|_| ()).map_err(Stop::Cut)
    }

    async fn finish(self, head: ParsedHead, plan: Plan, end: End) -> Answer {
        let ended = Instant::now();
        let first_byte = self.first_byte.unwrap_or(ended);
        let mut fault = end.fault;
        let refused = matches!(
            fault.as_ref().map(|fault| fault.outcome),
            Some(Outcome::SIZE_EXCEEDED | Outcome::TYPE_NOT_ACCEPTED)
        );
        let len = if refused { 0 } else { end.len };
        let (head_bytes, body) = match self.intake.finish(len).await {
            Ok(parts) => parts,
            Err(error) => return Answer::failed(Fault::system("spool", &error), Protocol::Http11),
        };
        let body = if refused { Body::empty() } else { body };
        let mut flags = Flags::default();
        // We never ask for a part: one that comes all the same is no whole page.
        let partial = (head.status == 206).then_some("partial");
        if end.truncated.or(partial).is_some() {
            flags.add(Flags::TRUNCATED);
        }
        if let Some(name) = end.short {
            flags.add(Flags::BODY_SHORT);
            fault = fault.or_else(|| short_by(head.status, name));
        }
        let note = end
            .truncated
            .or(end.note)
            .or(end.short.map(|_| "disconnect"))
            .or(partial)
            .or(plan.odd.then_some("http_framing_conflict"));
        let reusable = plan.keep_alive && end.whole && end.truncated.is_none();
        Answer {
            outcome: fault
                .as_ref()
                .map_or(Outcome::http(head.status), |fault| fault.outcome),
            detail: fault
                .as_mut()
                .and_then(|fault| fault.detail.take())
                .or(note.map(Into::into)),
            protocol: if head.minor == 0 {
                Protocol::Http10
            } else {
                Protocol::Http11
            },
            response: Some(Response {
                status: head.status,
                head: Head::new(head_bytes, head.fields),
                chunks: end
                    .chunks
                    .filter(|_| !refused)
                    .map(|chunks| Arc::new(chunks.into_chunks())),
                body,
            }),
            junk: Bytes::new(),
            flags,
            first_byte: first_byte.duration_since(self.sent),
            body: ended.duration_since(first_byte),
            reusable,
            of_stream: false,
        }
    }
}

/// Why a body could not be read on.
enum Stop {
    Cut(Cut),
    Disk(io::Error),
}

impl Stop {
    /// The end of a body of which `len` bytes came, and whose end was announced.
    fn into_end(self, len: u64) -> End {
        match self {
            Self::Cut(Cut::Time(limit)) => End {
                fault: Some(limit.into()),
                ..End::at(len)
            },
            Self::Cut(Cut::Ended | Cut::Broken(_)) => End {
                short: Some(BODY_SHORT),
                ..End::at(len)
            },
            Self::Disk(error) => End {
                fault: Some(Fault::system("spool", &error)),
                ..End::at(len)
            },
        }
    }
}

/// How a body ended.
struct End {
    /// Bytes that belong to it.
    len: u64,
    chunks: Option<ChunkReader>,
    /// It ended where it said, and nothing came after it.
    whole: bool,
    truncated: Option<&'static str>,
    /// Its end was announced and did not come; the name of that.
    short: Option<&'static str>,
    note: Option<&'static str>,
    fault: Option<Fault>,
}

impl End {
    fn at(len: u64) -> Self {
        Self {
            len,
            chunks: None,
            whole: false,
            truncated: None,
            short: None,
            note: None,
            fault: None,
        }
    }

    fn beyond(appetite: Appetite, len: u64) -> Self {
        match appetite.beyond {
            Beyond::Refused => Self {
                fault: Some(Outcome::SIZE_EXCEEDED.into()),
                ..Self::at(len)
            },
            Beyond::Truncated => Self {
                truncated: Some("length"),
                ..Self::at(len)
            },
        }
    }

    fn bad_chunks(fault: ChunkFault, len: u64) -> Self {
        match fault {
            ChunkFault::Bad => Self {
                fault: Some(Fault::invalid("http_bad_chunk")),
                ..Self::at(len)
            },
            ChunkFault::Trailers => Self {
                truncated: Some("http_headers_too_large"),
                ..Self::at(len)
            },
            ChunkFault::TooMany => Self {
                truncated: Some("length"),
                ..Self::at(len)
            },
        }
    }
}

/// Whether the server begins as HTTP/2 does: settings on stream 0, six bytes each (RFC 9113, 6.5).
fn is_http2(came: &[u8]) -> bool {
    matches!(came, [0, 0, len, 4, 0, 0, 0, 0, 0, ..] if len % 6 == 0)
}

fn media_type(head: &ParsedHead, bytes: &[u8]) -> Option<MediaType> {
    let value = head.all(bytes, b"content-type").next()?;
    MediaType::parse(&String::from_utf8_lossy(value))
}
