//! One number for each URL of a page, in few bits, any of them read without the others.
//!
//! ```text
//! 0  value                                   the same for all
//! 1  least, width, bits of (value - least)   one after another
//! 2  usual, count, places (u16), values      all but some the same; values as in form 1
//! ```

use super::error::Flaw;
use super::varint;

/// Bytes after the packed bits, so that any number is read with one load.
const SLACK: usize = 8;

/// Appends a column.
pub(crate) fn write(values: &[u64], out: &mut Vec<u8>) {
    let Some(&first) = values.first() else {
        out.extend_from_slice(&[0, 0]);
        return;
    };
    let (mut least, mut greatest) = (first, first);
    for &value in values {
        least = least.min(value);
        greatest = greatest.max(value);
    }
    if least == greatest {
        out.push(0);
        varint::put(out, first);
        return;
    }
    let width = width_of(greatest - least);
    let dense = values.len() * usize::from(width) / 8;
    // The first value is taken for the usual one; or that in the middle, if it is there more often.
    let others_than = |usual: u64| values.iter().filter(|&&value| value != usual).count();
    let (usual, others) = [first, values[values.len() / 2]]
        .map(|usual| (usual, others_than(usual)))
        .into_iter()
        .min_by_key(|(_, others)| *others)
        .unwrap_or((first, values.len()));
    if others * (2 + usize::from(width) / 8) + 8 < dense && values.len() <= usize::from(u16::MAX) {
        out.push(2);
        varint::put(out, usual);
        varint::put(out, others as u64);
        let mut exceptions = Vec::with_capacity(others);
        for (place, &value) in (0_u16..).zip(values) {
            if value != usual {
                out.extend_from_slice(&place.to_le_bytes());
                exceptions.push(value);
            }
        }
        write_packed(&exceptions, out);
    } else {
        out.push(1);
        write_packed(values, out);
    }
}

fn width_of(range: u64) -> u8 {
    let width = 64 - range.leading_zeros();
    // A number wider than 56 bits may not lie within eight bytes: it gets them for itself.
    u8::try_from(if width > 56 { 64 } else { width }).unwrap_or(64)
}

fn write_packed(values: &[u64], out: &mut Vec<u8>) {
    let least = values.iter().copied().min().unwrap_or(0);
    let greatest = values.iter().copied().max().unwrap_or(0);
    let width = width_of(greatest - least);
    varint::put(out, least);
    out.push(width);
    let start = out.len();
    out.resize(
        start + (values.len() * usize::from(width)).div_ceil(8) + SLACK,
        0,
    );
    let bits = &mut out[start..];
    for (number, &value) in values.iter().enumerate() {
        let bit = number * usize::from(width);
        let bytes: &mut [u8; 8] = (&mut bits[bit / 8..bit / 8 + 8])
            .try_into()
            .expect("eight bytes were cut");
        let word = u64::from_le_bytes(*bytes) | ((value - least) << (bit % 8));
        *bytes = word.to_le_bytes();
    }
}

/// A column as it lies in its page.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column<'a> {
    Same(u64),
    Packed(Packed<'a>),
    Sparse {
        usual: u64,
        places: &'a [u8],
        values: Packed<'a>,
    },
}

/// Numbers of one width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    least: u64,
    width: usize,
    bits: &'a [u8],
}

impl<'a> Column<'a> {
    /// Takes a column of so many values off the front.
    pub(crate) fn take(bytes: &mut &'a [u8], rows: usize) -> Result<Self, Flaw> {
        match varint::take_bytes(bytes, 1)? {
            [0] => Ok(Self::Same(varint::take(bytes)?)),
            [1] => Ok(Self::Packed(Packed::take(bytes, rows)?)),
            [2] => {
                let usual = varint::take(bytes)?;
                let count = varint::take_len(bytes)?;
                if count > rows {
                    return Err(Flaw("more exceptions than rows"));
                }
                let places = varint::take_bytes(bytes, count * 2)?;
                let values = Packed::take(bytes, count)?;
                Ok(Self::Sparse {
                    usual,
                    places,
                    values,
                })
            }
            _ => Err(Flaw("a column of no known form")),
        }
    }

    /// Tells the value of each row, where it is not nought.
    #[inline]
    pub(crate) fn for_each(&self, rows: usize, mut tell: impl FnMut(usize, u64)) {
        match self {
            Self::Same(0) => {}
            Self::Same(value) => (0..rows).for_each(|row| tell(row, *value)),
            Self::Packed(packed) => (0..rows).for_each(|row| tell(row, packed.get(row))),
            Self::Sparse {
                usual,
                places,
                values,
            } => {
                if *usual != 0 {
                    (0..rows).for_each(|row| tell(row, *usual));
                }
                for (at, place) in places.as_chunks::<2>().0.iter().enumerate() {
                    let row = usize::from(u16::from_le_bytes(*place));
                    if row < rows {
                        tell(row, values.get(at));
                    }
                }
            }
        }
    }

    /// The value of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> u64 {
        match self {
            Self::Same(value) => *value,
            Self::Packed(packed) => packed.get(row),
            Self::Sparse {
                usual,
                places,
                values,
            } => find_place(places, row).map_or(*usual, |at| values.get(at)),
        }
    }
}

/// Where a row stands in a sorted list of two-byte places.
pub(crate) fn find_place(places: &[u8], row: usize) -> Option<usize> {
    let (mut low, mut high) = (0, places.len() / 2);
    while low < high {
        let middle = usize::midpoint(low, high);
        let place = usize::from(u16::from_le_bytes([
            places[2 * middle],
            places[2 * middle + 1],
        ]));
        match place.cmp(&row) {
            std::cmp::Ordering::Equal => return Some(middle),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

impl<'a> Packed<'a> {
    fn take(bytes: &mut &'a [u8], rows: usize) -> Result<Self, Flaw> {
        let least = varint::take(bytes)?;
        let width = usize::from(varint::take_bytes(bytes, 1)?[0]);
        if width > 56 && width != 64 {
            return Err(Flaw("a column of impossible width"));
        }
        let len = (rows * width).div_ceil(8) + SLACK;
        Ok(Self {
            least,
            width,
            bits: varint::take_bytes(bytes, len)?,
        })
    }

    #[inline]
    fn get(&self, row: usize) -> u64 {
        let bit = row * self.width;
        let bytes: [u8; 8] = self.bits[bit / 8..bit / 8 + 8]
            .try_into()
            .expect("eight bytes were cut");
        let word = u64::from_le_bytes(bytes) >> (bit % 8);
        let mask = if self.width == 64 {
            u64::MAX
        } else {
            (1 << self.width) - 1
        };
        self.least.wrapping_add(word & mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[u64], most: usize) {
        let mut out = Vec::new();
        write(values, &mut out);
        assert!(out.len() <= most, "{} bytes", out.len());
        let mut bytes = out.as_slice();
        let column = Column::take(&mut bytes, values.len()).unwrap();
        assert!(bytes.is_empty());
        for (row, &value) in values.iter().enumerate() {
            assert_eq!(column.get(row), value);
        }
        for cut in 0..out.len() {
            assert!(Column::take(&mut &out[..cut], values.len()).is_err());
        }
    }

    #[test]
    fn a_column_takes_as_many_bits_as_its_values_differ_in() {
        check(&[], 2);
        check(&[7; 400], 2);
        check(&(1_000_000..1_000_400).collect::<Vec<_>>(), 470);
        check(&[0, u64::MAX, 1, u64::MAX - 1, 1 << 57], 60);
        let mut mostly = vec![0; 400];
        mostly[17] = 1 << 40;
        mostly[399] = (1 << 40) + 3;
        check(&mostly, 40);
    }
}
