//! How wide a terminal is, and texts that fit into it.

use std::os::fd::AsFd;

/// Columns that a text may take; without a terminal as many as it likes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Width(Option<usize>);

impl Width {
    /// The width of standard output.
    pub(crate) fn of_stdout(is_terminal: bool) -> Self {
        Self(is_terminal.then(|| columns(std::io::stdout())))
    }

    /// The width of standard error.
    pub(crate) fn of_stderr() -> usize {
        columns(std::io::stderr())
    }

    /// What is left for one column beside `others`, if it would like to have `wish`.
    pub(crate) fn left_of(self, others: usize, wish: usize) -> usize {
        match self.0 {
            Some(columns) => columns.saturating_sub(others).min(wish),
            None => wish,
        }
    }

    /// Whether a line of so many columns fits.
    pub(crate) fn fits(self, columns: usize) -> bool {
        self.0.is_none_or(|all| columns <= all)
    }

    /// The text in lines that fit, broken between words.
    pub(crate) fn wrap(self, text: &str) -> Vec<String> {
        let Some(columns) = self.0 else {
            return vec![text.to_owned()];
        };
        let mut lines = vec![String::new()];
        for word in text.split(' ') {
            let line = lines.last_mut().expect("there is always one line");
            let length = line.chars().count() + 1 + word.chars().count();
            if line.is_empty() {
                line.push_str(word);
            } else if length <= columns {
                line.push(' ');
                line.push_str(word);
            } else {
                lines.push(format!("  {word}"));
            }
        }
        lines
    }
}

/// Columns of a terminal; 80 where it does not say.
fn columns(terminal: impl AsFd) -> usize {
    match rustix::termios::tcgetwinsize(terminal) {
        Ok(size) if size.ws_col > 0 => size.ws_col.into(),
        _ => 80,
    }
}

/// The text, or as much of its beginning as fits, with a mark.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let mut short: String = text.chars().take(columns.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_cut_or_wrapped() {
        assert_eq!(cut("página", 6), "página");
        assert_eq!(cut("páginas", 6), "págin…");
        let lines = Width(Some(10)).wrap("some words that are many");
        assert_eq!(lines, ["some words", "  that are", "  many"]);
        assert_eq!(Width(None).wrap("some words").len(), 1);
    }
}
