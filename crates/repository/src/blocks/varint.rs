//! Numbers of one to ten bytes: seven bits each, the last byte without its top bit.

use super::error::Flaw;

/// Appends a number.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7F) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7F) as u8);
}

/// Takes a number off the front.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> Result<u64, Flaw> {
    if let [first, rest @ ..] = *bytes
        && *first < 0x80
    {
        *bytes = rest;
        return Ok(u64::from(*first));
    }
    take_long(bytes)
}

#[cold]
fn take_long(bytes: &mut &[u8]) -> Result<u64, Flaw> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(Flaw("a number is cut off"))?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(Flaw("a number has more than ten bytes"))
}

/// Takes a length or a count.
#[inline]
pub(crate) fn take_len(bytes: &mut &[u8]) -> Result<usize, Flaw> {
    usize::try_from(take(bytes)?).map_err(|_| Flaw("a length is too great"))
}

/// Takes so many bytes off the front.
#[inline]
pub(crate) fn take_bytes<'a>(bytes: &mut &'a [u8], len: usize) -> Result<&'a [u8], Flaw> {
    let (taken, rest) = bytes
        .split_at_checked(len)
        .ok_or(Flaw("a text is cut off"))?;
    *bytes = rest;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        for shift in 0..64 {
            for number in [1_u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                put(&mut out, number);
                assert_eq!(take(&mut out.as_slice()), Ok(number));
                for cut in 0..out.len() {
                    assert!(take(&mut &out[..cut]).is_err());
                }
            }
        }
    }
}
