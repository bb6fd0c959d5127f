//! How far a collection reaches from its seeds: `host`, `domain`, `prefix`, `any`, `suffix:.pt,.br`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How far a collection reaches from its seeds.
///
/// Written as on the command line; reading what [`fmt::Display`] wrote gives the same scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scope {
    /// The host and port of a seed; `http` on 80 and `https` on 443 are the same place.
    #[default]
    Host,
    /// The registrable domain of a seed, with all its hosts. An address or a single label has none
    /// and is taken as host.
    Domain,
    /// What begins like a seed's URL, up to the last slash of its path; `http` or `https`.
    Prefix,
    /// The whole web.
    Any,
    /// Hosts under one of these names, each written with a leading dot: `.pt`, `.gov.br`.
    Suffix(Vec<String>),
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        match text.to_ascii_lowercase().as_str() {
            "host" => return Ok(Self::Host),
            "domain" => return Ok(Self::Domain),
            "prefix" => return Ok(Self::Prefix),
            "any" => return Ok(Self::Any),
            _ => {}
        }
        let list = match text.split_once(':') {
            Some((word, list)) if word.eq_ignore_ascii_case("suffix") => list,
            _ => {
                return Err(format!(
                    "`{text}` is not a scope; write `host`, `domain`, `prefix`, `any` or `suffix:.pt,.br`"
                ));
            }
        };
        list.split(',')
            .map(parse_suffix)
            .collect::<Result<_, _>>()
            .map(Self::Suffix)
    }
}

/// Reads `.pt`, `pt` or `.Gov.BR` and gives it with a leading dot, in small letters, as ASCII.
fn parse_suffix(text: &str) -> Result<String, String> {
    let refused = || {
        format!(
            "`{}` is not the end of a host name; write for example `suffix:.pt,.gov.br`",
            text.trim()
        )
    };
    let name = text.trim().trim_matches('.');
    let Ok(url::Host::Domain(ascii)) = url::Host::parse(name) else {
        return Err(refused());
    };
    // IDNA makes dots and commas of other signs (`。`, `🄁`), and a comma begins the next suffix.
    let ascii = ascii.trim_matches('.');
    let is_name = |text: &str| !text.is_empty() && !text.contains("..") && !text.contains(',');
    match url::Host::parse(ascii) {
        Ok(url::Host::Domain(again)) if again == ascii && is_name(ascii) => Ok(format!(".{ascii}")),
        _ => Err(refused()),
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Domain => f.write_str("domain"),
            Self::Prefix => f.write_str("prefix"),
            Self::Any => f.write_str("any"),
            Self::Suffix(suffixes) => write!(f, "suffix:{}", suffixes.join(",")),
        }
    }
}

impl TryFrom<String> for Scope {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn scopes_are_read_as_people_write_them() {
        assert_eq!("host".parse(), Ok(Scope::Host));
        assert_eq!(" Domain ".parse(), Ok(Scope::Domain));
        assert_eq!(
            "suffix:pt, .BR,.gov.br".parse(),
            Ok(Scope::Suffix(vec![
                ".pt".into(),
                ".br".into(),
                ".gov.br".into()
            ]))
        );
        assert_eq!(
            "suffix:.рф".parse(),
            Ok(Scope::Suffix(vec![".xn--p1ai".into()]))
        );
        assert_eq!("suffix:。pt".parse(), Ok(Scope::Suffix(vec![".pt".into()])));
    }

    #[test]
    fn nonsense_is_refused_with_what_to_write() {
        for (text, hint) in [
            ("hosts", "write `host`, `domain`"),
            ("", "write `host`"),
            ("suffix", "`suffix:.pt,.br`"),
            ("suffix:", "is not the end of a host name"),
            ("suffix:.pt,,.br", "is not the end of a host name"),
            ("suffix:a b", "`a b` is not the end"),
            ("suffix:127.0.0.1", "is not the end"),
            ("suffix:🄁", "is not the end"),
        ] {
            let message = text.parse::<Scope>().unwrap_err();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }

    #[test]
    fn a_scope_is_a_string_in_config() {
        let scope: Scope = serde_json::from_str("\"suffix:.pt\"").unwrap();
        assert_eq!(serde_json::to_string(&scope).unwrap(), "\"suffix:.pt\"");
        assert!(serde_json::from_str::<Scope>("\"nowhere\"").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(
            scope in prop_oneof![
                Just(Scope::Host), Just(Scope::Domain), Just(Scope::Prefix), Just(Scope::Any),
                prop::collection::vec("\\.[a-z]{2,8}(\\.[a-z]{2,5})?", 1..5).prop_map(Scope::Suffix),
            ],
        ) {
            prop_assert_eq!(scope.to_string().parse::<Scope>(), Ok(scope));
        }

        #[test]
        fn what_was_read_is_written_so_that_it_reads_the_same(text in "suffix:\\PC{0,20}") {
            if let Ok(scope) = text.parse::<Scope>() {
                prop_assert_eq!(scope.to_string().parse::<Scope>(), Ok(scope));
            }
        }
    }
}
