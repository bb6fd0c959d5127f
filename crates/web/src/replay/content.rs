//! The bytes of a copy on their way to a client: small ones from memory, large ones from a file, a piece
//! at a time, so that a hundred slow clients cost no memory and hold no thread.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use futures_util::stream;

/// Larger ones wait in a file.
const IN_MEMORY: usize = 1 << 20;
/// Bytes that are read at once.
const PIECE: u64 = 128 << 10;

/// What is sent.
#[derive(Debug)]
pub(crate) enum Content {
    /// The whole of it.
    Memory(Bytes),
    /// These parts of a file that has no name, one after the other.
    File(Arc<File>, Vec<Range<u64>>),
}

impl Content {
    /// Puts what is large aside. Where there is no place for that, it stays in memory.
    pub(crate) fn new(bytes: Bytes) -> Self {
        if bytes.len() <= IN_MEMORY {
            return Self::Memory(bytes);
        }
        let aside = || -> io::Result<File> {
            let mut file = tempfile::tempfile()?;
            file.write_all(&bytes)?;
            Ok(file)
        };
        match aside() {
            Ok(file) => {
                let whole = 0..bytes.len() as u64;
                Self::File(Arc::new(file), Vec::from([whole]))
            }
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
            Self::File(_, ranges) => ranges.iter().map(|range| range.end - range.start).sum(),
        }
    }

    pub(crate) fn into_body(self) -> Body {
        let (file, ranges) = match self {
            Self::Memory(bytes) => return Body::from(bytes),
            Self::File(file, ranges) => (file, ranges),
        };
        let pieces: Vec<Range<u64>> = ranges.into_iter().flat_map(pieces).collect();
        Body::from_stream(stream::unfold(
            (file, pieces.into_iter()),
            |(file, mut pieces)| async move {
                let piece = pieces.next()?;
                let source = Arc::clone(&file);
                let read = tokio::task::spawn_blocking(move || read(&source, &piece)).await;
                let read = read.unwrap_or_else(|error| Err(io::Error::other(error)));
                Some((read, (file, pieces)))
            },
        ))
    }
}

fn pieces(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let step = usize::try_from(PIECE).unwrap_or(usize::MAX);
    let end = range.end;
    range
        .step_by(step)
        .map(move |start| start..(start + PIECE).min(end))
}

fn read(file: &File, piece: &Range<u64>) -> io::Result<Bytes> {
    let length = usize::try_from(piece.end - piece.start).unwrap_or(0);
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, piece.start)?;
    Ok(bytes.into())
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
