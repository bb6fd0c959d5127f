//! A table of numbers that knows how it is written down.

use serde::ser::{Serialize, SerializeStruct, Serializer};

/// One field of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A count, a number of bytes, a code.
    Count(i64),
    /// A share, in per cent, or a mean.
    Share(f64),
    /// Nothing to say.
    Empty,
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Cell {
    fn from(count: i64) -> Self {
        Self::Count(count)
    }
}

impl Cell {
    /// So many of so many, in per cent.
    pub(crate) fn share(part: i64, whole: i64) -> Self {
        Self::Share(100.0 * ratio(part, whole))
    }

    /// The mean of a sum.
    pub(crate) fn mean(sum: i64, count: i64) -> Self {
        Self::Share(ratio(sum, count))
    }

    /// As it is written in CSV: without a thousands separator, shares with two digits.
    pub fn plain(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Share(share) => format!("{share:.2}"),
            Self::Empty => String::new(),
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a share to two digits needs no more than a double has"
)]
fn ratio(part: i64, whole: i64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Count(count) => serializer.serialize_i64(*count),
            // As many digits as are shown.
            Self::Share(share) => serializer.serialize_f64((share * 100.0).round() / 100.0),
            Self::Empty => serializer.serialize_none(),
        }
    }
}

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// A word to ask for it by.
    pub name: &'static str,
    /// What it shows.
    pub title: String,
    /// Whose table it is like.
    pub like: &'static str,
    /// Its columns.
    pub columns: Vec<&'static str>,
    /// Its rows.
    pub rows: Vec<Vec<Cell>>,
    /// A last row with the sums, where there is one.
    pub total: Option<Vec<Cell>>,
}

impl Statistic {
    /// Rows and total, as they are shown.
    pub fn all_rows(&self) -> impl Iterator<Item = &Vec<Cell>> {
        self.rows.iter().chain(&self.total)
    }
}

impl Serialize for Statistic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Statistic", 6)?;
        object.serialize_field("name", self.name)?;
        object.serialize_field("title", &self.title)?;
        object.serialize_field("like", self.like)?;
        object.serialize_field("columns", &self.columns)?;
        object.serialize_field("rows", &self.rows)?;
        object.serialize_field("total", &self.total)?;
        object.end()
    }
}
