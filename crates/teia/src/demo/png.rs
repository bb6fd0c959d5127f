//! A PNG encoder for 8-bit RGB: signature, IHDR, one IDAT, IEND. Every row uses the `Up` filter.

use std::io::Write;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};

/// The PNG of an image of this width; `pixels` are its rows, three bytes a pixel.
pub(super) fn encode(width: u32, pixels: &[u8]) -> Vec<u8> {
    let row_bytes = width as usize * 3;
    let rows: Vec<&[u8]> = pixels.chunks_exact(row_bytes.max(1)).collect();
    let height = u32::try_from(rows.len()).unwrap_or(u32::MAX);

    let mut header = Vec::with_capacity(13);
    header.extend(width.to_be_bytes());
    header.extend(height.to_be_bytes());
    // Eight bits, RGB, the one compression, the one filter method, not interlaced.
    header.extend([8, 2, 0, 0, 0]);

    let mut above = vec![0; row_bytes];
    let mut filtered = Vec::with_capacity(pixels.len() + rows.len());
    for row in rows {
        filtered.push(2);
        filtered.extend(
            row.iter()
                .zip(&above)
                .map(|(byte, up)| byte.wrapping_sub(*up)),
        );
        above.copy_from_slice(row);
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(&filtered);
    let data = encoder.finish().and_then(|data| written.map(|()| data));
    let data = data.expect("writing to memory does not fail");

    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut png, *b"IHDR", &header);
    chunk(&mut png, *b"IDAT", &data);
    chunk(&mut png, *b"IEND", &[]);
    png
}

fn chunk(png: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).expect("the demo's pictures are small");
    let mut crc = Crc::new();
    crc.update(&kind);
    crc.update(data);
    png.extend(length.to_be_bytes());
    png.extend(kind);
    png.extend_from_slice(data);
    png.extend(crc.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_come_back() {
        use std::io::Read;
        let pixels: Vec<u8> = (0..2 * 3 * 3).collect();
        let png = encode(2, &pixels);
        assert_eq!(&png[16..24], &[0, 0, 0, 2, 0, 0, 0, 3]);
        let data = &png[8 + 25 + 8..];
        let mut rows = Vec::new();
        flate2::read::ZlibDecoder::new(data)
            .read_to_end(&mut rows)
            .unwrap();
        assert_eq!(
            rows,
            [
                2, 0, 1, 2, 3, 4, 5, 2, 6, 6, 6, 6, 6, 6, 2, 6, 6, 6, 6, 6, 6
            ]
        );
    }
}
