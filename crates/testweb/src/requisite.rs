//! Requisites: what a page needs beside its text. Style sheet, script and images.

use std::io::Write as _;

use flate2::{Compression, Crc, write::ZlibEncoder};

use crate::place::{Place, push};
use crate::web::Web;

impl Web {
    pub(crate) fn write_style(&self, host: u32, out: &mut Vec<u8>) {
        push(
            out,
            &["body { font: 1em/1.5 serif; margin: 2em auto; max-width: 40em }\n"],
        );
        let mut selector = ["h1", "nav"].into_iter();
        self.each_link(host, Place::Style, |link| {
            push(
                out,
                &[selector.next().unwrap_or("p"), " { background: url(\""],
            );
            self.write_href(self.original(host), link, "&", out);
            push(out, &["\") no-repeat }\n"]);
        });
    }

    pub(crate) fn write_script(&self, host: u32, out: &mut Vec<u8>) {
        push(
            out,
            &[
                "document.title += ' *';\n// ",
                &self.marker(host, Place::Script),
                "\n",
            ],
        );
    }
}

/// A PNG of 8 by 8 grey points, another one for each draw.
pub(crate) fn png(draw: u64) -> Vec<u8> {
    let mut rows = Vec::with_capacity(72);
    for row in draw.to_be_bytes() {
        rows.push(0);
        rows.extend((0..8).map(|column| row.rotate_left(column)));
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail; a lost image would show in the tests.
    let packed = packed
        .write_all(&rows)
        .and_then(|()| packed.finish())
        .unwrap_or_default();
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut out, b"IHDR", &[0, 0, 0, 8, 0, 0, 0, 8, 8, 0, 0, 0, 0]);
    chunk(&mut out, b"IDAT", &packed);
    chunk(&mut out, b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    out.extend_from_slice(&u32::try_from(content.len()).unwrap_or(0).to_be_bytes());
    out.extend_from_slice(name);
    out.extend_from_slice(content);
    let mut crc = Crc::new();
    crc.update(name);
    crc.update(content);
    out.extend_from_slice(&crc.sum().to_be_bytes());
}
