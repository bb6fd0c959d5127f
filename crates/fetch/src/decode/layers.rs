//! Which codings a body wears, outermost last.

use teia_base::Head;

/// A content coding that we can undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
    /// Named in the head, unknown to us.
    Unknown,
}

/// The codings of all `Content-Encoding` fields together, in the order in which they were
/// applied; `Err` when there are more than `most`.
pub(super) fn layers(head: &Head, most: usize) -> Result<Vec<Layer>, ()> {
    let mut layers = Vec::new();
    for value in head.all("content-encoding") {
        for token in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
            let layer = match token.to_ascii_lowercase().as_slice() {
                b"" | b"identity" | b"none" => continue,
                b"gzip" | b"x-gzip" => Layer::Gzip,
                b"deflate" => Layer::Deflate,
                b"br" => Layer::Brotli,
                b"zstd" => Layer::Zstd,
                _ => Layer::Unknown,
            };
            if layers.len() == most {
                return Err(());
            }
            layers.push(layer);
        }
    }
    Ok(layers)
}
