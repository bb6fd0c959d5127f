//! A connection's bytes, in the clear or under TLS.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// A connection that bytes go through.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Whether the other side has sent nothing and is still there, as it must be between answers.
    pub(crate) fn is_quiet(&mut self) -> bool {
        match self {
            Self::Plain(tcp) => {
                matches!(peek(tcp), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
            }
            Self::Tls(tls) => {
                let mut byte = [MaybeUninit::uninit(); 1];
                let mut buffer = ReadBuf::uninit(&mut byte);
                let mut context = Context::from_waker(Waker::noop());
                Pin::new(tls)
                    .poll_read(&mut context, &mut buffer)
                    .is_pending()
            }
        }
    }

    /// Whether bytes wait in the system that our own event loop may not have noticed yet.
    pub(crate) fn has_bytes_waiting(&self) -> bool {
        peek(self.tcp()).is_ok_and(|len| len > 0)
    }

    fn tcp(&self) -> &TcpStream {
        match self {
            Self::Plain(tcp) => tcp,
            Self::Tls(tls) => tls.get_ref().0,
        }
    }
}

/// Asks the system itself, past the event loop's memory of what was readable.
fn peek(tcp: &TcpStream) -> io::Result<usize> {
    socket2::SockRef::from(tcp).peek(&mut [MaybeUninit::uninit(); 1])
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_read(cx, buffer),
            Self::Tls(tls) => Pin::new(tls).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_write(cx, bytes),
            Self::Tls(tls) => Pin::new(tls).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_flush(cx),
            Self::Tls(tls) => Pin::new(tls).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(tcp) => Pin::new(tcp).poll_shutdown(cx),
            Self::Tls(tls) => Pin::new(tls).poll_shutdown(cx),
        }
    }
}
