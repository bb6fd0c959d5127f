//! The tokens of a query. Any text has some; none is an error.

use super::Repair;

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Open,
    Close,
    Plus,
    Minus,
    Or,
    And,
    Not,
    /// `name:` right before a value.
    Field(String),
    Quoted(String),
    /// A run without white space; a star at its end.
    Bare(String, bool),
}

const FIELDS: [&str; 12] = [
    "title", "intitle", "site", "lang", "language", "type", "filetype", "inurl", "url", "before",
    "after", "host",
];

/// Whether a query may name it before a colon.
pub(crate) fn is_field(name: &str) -> bool {
    FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name))
}

/// Splits a query, in time linear in its length.
pub(super) fn tokens(query: &str, repairs: &mut Vec<Repair>) -> Vec<Token> {
    let characters: Vec<char> = query.chars().map(plain).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        let starts = at == 0
            || characters[at - 1].is_whitespace()
            || matches!(characters[at - 1], '(' | '+' | '-' | '|');
        at += 1;
        match character {
            '(' => found.push(Token::Open),
            ')' => found.push(Token::Close),
            '|' => {
                at += usize::from(characters.get(at) == Some(&'|'));
                found.push(Token::Or);
            }
            // Between two spaces it is a dash, or a sum, and says nothing.
            '+' | '-' if starts && is_between_spaces(&characters[at..]) => {}
            '+' if starts => found.push(Token::Plus),
            '-' if starts => found.push(Token::Minus),
            '"' => {
                let end = characters[at..].iter().position(|&next| next == '"');
                if end.is_none() {
                    repairs.push(Repair::UnclosedQuote);
                }
                let end = end.map_or(characters.len(), |length| at + length);
                found.push(Token::Quoted(characters[at..end].iter().collect()));
                at = end + 1;
            }
            _ if character.is_whitespace() => {}
            _ => {
                let begin = at - 1;
                let ends =
                    |next: char| next.is_whitespace() || matches!(next, '(' | ')' | '"' | '|');
                while characters.get(at).is_some_and(|&next| !ends(next)) {
                    at += 1;
                }
                bare(
                    &characters[begin..at],
                    characters.get(at).copied(),
                    repairs,
                    &mut found,
                );
            }
        }
    }
    found
}

/// Whether a space follows, and then something else.
fn is_between_spaces(rest: &[char]) -> bool {
    rest.first().is_some_and(|next| next.is_whitespace())
        && rest.iter().any(|next| !next.is_whitespace())
}

/// A run: an operator, a field with its value, or a word.
fn bare(run: &[char], next: Option<char>, repairs: &mut Vec<Repair>, found: &mut Vec<Token>) {
    let text: String = run.iter().collect();
    match text.as_str() {
        "OR" => return found.push(Token::Or),
        "AND" | "&&" => return found.push(Token::And),
        "NOT" => return found.push(Token::Not),
        _ => {}
    }
    if let Some((name, value)) = text.split_once(':')
        && !name.is_empty()
        && name.chars().all(|letter| letter.is_ascii_alphabetic())
    {
        let name = name.to_ascii_lowercase();
        if FIELDS.contains(&name.as_str()) {
            if value.is_empty() && !matches!(next, Some('"' | '(')) {
                repairs.push(Repair::EmptyField(name));
                return;
            }
            found.push(Token::Field(name));
            if !value.is_empty() {
                found.push(word(value));
            }
            return;
        }
        // Neither an address nor a path of a program (`std::vec`) is a field.
        if !value.is_empty() && !value.starts_with(['/', ':']) {
            repairs.push(Repair::UnknownField(name));
        }
    }
    found.push(word(&text));
}

fn word(text: &str) -> Token {
    match text.strip_suffix('*') {
        Some(stem) if !stem.is_empty() => Token::Bare(stem.trim_end_matches('*').to_owned(), true),
        _ => Token::Bare(text.to_owned(), false),
    }
}

/// Typographic quotation marks are quotation marks; control characters are white space.
fn plain(character: char) -> char {
    match character {
        '“' | '”' | '„' | '«' | '»' | '″' => '"',
        '−' | '–' => '-',
        _ if character.is_control() => ' ',
        _ => character,
    }
}
