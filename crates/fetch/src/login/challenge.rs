//! What a server asks for in `WWW-Authenticate` (RFC 9110, 11.6.1), read from hostile text.

/// Bytes of one field that are read, and challenges in all fields; more are passed over.
const FIELD_BYTES: usize = 8 << 10;
const CHALLENGES: usize = 16;

/// A scheme and its parameters, with names in small letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    pub(super) scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    /// The first parameter of this name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// All challenges of all fields, in order. What cannot be read ends its field.
pub(super) fn challenges(fields: &[String]) -> Vec<Challenge> {
    let mut all = Vec::new();
    for field in fields {
        let mut end = field.len().min(FIELD_BYTES);
        while !field.is_char_boundary(end) {
            end -= 1;
        }
        read_field(&field[..end], &mut all);
    }
    all.truncate(CHALLENGES);
    all
}

fn read_field(mut rest: &str, all: &mut Vec<Challenge>) {
    let first = all.len();
    while all.len() <= CHALLENGES {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let end = rest.find(|c| !is_token(c)).unwrap_or(rest.len());
        if end == 0 {
            return;
        }
        let (word, after) = rest.split_at(end);
        let word = word.to_ascii_lowercase();
        let value = after.trim_start_matches([' ', '\t']).strip_prefix('=');
        // `=` after a word makes it a parameter; a padded token68 ends in `=` without a value.
        let Some((value, after)) = value.and_then(read_value) else {
            all.push(Challenge {
                scheme: word,
                parameters: Vec::new(),
            });
            rest = after.trim_start_matches('=');
            continue;
        };
        rest = after;
        // A parameter before any scheme belongs to nobody.
        let Some(challenge) = all[first..].last_mut() else {
            return;
        };
        challenge.parameters.push((word, value));
    }
}

/// A token or a quoted string, and what follows it.
fn read_value(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start_matches([' ', '\t']);
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(|c| !is_token(c)).unwrap_or(text.len());
        return (end > 0).then(|| (text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            other => value.push(other),
        }
    }
    None
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(field: &str) -> Vec<Challenge> {
        challenges(&[field.to_owned()])
    }

    #[test]
    fn several_challenges_share_a_field() {
        let all = read(
            r#"Negotiate, Basic realm="a, \"b\"", NTLM dG9rZW4=, Digest realm=x , nonce="n=1",QOP="auth,auth-int""#,
        );
        let schemes: Vec<&str> = all.iter().map(|one| one.scheme.as_str()).collect();
        assert_eq!(schemes[..2], ["negotiate", "basic"]);
        assert_eq!(all[1].get("realm"), Some("a, \"b\""));
        let digest = all.last().unwrap();
        assert_eq!(digest.scheme, "digest");
        assert_eq!(
            (digest.get("nonce"), digest.get("qop")),
            (Some("n=1"), Some("auth,auth-int"))
        );
    }

    #[test]
    fn nonsense_is_short_and_gives_little() {
        assert_eq!(read(""), []);
        assert_eq!(read("=, =="), []);
        assert_eq!(read(r#"Digest realm="never closed"#)[0].get("realm"), None);
        assert!(challenges(&["A, ".repeat(1 << 20)]).len() <= CHALLENGES);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in r#"([A-Za-z]{0,4}|[ =,"\\é])*"#) {
            read(&text);
        }
    }
}
