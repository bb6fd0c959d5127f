//! The block of a record: its HTTP head in memory, its body in memory or spooled.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use teia_base::Body;

use super::http::head_len;
use super::input::Layer;

const MEMORY_BYTES: u64 = 1 << 20;
const MAX_HEAD_BYTES: usize = 256 << 10;

/// Takes `len` bytes. `None` where the stream ends before.
pub(crate) fn read_block(
    layer: &mut Layer,
    len: u64,
    is_http: bool,
) -> io::Result<Option<(Bytes, Body)>> {
    let mut head = Bytes::new();
    let mut first = Vec::new();
    if is_http {
        let want = len.min(MAX_HEAD_BYTES as u64);
        layer.by_ref().take(want).read_to_end(&mut first)?;
        if (first.len() as u64) < want {
            return Ok(None);
        }
        if let Some(end) = head_len(&first).or((want == len).then_some(first.len())) {
            let body = first.split_off(end);
            head = Bytes::from(std::mem::replace(&mut first, body));
        }
    }
    let left = len - head.len() as u64;
    let unread = left - first.len() as u64;
    if left <= MEMORY_BYTES {
        let taken = layer.by_ref().take(unread).read_to_end(&mut first)?;
        return Ok((taken as u64 == unread).then(|| (head, Body::from(first))));
    }
    let mut spool: File = tempfile::tempfile()?;
    spool.write_all(&first)?;
    let taken = io::copy(&mut layer.by_ref().take(unread), &mut spool)?;
    Ok((taken == unread).then(|| {
        (
            head,
            Body::File {
                file: Arc::new(spool),
                len: left,
            },
        )
    }))
}
