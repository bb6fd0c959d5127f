//! The grammar, and what hostile queries become.

use proptest::prelude::*;

use super::super::{Group, Node, Occur, Place, Repair};
use super::parse;

fn word(text: &str) -> Node {
    Node::Word(text.into(), Place::Anywhere)
}

#[track_caller]
fn check(query: &str, clauses: &[(Occur, Node)], repairs: &[Repair]) {
    let parsed = parse(query);
    assert_eq!(parsed.group.clauses, clauses, "{query}");
    assert_eq!(parsed.repairs, repairs, "{query}");
}

#[test]
fn words_may_signs_must_and_phrases_must() {
    check(
        "café +lisboa -porto \"quero café\"",
        &[
            (Occur::Should, word("café")),
            (Occur::Must, word("lisboa")),
            (Occur::Not, word("porto")),
            (
                Occur::Must,
                Node::Phrase("quero café".into(), Place::Anywhere),
            ),
        ],
        &[],
    );
    check(
        "a AND b",
        &[(Occur::Must, word("a")), (Occur::Must, word("b"))],
        &[],
    );
    check(
        "a NOT b",
        &[(Occur::Should, word("a")), (Occur::Not, word("b"))],
        &[],
    );
    check("foo-bar", &[(Occur::Should, word("foo-bar"))], &[]);
}

#[test]
fn or_binds_closer_than_a_space() {
    check(
        "a OR b | c d",
        &[
            (
                Occur::Should,
                Node::Either(vec![word("a"), word("b"), word("c")]),
            ),
            (Occur::Should, word("d")),
        ],
        &[],
    );
}

#[test]
fn a_sign_is_one_of_all_alternatives() {
    let either = |nodes: &[&str]| Node::Either(nodes.iter().map(|it| word(it)).collect());
    check(
        "a AND b OR c",
        &[(Occur::Must, word("a")), (Occur::Must, either(&["b", "c"]))],
        &[],
    );
    check(
        "+a +b OR c",
        &[(Occur::Must, word("a")), (Occur::Must, either(&["b", "c"]))],
        &[],
    );
    check(
        "a -b OR c",
        &[
            (Occur::Should, word("a")),
            (Occur::Not, either(&["b", "c"])),
        ],
        &[],
    );
    check("a OR +b", &[(Occur::Must, either(&["a", "b"]))], &[]);
    check(
        "a OR -b",
        &[(Occur::Should, word("a")), (Occur::Not, word("b"))],
        &[],
    );
}

#[test]
fn a_dash_between_spaces_is_no_sign() {
    let plain = |words: &[&str]| -> Vec<(Occur, Node)> {
        words.iter().map(|it| (Occur::Should, word(it))).collect()
    };
    check("Lisboa – Porto", &plain(&["Lisboa", "Porto"]), &[]);
    check("a - b", &plain(&["a", "b"]), &[]);
    check("1 + 1", &plain(&["1", "1"]), &[]);
    check(
        "a –b",
        &[(Occur::Should, word("a")), (Occur::Not, word("b"))],
        &[],
    );
}

#[test]
fn conditions_in_parentheses_are_conditions() {
    let sites = Node::Either(vec![Node::Site("a.pt".into()), Node::Site("b.pt".into())]);
    let expected = [(Occur::Should, word("gato")), (Occur::Must, sites)];
    check("gato (site:a.pt OR site:b.pt)", &expected, &[]);
    check("gato site:(a.pt OR b.pt)", &expected, &[]);
    let title = |text: &str| (Occur::Must, Node::Word(text.into(), Place::Title));
    let titles = Group {
        clauses: vec![title("gato"), title("preto")],
    };
    check(
        "title:(gato preto) rato",
        &[
            (Occur::Must, Node::Group(titles)),
            (Occur::Should, word("rato")),
        ],
        &[],
    );
}

#[test]
fn a_site_is_a_host_without_its_port_as_addresses_spell_it() {
    let site = |text: &str| [(Occur::Must, Node::Site(text.into()))];
    check("site:127.0.0.1:8102", &site("127.0.0.1"), &[]);
    check("site:münchen.de/x", &site("xn--mnchen-3ya.de/x"), &[]);
    check("site:pt", &site("pt"), &[]);
}

#[test]
fn a_language_may_be_called_by_its_name() {
    let language = |code: &str| [(Occur::Must, Node::Language(code.into()))];
    for (query, code) in [
        ("lang:Portuguese", "pt"),
        ("lang:português", "pt"),
        ("language:english", "en"),
        ("lang:inglês", "en"),
        ("lang:Deutsch", "de"),
        ("lang:pt", "pt"),
    ] {
        check(query, &language(code), &[]);
    }
}

#[test]
fn fields_are_conditions() {
    check(
        "title:gato site:https://A.pt/x/ lang:pt-BR type:PDF inurl:ajuda gat*",
        &[
            (Occur::Must, Node::Word("gato".into(), Place::Title)),
            (Occur::Must, Node::Site("a.pt/x".into())),
            (Occur::Must, Node::Language("pt".into())),
            (Occur::Must, Node::Type("pdf".into())),
            (Occur::Must, Node::Word("ajuda".into(), Place::Address)),
            (Occur::Should, Node::Prefix("gat".into(), Place::Anywhere)),
        ],
        &[],
    );
    let parsed = parse("after:2024-05 before:2025");
    assert_eq!(parsed.group.clauses.len(), 2);
    assert!(parsed.repairs.is_empty());
}

#[test]
fn what_is_malformed_is_repaired_and_said() {
    check(
        "\"a b",
        &[(Occur::Must, Node::Phrase("a b".into(), Place::Anywhere))],
        &[Repair::UnclosedQuote],
    );
    check(
        "a) b",
        &[(Occur::Should, word("a")), (Occur::Should, word("b"))],
        &[Repair::UnmatchedParenthesis],
    );
    check(
        "OR a",
        &[(Occur::Should, word("a"))],
        &[Repair::DanglingOperator("OR".into())],
    );
    check(
        "a OR",
        &[(Occur::Should, word("a"))],
        &[Repair::DanglingOperator("OR".into())],
    );
    check(
        "a +",
        &[(Occur::Should, word("a"))],
        &[Repair::DanglingOperator("+".into())],
    );
    check(
        "before:ontem a",
        &[(Occur::Should, word("a"))],
        &[Repair::BadDate("before:ontem".into())],
    );
    check(
        "site: a",
        &[(Occur::Should, word("a"))],
        &[Repair::EmptyField("site".into())],
    );
    check(
        "cor:azul",
        &[(Occur::Should, word("cor:azul"))],
        &[Repair::UnknownField("cor".into())],
    );
    check(
        "https://a.pt/x",
        &[(Occur::Should, word("https://a.pt/x"))],
        &[],
    );
    check("std::vec", &[(Occur::Should, word("std::vec"))], &[]);
    check("  ", &[], &[Repair::Empty]);
    check("()", &[], &[Repair::Empty]);
}

#[test]
fn hostile_queries_stay_small() {
    for query in [
        "\"".repeat(100_000),
        "(".repeat(100_000),
        ")".repeat(100_000),
        "(a ".repeat(50_000),
        "a OR ".repeat(50_000),
        "-+".repeat(50_000),
        "a ".repeat(50_000),
        "\u{0}\u{1}\u{7f}\u{202e}".repeat(20_000),
        "title:".repeat(20_000),
        "*".repeat(10_000),
        "é".repeat(10_001),
    ] {
        let parsed = parse(&query);
        assert!(parsed.repairs.contains(&Repair::TooLong));
        assert!(parsed.repairs.len() < 12, "{:?}", parsed.repairs.len());
        assert!(parsed.group.clauses.len() <= super::MAX_CLAUSES + super::MAX_WORDS);
    }
    assert!(
        parse(&format!("{}a{}", "(".repeat(20), ")".repeat(20)))
            .repairs
            .contains(&Repair::TooDeep)
    );
    assert!(
        parse(&"a ".repeat(100))
            .repairs
            .contains(&Repair::TooManyClauses)
    );
}

/// A query at its limit is taken as it is; one step further it is cut, and says so.
#[test]
fn limits_hold_exactly() {
    let check = |query: &str, clauses: usize, repair: Option<Repair>| {
        let parsed = parse(query);
        let begin = &query[..query.len().min(30)];
        assert_eq!(parsed.repairs, Vec::from_iter(repair), "{begin}");
        assert_eq!(parsed.group.clauses.len(), clauses, "{begin}");
    };
    check(&"a".repeat(1_024), 1, None);
    check(&"a".repeat(1_025), 1, Some(Repair::TooLong));
    for clause in ["+a ", "-a ", "a* ", "\"a b\" ", "title:a ", "site:a.pt "] {
        check(&clause.repeat(32), 32, None);
        check(&clause.repeat(33), 32, Some(Repair::TooManyClauses));
    }
    check(&"a ".repeat(64), 64, None);
    check(&"a ".repeat(65), 64, Some(Repair::TooManyClauses));
    let alternatives = |count: usize| vec!["a"; count].join(" OR ");
    // The first of them is a plain word when it is read.
    check(&alternatives(33), 1, None);
    check(&alternatives(34), 1, Some(Repair::TooManyClauses));
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    check(&nested(16), 1, None);
    assert!(parse(&nested(17)).repairs.contains(&Repair::TooDeep));
}

proptest! {
    #[test]
    fn parsing_never_panics(query in "\\PC{0,200}") {
        parse(&query);
    }

    #[test]
    fn parsing_signs_never_panics(parts in prop::collection::vec(
        prop::sample::select(vec!["a", "OR", "AND", "NOT", "(", ")", "\"", "+", "-", "|", "*", ":", " ", "title:", "site:", "before:", "é", "\u{0}"]), 0..60)) {
        let parsed = parse(&parts.concat());
        prop_assert!(parsed.group.clauses.len() <= super::MAX_CLAUSES + super::MAX_WORDS);
        parse(&parts.join(" "));
    }
}
