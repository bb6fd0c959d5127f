//! What a column can hold, in either database.

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Text,
    Bytes,
}

impl Value {
    /// A count; what no column can hold becomes the largest that it can.
    pub(crate) fn count(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }

    /// A text. PostgreSQL has no place for a zero byte in one, so there is none in SQLite either.
    pub(crate) fn text(text: &str) -> Self {
        if text.contains('\0') {
            Self::Text(text.replace('\0', "\u{fffd}"))
        } else {
            Self::Text(text.to_owned())
        }
    }

    pub(crate) fn add(&mut self, more: &Self) {
        if let (Self::Int(sum), Self::Int(more)) = (&mut *self, more) {
            *sum = sum.saturating_add(*more);
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        *self == Self::Null
    }
}

impl From<bool> for Value {
    fn from(is: bool) -> Self {
        Self::Int(i64::from(is))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}
