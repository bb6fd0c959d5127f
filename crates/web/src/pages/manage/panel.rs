//! Tables as management pages show them.

use teia_base::Timestamp;

use crate::address::{Address, cut, escape};
use crate::chart::whole;
use crate::words::{Count, Words};

/// Letters of an address in a table.
const SHOWN: usize = 80;

/// A table with a heading.
#[derive(Clone, Debug, Default)]
pub(crate) struct Panel {
    /// A name for scripts and for addresses.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    /// What is to be known about it, in small letters.
    pub(crate) note: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// What is said where there is no row.
    pub(crate) empty: String,
    pub(crate) is_wide: bool,
    /// Where there is more of it: address and words.
    pub(crate) more: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) label: String,
    pub(crate) is_number: bool,
}

/// A field of a table.
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Text(String),
    Link {
        shown: String,
        whole: String,
        href: String,
    },
    Moment {
        shown: String,
        exact: String,
    },
    /// A part of a whole, with a bar.
    Share {
        shown: String,
        of_thousand: u64,
    },
    /// A button: where it is sent, and what it says.
    Act {
        action: String,
        value: String,
        label: String,
        csrf: String,
    },
    /// A word with a sign beside it.
    Sign {
        mark: &'static str,
        shown: String,
    },
}

impl Panel {
    /// With columns by the keys of their names; those that begin with `#` hold numbers.
    pub(crate) fn new(w: &Words, id: &'static str, title: &str, columns: &[&'static str]) -> Self {
        let column = |key: &&'static str| Column {
            label: w.t(key.trim_start_matches('#')).to_owned(),
            is_number: key.starts_with('#'),
        };
        Self {
            id,
            title: w.t(title).to_owned(),
            columns: columns.iter().map(column).collect(),
            empty: w.t("nothing.yet").to_owned(),
            ..Self::default()
        }
    }

    pub(crate) fn noted(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    pub(crate) fn wide(mut self) -> Self {
        self.is_wide = true;
        self
    }

    pub(crate) fn row(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn number(w: &Words, number: impl Count) -> Self {
        Self::Text(w.number(number))
    }

    pub(crate) fn bytes(w: &Words, bytes: i64) -> Self {
        Self::Text(w.bytes(bytes.unsigned_abs()))
    }

    /// A moment in microseconds since 1970; empty for 0.
    pub(crate) fn moment(w: &Words, micros: i64) -> Self {
        if micros == 0 {
            return Self::Text(String::new());
        }
        let moment = Timestamp::from_micros(micros);
        Self::Moment {
            shown: w.moment_with_seconds(&moment),
            exact: moment.to_string(),
        }
    }

    /// A URL, which leads to the page about it.
    pub(crate) fn url(url: &str) -> Self {
        let address = Address::new(url);
        Self::Link {
            shown: cut(&address.shown(), SHOWN),
            href: address.page(),
            whole: address.url,
        }
    }

    /// A host, which leads to what was asked of it.
    pub(crate) fn host(collection: &str, host: &str) -> Self {
        Self::Link {
            shown: cut(host, SHOWN),
            whole: host.to_owned(),
            href: format!("/hosts/{}?collection={}", escape(host), escape(collection)),
        }
    }

    /// So many of so many, with a bar.
    pub(crate) fn share(w: &Words, part: i64, all: i64) -> Self {
        let share = if all > 0 {
            part as f64 / all as f64
        } else {
            0.0
        };
        Self::Share {
            shown: format!("{} %", w.decimal(format!("{:.1}", 100.0 * share))),
            of_thousand: whole(1000.0 * share),
        }
    }

    /// A span of time in microseconds: `820 ms`, `2.4 s`.
    pub(crate) fn span(w: &Words, micros: i64) -> Self {
        Self::Text(span(w, micros))
    }
}

/// A span of time as people read it.
pub(crate) fn span(w: &Words, micros: i64) -> String {
    let seconds = micros as f64 / 1e6;
    if seconds.abs() < 1.0 {
        format!("{} ms", w.number((micros.unsigned_abs() + 500) / 1000))
    } else if seconds < 120.0 {
        format!("{} s", w.decimal(format!("{seconds:.1}")))
    } else {
        let seconds = whole(seconds);
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600, seconds / 60);
        match seconds {
            0..3_600 => format!("{minutes} min {} s", seconds % 60),
            3_600..172_800 => format!("{hours} h {} min", minutes % 60),
            _ => format!("{} {} h", w.n("days", days), hours % 24),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Tongue;

    #[test]
    fn spans_and_shares_are_read_by_people() {
        let w = Tongue::Portuguese.words();
        assert_eq!(span(w, 820_400), "820 ms");
        assert_eq!(span(w, 2_400_000), "2,4 s");
        assert_eq!(span(w, 213_400_000), "3 min 33 s");
        assert_eq!(span(w, 7_500_000_000), "2 h 5 min");
        assert_eq!(span(w, 273_600_000_000), "3 dias 4 h");
        let Cell::Share { shown, of_thousand } = Cell::share(w, 1, 8) else {
            panic!("a share");
        };
        assert_eq!((shown.as_str(), of_thousand), ("12,5 %", 125));
    }
}
