//! A connection that serves one request at a time, whatever it speaks.

use std::net::SocketAddr;

use teia_base::{Certificate, Protocol, Request};

use crate::answer::Answer;
use crate::dial::Dialed;
use crate::fault::Fault;
use crate::h1::{self, Setting};
use crate::h2::Session;
use crate::patience::Patience;
use crate::request_head::RequestFields;
use crate::stream::Stream;

/// What an answer may hold before we know better.
const FIRST_HINT: usize = 16 << 10;

/// An open connection.
#[derive(Debug)]
pub(crate) struct Connection {
    speaks: Speaks,
    pub(crate) remote: Option<SocketAddr>,
    pub(crate) certificate: Certificate,
    /// About how many bytes the next answer may have: as many as the last.
    hint: usize,
}

#[derive(Debug)]
enum Speaks {
    Http1(Stream),
    Http2(Session),
}

impl Connection {
    /// Begins to speak on a new connection.
    pub(crate) async fn open(
        dialed: Dialed,
        setting: &Setting<'_>,
        patience: &Patience,
    ) -> Result<Self, Fault> {
        let Dialed {
            stream,
            remote,
            certificate,
            h2,
        } = dialed;
        let speaks = if h2 {
            Speaks::Http2(Session::open(stream, setting.config, patience.next()).await?)
        } else {
            Speaks::Http1(stream)
        };
        Ok(Self {
            speaks,
            remote,
            certificate,
            hint: FIRST_HINT,
        })
    }

    /// Whether an idle connection looks as if it could serve again.
    pub(crate) fn is_quiet(&mut self) -> bool {
        match &mut self.speaks {
            Speaks::Http1(stream) => stream.is_quiet(),
            Speaks::Http2(session) => session.is_open(),
        }
    }

    pub(crate) fn protocol(&self) -> Protocol {
        match self.speaks {
            Speaks::Http1(_) => Protocol::Http11,
            Speaks::Http2(_) => Protocol::H2,
        }
    }

    /// Sends one request and reads its answer.
    pub(crate) async fn exchange(
        &mut self,
        request: &Request,
        fields: &RequestFields,
        head: &[u8],
        setting: &Setting<'_>,
        patience: &mut Patience,
    ) -> Answer {
        match &mut self.speaks {
            Speaks::Http1(stream) => {
                let answer =
                    h1::exchange(stream, request, head, setting, patience, self.hint).await;
                if let Some(response) = &answer.response {
                    let len = response.head.as_bytes().len() as u64 + response.body.len();
                    self.hint = usize::try_from(len).unwrap_or(usize::MAX);
                }
                answer
            }
            Speaks::Http2(session) => session.exchange(request, fields, setting, patience).await,
        }
    }
}
