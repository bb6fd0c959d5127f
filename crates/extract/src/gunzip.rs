//! gzip files served as such: sitemaps, mostly.

use std::io::Read;

use flate2::bufread::MultiGzDecoder;

use crate::Limits;

/// Bytes that may come out before the ratio counts.
const FREE_BYTES: usize = 1 << 20;

/// What was inside, and whether that is all of it.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) body: Vec<u8>,
    pub(crate) complete: bool,
}

pub(crate) fn is_gzip(body: &[u8]) -> bool {
    body.starts_with(b"\x1f\x8b\x08")
}

/// Opens a gzip file as far as the limits allow; broken ones give what could be read.
pub(crate) fn open(file: &[u8], limits: &Limits) -> Opened {
    let most = limits
        .sitemap_bytes
        .min(FREE_BYTES.max(file.len().saturating_mul(limits.gzip_ratio)));
    let mut body = Vec::new();
    let read = MultiGzDecoder::new(file)
        .take(most as u64 + 1)
        .read_to_end(&mut body);
    let complete = read.is_ok() && body.len() <= most;
    body.truncate(most);
    Opened { body, complete }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn pack(body: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_bomb_stops_at_its_ratio() {
        let bomb = pack(&vec![b'a'; 8 << 20]);
        let limits = Limits {
            gzip_ratio: 10,
            ..Limits::default()
        };
        let opened = open(&bomb, &limits);
        assert!(!opened.complete);
        assert_eq!(opened.body.len(), FREE_BYTES.max(bomb.len() * 10));
    }

    #[test]
    fn members_are_joined_and_a_cut_file_gives_its_beginning() {
        let mut two = pack(b"ab");
        two.extend(pack(b"cd"));
        let opened = open(&two, &Limits::default());
        assert_eq!(
            (opened.body.as_slice(), opened.complete),
            (&b"abcd"[..], true)
        );
        let cut = open(&two[..two.len() - 4], &Limits::default());
        assert_eq!((cut.body.as_slice(), cut.complete), (&b"abcd"[..], false));
    }
}
