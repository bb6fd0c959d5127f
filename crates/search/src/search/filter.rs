//! Conditions beside a query: they hold whatever the query says.

use teia_base::Timestamp;

use crate::query::{Group, Node, Occur, parse};

/// Only results like this. No word and no sign of a query can undo it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filter {
    /// Of a site, or of a part of it: `example.pt`, `example.pt/docs`.
    Site(String),
    /// In a language: `pt`.
    Language(String),
    /// Of a media type, or of a part of one: `pdf`, `text/html`.
    Type(String),
    /// Visited at or after.
    After(Timestamp),
    /// Visited before.
    Before(Timestamp),
}

impl Filter {
    fn node(&self) -> Node {
        let spelt = |text: &str| text.trim().to_lowercase();
        match self {
            Self::Site(site) => site_of(&spelt(site)),
            Self::Language(language) => Node::Language(crate::page::primary(&spelt(language))),
            Self::Type(kind) => Node::Type(spelt(kind)),
            Self::After(moment) => Node::After(*moment),
            Self::Before(moment) => Node::Before(*moment),
        }
    }
}

/// A site as queries name it, read alone.
fn site_of(site: &str) -> Node {
    let plain: String = site.chars().filter(|c| *c != '"').collect();
    let parsed = parse(&format!("site:\"{plain}\""));
    let mut nodes = parsed.group.clauses.into_iter().map(|(_, node)| node);
    nodes
        .find(|node| matches!(node, Node::Site(_)))
        .unwrap_or(Node::Site(plain))
}

/// What a query asks for, within its filters.
pub(super) fn narrowed(mut group: Group, filters: &[Filter]) -> Group {
    let nodes = filters.iter().map(|filter| (Occur::Must, filter.node()));
    group.clauses.extend(nodes);
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_read_as_a_query_would_and_stays_beside_it() {
        let filters = [
            Filter::Site("Example.PT".to_owned()),
            Filter::Language("pt-BR".to_owned()),
            Filter::Site("a\" OR b".to_owned()),
        ];
        let group = narrowed(parse("OR museu").group, &filters);
        let narrowing: Vec<_> = group.clauses.iter().skip(1).collect();
        assert_eq!(narrowing[0].1, Node::Site("example.pt".to_owned()));
        assert_eq!(narrowing[1].1, Node::Language("pt".to_owned()));
        assert!(matches!(narrowing[2].1, Node::Site(_)));
        assert!(narrowing.iter().all(|(occur, _)| *occur == Occur::Must));
        assert_eq!(narrowing.len(), 3);
    }
}
