//! What a server does on a connection, step by step.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};

/// One step of an answer.
#[derive(Clone, Debug)]
pub enum Step {
    /// These bytes, at once.
    Say(Vec<u8>),
    /// These bytes, so many times.
    Repeat(Vec<u8>, usize),
    /// These bytes again and again, until the other side leaves.
    Endless(Vec<u8>),
    /// The same, with a pause between.
    Drip(Vec<u8>, Duration),
    /// Nothing for a while.
    Wait(Duration),
    /// Closes the connection.
    Close,
    /// Breaks the connection off (RST).
    Reset,
}

impl Step {
    /// Bytes to say at once.
    pub fn say(bytes: impl AsRef<[u8]>) -> Self {
        Self::Say(bytes.as_ref().to_vec())
    }

    /// Nothing, for longer than anyone waits.
    pub fn silence() -> Self {
        Self::Wait(Duration::from_secs(3600))
    }

    /// Does the step; an error ends the connection. `sent` counts the bytes that went out.
    pub(crate) async fn perform(
        &self,
        stream: &mut (impl AsyncWrite + Unpin),
        sent: &AtomicU64,
    ) -> io::Result<()> {
        match self {
            Self::Say(bytes) => write(stream, bytes, sent).await,
            Self::Repeat(bytes, times) => {
                for _ in 0..*times {
                    write(stream, bytes, sent).await?;
                }
                Ok(())
            }
            Self::Endless(bytes) => loop {
                write(stream, bytes, sent).await?;
            },
            Self::Drip(bytes, pause) => loop {
                write(stream, bytes, sent).await?;
                tokio::time::sleep(*pause).await;
            },
            Self::Wait(pause) => {
                tokio::time::sleep(*pause).await;
                Ok(())
            }
            Self::Close | Self::Reset => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

async fn write(
    stream: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    sent: &AtomicU64,
) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = stream.write(bytes).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        sent.fetch_add(written as u64, Ordering::Relaxed);
        bytes = &bytes[written..];
    }
    stream.flush().await
}
