//! A connection that speaks HTTP/2, and one request at a time on it.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, ready};

use bytes::Bytes;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use teia_base::{Beyond, Body, Flags, MediaType, Outcome, Protocol, Request, Response};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};

use super::head::written_out;
use super::meter::{Meter, Reading};
use crate::answer::{Answer, Appetite, Class, body_short};
use crate::config::FetchConfig;
use crate::fault::Fault;
use crate::h1::Setting;
use crate::intake::Intake;
use crate::patience::{Limit, Patience};
use crate::request_head::{RequestFields, host_field, is_secret};
use crate::stream::Stream;

/// Bytes that a server may send ahead of our reading.
const WINDOW: u32 = 1 << 20;
/// Decoded bytes of a head up to which the library hands it over, for us to judge: it has one
/// name for every head that it refuses. (Decoded bytes are shared, and cost little memory.)
const LIST_BYTES: u64 = 16 << 20;
/// The fewest bytes on the wire that can unpack to a list beyond that: one entry that fills the
/// table of 4 KiB, written in five bits a character, and a reference to it for each 4 KiB.
const BOMB_BYTES: u64 = 4096 * 5 / 8 + LIST_BYTES / 4096;
const TOO_LARGE: &str = "http_headers_too_large";

/// The detail of a request that the server sent away with its whole connection.
pub(crate) const GOAWAY: &str = "h2_goaway";

/// An open HTTP/2 connection. Its frames are moved by a task that ends with it.
pub(crate) struct Session {
    send: SendRequest<Bytes>,
    driver: AbortHandle,
    reading: Arc<Reading>,
}

impl Session {
    /// Exchanges settings by the deadline.
    pub(crate) async fn open(
        stream: Stream,
        config: &FetchConfig,
        deadline: Instant,
    ) -> Result<Self, Fault> {
        let reading = Arc::new(Reading::default());
        let meter = Meter::new(stream, Arc::clone(&reading));
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_header_list_size(list_limit(config))
            .max_concurrent_reset_streams(10)
            .max_local_error_reset_streams(Some(10));
        let (send, connection) = match timeout_at(deadline, builder.handshake(meter)).await {
            Ok(Ok(parts)) => parts,
            Ok(Err(error)) => return Err(fault(&error, &reading)),
            Err(_) => return Err(Limit::FirstByte.into()),
        };
        let driver = tokio::spawn(async move {
            // What goes wrong is told to the stream that was waiting for it.
            let _ = connection.await;
        });
        Ok(Self {
            send,
            driver: driver.abort_handle(),
            reading,
        })
    }

    /// Whether the connection still stands and takes requests, as far as we know.
    pub(crate) fn is_open(&self) -> bool {
        !self.driver.is_finished() && self.send.current_max_send_streams() > 0
    }

    /// Sends one request and reads its answer.
    pub(crate) async fn exchange(
        &mut self,
        request: &Request,
        fields: &RequestFields,
        setting: &Setting<'_>,
        patience: &mut Patience,
    ) -> Answer {
        patience.request_sent();
        self.reading.begin();
        let seen = self.reading.bytes();
        let sent = Instant::now();
        match self.head(request, fields, patience).await {
            Ok(response) => {
                let first_byte = Instant::now();
                let mut answer = self.body(request, response, setting, patience).await;
                answer.first_byte = first_byte - sent;
                answer.body = first_byte.elapsed();
                answer.reusable &= self.is_open();
                answer
            }
            Err(NoHead { fault, of_stream }) => {
                // Who says good-bye says which requests were read.
                let is_sent_away = fault.detail.as_deref() == Some(GOAWAY);
                let is_unanswered = self.reading.bytes() == seen && !is_sent_away;
                Answer {
                    first_byte: sent.elapsed(),
                    reusable: of_stream && self.is_open(),
                    of_stream,
                    ..Answer::failed(fault.before_answer_if(is_unanswered), Protocol::H2)
                }
            }
        }
    }

    async fn head(
        &mut self,
        request: &Request,
        fields: &RequestFields,
        patience: &mut Patience,
    ) -> Result<http::Response<RecvStream>, NoHead> {
        let head = request_head(request, fields).ok_or(Fault::from(Outcome::URL_INVALID))?;
        let ready = self.send.clone().ready();
        let mut send = match timeout_at(patience.next(), ready).await {
            Ok(Ok(send)) => send,
            Ok(Err(error)) => return Err(fault(&error, &self.reading).into()),
            Err(_) => return Err(Fault::from(Limit::FirstByte).into()),
        };
        let (mut response, _) = send
            .send_request(head, true)
            .map_err(|error| NoHead::from(fault(&error, &self.reading)))?;
        self.wait_for_head(&mut response, patience).await
    }

    async fn wait_for_head(
        &self,
        response: &mut ResponseFuture,
        patience: &mut Patience,
    ) -> Result<http::Response<RecvStream>, NoHead> {
        let seen = self.reading.bytes();
        poll_fn(|cx| {
            if let Poll::Ready(response) = Pin::new(&mut *response).poll(cx) {
                return Poll::Ready(response.map_err(|error| {
                    let fault = fault(&error, &self.reading);
                    // What we ourselves refuse of one stream says nothing of the others (RFC 9113, 5.4.2). For a head that
                    // it cannot take in at all, as with a capital in a name, the library ends the connection as well.
                    let is_of_head = error.is_go_away() && self.reading.block_bytes() > 0;
                    let of_stream = fault.outcome == Outcome::H2_PROTOCOL
                        && error.is_library()
                        && (error.is_reset() || is_of_head);
                    NoHead { fault, of_stream }
                }));
            }
            let limit = ready!(patience.poll(cx, || self.reading.bytes() > seen));
            Poll::Ready(Err(Fault::from(limit).into()))
        })
        .await
    }

    async fn body(
        &self,
        request: &Request,
        response: http::Response<RecvStream>,
        setting: &Setting<'_>,
        patience: &mut Patience,
    ) -> Answer {
        let (parts, stream) = response.into_parts();
        let status = parts.status.as_u16();
        let mut answer = Answer::failed(Outcome::http(status).into(), Protocol::H2);
        if is_too_large(&parts.headers, setting.config) {
            return Answer::failed(Fault::invalid(TOO_LARGE), Protocol::H2);
        }
        let text = |name| {
            parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let length = text(http::header::CONTENT_LENGTH).and_then(|value| value.parse().ok());
        let media_type = text(http::header::CONTENT_TYPE).and_then(MediaType::parse);
        let class = Class::of(media_type.as_ref(), request, setting.config);
        let limit = class.wire_bytes;
        let head = written_out(&parts);
        patience.body_begins(class.more_time);
        let body = match Appetite::of(request, status, media_type.as_ref(), length, limit) {
            Ok(appetite) => {
                let mut gathering = Gathering {
                    intake: Intake::new(setting.spool, 16 << 10),
                    stream,
                    setting,
                };
                let end = gathering.gather(appetite, length, patience).await;
                self.settle(end, &mut answer);
                match gathering.intake.finish(appetite.bytes).await {
                    Ok((_, body)) => body,
                    Err(error) => {
                        return Answer::failed(Fault::system("spool", &error), Protocol::H2);
                    }
                }
            }
            Err(fault) => {
                (answer.outcome, answer.detail, answer.reusable) =
                    (fault.outcome, fault.detail, true);
                Body::empty()
            }
        };
        let body = if answer.outcome == Outcome::SIZE_EXCEEDED {
            Body::empty()
        } else {
            body
        };
        if status == 206 {
            // We never ask for a part: one that comes all the same is no whole page.
            answer.flags.add(Flags::TRUNCATED);
            answer.detail.get_or_insert("partial".into());
        }
        answer.response = Some(Response {
            status,
            head,
            body,
            chunks: None,
        });
        answer
    }

    fn settle(&self, end: End, answer: &mut Answer) {
        match end {
            End::Whole => answer.reusable = true,
            End::Trailers => {
                answer.flags.add(Flags::TRUNCATED);
                answer.detail = Some(TOO_LARGE.into());
            }
            End::Beyond(Beyond::Refused) => answer.outcome = Outcome::SIZE_EXCEEDED,
            End::Beyond(Beyond::Truncated) => {
                answer.flags.add(Flags::TRUNCATED);
                answer.detail = Some("length".into());
            }
            End::Late(limit) => {
                let fault = Fault::from(limit);
                (answer.outcome, answer.detail) = (fault.outcome, fault.detail);
            }
            End::Broken(_) if self.reading.is_flooded() => answer.outcome = Outcome::H2_FLOOD,
            End::Broken(error)
                if error.reason() == Some(Reason::ENHANCE_YOUR_CALM) && error.is_library() =>
            {
                answer.outcome = Outcome::H2_FLOOD;
            }
            End::Broken(_) => {
                answer.flags.add(Flags::BODY_SHORT);
                answer.detail = Some("disconnect".into());
                let status = u16::try_from(answer.outcome.number()).unwrap_or_default();
                if let Some(fault) = body_short(status) {
                    (answer.outcome, answer.detail) = (fault.outcome, fault.detail);
                }
            }
            End::Disk(error) => {
                let fault = Fault::system("spool", &error);
                (answer.outcome, answer.detail) = (fault.outcome, fault.detail);
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("open", &self.is_open())
            .finish_non_exhaustive()
    }
}

/// Why no head came.
struct NoHead {
    fault: Fault,
    /// It is the fault of one stream.
    of_stream: bool,
}

impl From<Fault> for NoHead {
    fn from(fault: Fault) -> Self {
        Self {
            fault,
            of_stream: false,
        }
    }
}

/// How a body ended.
enum End {
    Whole,
    /// The whole body, and behind it more fields than a head may have.
    Trailers,
    Beyond(Beyond),
    Late(Limit),
    Broken(h2::Error),
    Disk(std::io::Error),
}

struct Gathering<'a> {
    intake: Intake,
    stream: RecvStream,
    setting: &'a Setting<'a>,
}

impl Gathering<'_> {
    async fn gather(
        &mut self,
        appetite: Appetite,
        length: Option<u64>,
        patience: &mut Patience,
    ) -> End {
        loop {
            let data = match self.next(patience).await {
                Ok(Some(data)) => data,
                Ok(None) => return self.end().await,
                Err(end) => return end,
            };
            let have = self.intake.body_len();
            let announced = length.map(|length| length.saturating_sub(have).min(appetite.bytes));
            let room = announced.unwrap_or(0).max(data.len() as u64);
            if let Err(error) = self.intake.make_room(Some(room)).await {
                return End::Disk(error);
            }
            self.intake.buffer().extend_from_slice(&data);
            if self.intake.body_len() > appetite.bytes {
                return End::Beyond(appetite.beyond);
            }
            patience.forgive(self.setting.bandwidth.spend(data.len()).await);
            if let Err(error) = self.stream.flow_control().release_capacity(data.len()) {
                return End::Broken(error);
            }
        }
    }

    /// What stands behind the body; it came with the end of it.
    async fn end(&mut self) -> End {
        match poll_fn(|cx| self.stream.poll_trailers(cx)).await {
            Ok(Some(trailers)) if is_too_large(&trailers, self.setting.config) => End::Trailers,
            Ok(_) => End::Whole,
            Err(error) => End::Broken(error),
        }
    }

    async fn next(&mut self, patience: &mut Patience) -> Result<Option<Bytes>, End> {
        let stream = &mut self.stream;
        let data = poll_fn(|cx| match stream.poll_data(cx) {
            Poll::Ready(Some(Ok(data))) => Poll::Ready(Ok(Some(data))),
            Poll::Ready(Some(Err(error))) => Poll::Ready(Err(End::Broken(error))),
            Poll::Ready(None) => Poll::Ready(Ok(None)),
            Poll::Pending => patience
                .poll(cx, || false)
                .map(|limit| Err(End::Late(limit))),
        })
        .await?;
        patience.received(data.as_ref().map_or(0, Bytes::len));
        Ok(data)
    }
}

fn request_head(request: &Request, fields: &RequestFields) -> Option<http::Request<()>> {
    let url = &request.url;
    let target = format!(
        "{}://{}{}",
        url.scheme(),
        host_field(url),
        &url[url::Position::BeforePath..url::Position::AfterQuery]
    );
    let mut builder = http::Request::get(target).version(http::Version::HTTP_2);
    for (name, value) in fields.iter() {
        let mut value = http::HeaderValue::from_str(value)
            .or_else(|_| http::HeaderValue::from_bytes(value.as_bytes()))
            .ok()?;
        // Neither logged by the library nor remembered by header compression.
        value.set_sensitive(is_secret(name));
        builder = builder.header(name, value);
    }
    builder.body(()).ok()
}

/// The bound that the library holds a head to; never below our own.
fn list_limit(config: &FetchConfig) -> u32 {
    u32::try_from(config.headers_bytes.max(LIST_BYTES)).unwrap_or(u32::MAX)
}

/// Whether a head breaks our bounds; its size is counted as RFC 9113, 6.5.2 does.
fn is_too_large(headers: &http::HeaderMap, config: &FetchConfig) -> bool {
    let size = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.as_str().len() + value.len() + 32) as u64
    };
    headers.len() > config.headers_count
        || headers.iter().map(size).sum::<u64>() > config.headers_bytes
}

fn fault(error: &h2::Error, reading: &Reading) -> Fault {
    let reason = error.reason();
    let text = error.to_string();
    if text.contains("header_list_way_too_large")
        || (error.is_library()
            && error.is_reset()
            && reason == Some(Reason::PROTOCOL_ERROR)
            && reading.block_bytes() >= BOMB_BYTES)
    {
        return Fault::invalid(TOO_LARGE);
    }
    if reading.is_flooded() || (error.is_library() && reason == Some(Reason::ENHANCE_YOUR_CALM)) {
        return Fault::new(Outcome::H2_FLOOD, text);
    }
    if error.is_remote() && error.is_go_away() {
        return Fault::new(Outcome::CONNECT_FAILED, GOAWAY);
    }
    let is_gone = error.is_io() || (error.is_remote() && reason == Some(Reason::REFUSED_STREAM));
    let outcome = if is_gone {
        Outcome::CONNECT_FAILED
    } else {
        Outcome::H2_PROTOCOL
    };
    Fault::new(outcome, text)
}
