//! Whole numbers in as few bytes as they need: seven bits a byte, the lowest first.

/// The longest encoding of a `u64`.
pub(crate) const MAX_BYTES: usize = 10;

/// Appends a number.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(low_byte(value) | 0x80);
        value >>= 7;
    }
    out.push(low_byte(value));
}

/// Reads a number and the length of its encoding; `None` where it is cut off or too long.
#[inline]
pub(crate) fn get(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u64::from(first), 1));
    }
    let mut value = u64::from(first & 0x7F);
    for (index, &byte) in bytes.iter().enumerate().take(MAX_BYTES).skip(1) {
        value |= u64::from(byte & 0x7F) << (7 * index);
        if byte < 0x80 {
            return Some((value, index + 1));
        }
    }
    None
}

/// A signed number as an unsigned one that is small where it is near zero.
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// The number that [`zigzag`] was given.
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

fn low_byte(value: u64) -> u8 {
    value.to_le_bytes()[0] & 0x7F
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in (0..64).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, u64::MAX >> bit]) {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            assert_eq!(get(&bytes), Some((value, bytes.len())));
            assert_eq!(get(&bytes[..bytes.len() - 1]), None);
            assert_eq!(zigzag(unzigzag(value)), value);
        }
        assert_eq!(get(&[0xFF; 11]), None);
    }
}
