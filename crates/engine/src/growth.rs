//! How a collection grew: sums over equal spans of time, never more than a screen of them.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use teia_base::Timestamp;

use crate::reading::as_text;

/// Spans that people think in, in seconds: a second to twelve weeks.
const SPANS: [i64; 12] = [
    1,
    10,
    60,
    600,
    3600,
    21_600,
    86_400,
    604_800,
    2_419_200,
    7_257_600,
    29_030_400,
    290_304_000,
];
/// Rows of the table; with more, the spans become longer.
const MOST: usize = 30;

/// What one span of time brought.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// When the span began.
    #[serde(serialize_with = "as_text")]
    pub from: Timestamp,
    /// How long it is, in seconds.
    pub seconds: u64,
    /// Documents answered in it.
    pub fetched: u64,
    /// Bytes received in it.
    pub bytes: u64,
    /// URLs known at its end.
    pub known: u64,
}

/// Sums up as it goes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Curve {
    span: usize,
    sums: BTreeMap<i64, Sum>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Sum {
    fetched: u64,
    bytes: u64,
    known: u64,
}

impl Curve {
    /// Adds what one commit brought.
    pub(crate) fn add(&mut self, at: Timestamp, fetched: u64, bytes: u64, known: u64) {
        let sum = Sum {
            fetched,
            bytes,
            known,
        };
        self.put(at.as_seconds().div_euclid(SPANS[self.span]), sum);
        while self.sums.len() > MOST && self.span + 1 < SPANS.len() {
            let (old, new) = (SPANS[self.span], SPANS[self.span + 1]);
            self.span += 1;
            for (number, sum) in std::mem::take(&mut self.sums) {
                self.put((number * old).div_euclid(new), sum);
            }
        }
    }

    fn put(&mut self, number: i64, more: Sum) {
        let sum = self.sums.entry(number).or_default();
        sum.fetched += more.fetched;
        sum.bytes += more.bytes;
        sum.known = sum.known.max(more.known);
    }

    /// The spans in which something happened, oldest first.
    pub(crate) fn rows(&self) -> Vec<Growth> {
        let span = SPANS[self.span];
        let row = |(number, sum): (&i64, &Sum)| Growth {
            from: Timestamp::from_micros(number * span * 1_000_000),
            seconds: Duration::from_secs(span.unsigned_abs()).as_secs(),
            fetched: sum.fetched,
            bytes: sum.bytes,
            known: sum.known,
        };
        self.sums.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_long_it_grows_the_rows_are_few_and_add_up() {
        let mut curve = Curve::default();
        for number in 0..10_000_u64 {
            let at = Timestamp::from_micros(i64::try_from(number * 7_000_000).unwrap());
            curve.add(at, 2, 10, number);
            assert!(curve.rows().len() <= MOST);
        }
        let rows = curve.rows();
        assert!(rows.len() > 3, "{rows:?}");
        assert_eq!(rows.iter().map(|row| row.fetched).sum::<u64>(), 20_000);
        assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), 100_000);
        assert_eq!(rows.last().unwrap().known, 9999);
        assert!(rows.is_sorted_by_key(|row| row.from));
    }
}
