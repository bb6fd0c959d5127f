//! The bytes of a copy on their way to a client: small ones from memory, large ones from a file, a piece
//! at a time, so that a hundred slow clients cost no memory and hold no thread.

use std::io::{self, Read, Write};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use futures_util::stream;
use teia_base::{Chunks, PayloadReader};

/// Larger ones wait in a file.
const IN_MEMORY: usize = 1 << 20;
/// Bytes that are read at once.
const PIECE: usize = 128 << 10;

/// What is sent.
#[derive(Debug)]
pub(crate) enum Content {
    /// The whole of it.
    Memory(Bytes),
    /// The first bytes of what lies in a file that has no name: so many.
    File(PayloadReader, u64),
}

impl Content {
    /// Puts what is large aside. Where there is no place for that, it stays in memory.
    pub(crate) fn new(bytes: Bytes) -> Self {
        if bytes.len() <= IN_MEMORY {
            return Self::Memory(bytes);
        }
        let len = bytes.len() as u64;
        let aside = || -> io::Result<PayloadReader> {
            let mut file = tempfile::tempfile()?;
            file.write_all(&bytes)?;
            let body = teia_base::Body::File {
                file: Arc::new(file),
                len,
            };
            Ok(body.payload_reader(Arc::new(Chunks::whole(len))))
        };
        match aside() {
            Ok(reader) => Self::File(reader, len),
            Err(error) => {
                tracing::warn!(%error, "a large copy stays in memory while it is sent");
                Self::Memory(bytes)
            }
        }
    }

    /// How many bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::File(_, len) => *len,
        }
    }

    pub(crate) fn into_body(self) -> Body {
        let (reader, len) = match self {
            Self::Memory(bytes) => return Body::from(bytes),
            Self::File(reader, len) => (reader, len),
        };
        Body::from_stream(stream::unfold(
            Some((reader, len)),
            async |state: Option<(PayloadReader, u64)>| {
                let (reader, left) = state.filter(|(_, left)| *left > 0)?;
                let read = tokio::task::spawn_blocking(move || next_piece(reader, left)).await;
                match read.unwrap_or_else(|error| Err(io::Error::other(error))) {
                    Ok((piece, reader)) => {
                        let left = left - piece.len() as u64;
                        Some((Ok(piece), Some((reader, left))))
                    }
                    Err(error) => Some((Err(error), None)),
                }
            },
        ))
    }
}

/// At most `left` bytes, which are to come: fewer are an error.
fn next_piece(mut reader: PayloadReader, left: u64) -> io::Result<(Bytes, PayloadReader)> {
    let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    Ok((bytes.into(), reader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_put_aside_comes_out_as_it_was() {
        for length in [0, 5, IN_MEMORY, IN_MEMORY + 1, 3 * IN_MEMORY + 77] {
            let bytes: Vec<u8> = (0..length)
                .map(|n| u8::try_from(n % 251).unwrap())
                .collect();
            let content = Content::new(bytes.clone().into());
            assert_eq!(content.len(), length as u64);
            assert_eq!(
                matches!(content, Content::File(..)),
                length > IN_MEMORY,
                "{length}"
            );
            let sent = axum::body::to_bytes(content.into_body(), usize::MAX).await;
            assert_eq!(sent.unwrap(), bytes);
        }
    }
}
