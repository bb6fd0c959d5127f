//! Tokens to clauses. Total: every list of tokens has a meaning.

use teia_base::{CanonicalUrl, Timestamp};

use super::tokens::{Token, tokens};
use super::{
    Group, MAX_BYTES, MAX_CLAUSES, MAX_DEPTH, MAX_WORDS, Node, Occur, Parsed, Place, Repair,
};
use crate::page::cut;

/// Understands a query.
pub(crate) fn parse(query: &str) -> Parsed {
    let mut repairs = Vec::new();
    let kept = cut(query, MAX_BYTES);
    if kept.len() < query.len() {
        repairs.push(Repair::TooLong);
    }
    let tokens = tokens(kept, &mut repairs);
    let mut parser = Parser {
        tokens,
        at: 0,
        clauses: 0,
        words: 0,
        is_plain: false,
        field: None,
        repairs,
    };
    let mut group = parser.group(0);
    while parser.at < parser.tokens.len() {
        // Only a closing parenthesis without partner ends a group early.
        parser.repair(Repair::UnmatchedParenthesis);
        parser.at += 1;
        let more = parser.group(0);
        group.clauses.extend(more.clauses);
    }
    if group.clauses.is_empty() {
        parser.repair(Repair::Empty);
    }
    Parsed {
        group,
        repairs: parser.repairs,
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    clauses: usize,
    /// Plain words so far.
    words: usize,
    /// What is read next has no sign and joins nothing.
    is_plain: bool,
    /// The field that stands before the group that is being read: it counts for all in it.
    field: Option<String>,
    repairs: Vec<Repair>,
}

/// A clause while its group is being read.
struct Clause {
    occur: Occur,
    /// Its author wrote `+`, `-`, `AND` or `NOT` for it.
    is_signed: bool,
    node: Node,
}

impl Parser {
    /// Clauses up to a closing parenthesis or the end.
    fn group(&mut self, depth: usize) -> Group {
        let mut clauses: Vec<Clause> = Vec::new();
        // What the next node is to do: its sign, and whether it joins the one before it.
        let mut sign: Option<Occur> = None;
        let mut joins = false;
        while let Some(token) = self.tokens.get(self.at).cloned() {
            if token == Token::Close {
                break;
            }
            self.at += 1;
            match token {
                Token::Plus => sign = Some(Occur::Must),
                Token::Minus | Token::Not => sign = Some(Occur::Not),
                Token::Or if clauses.is_empty() => {
                    self.repair(Repair::DanglingOperator("OR".into()));
                }
                Token::Or => joins = true,
                Token::And => match clauses.last_mut() {
                    Some(last) => {
                        if last.occur == Occur::Should {
                            last.occur = Occur::Must;
                        }
                        last.is_signed = true;
                        sign = sign.or(Some(Occur::Must));
                    }
                    None => self.repair(Repair::DanglingOperator("AND".into())),
                },
                _ => {
                    self.is_plain = sign.is_none() && !joins;
                    if let Some(node) = self.node(token, depth) {
                        let clause = Clause {
                            occur: sign.unwrap_or_else(|| usual(&node)),
                            is_signed: sign.is_some(),
                            node,
                        };
                        if joins && sign != Some(Occur::Not) {
                            join(&mut clauses, clause);
                        } else {
                            clauses.push(clause);
                        }
                    }
                    sign = None;
                    joins = false;
                }
            }
        }
        if joins {
            self.repair(Repair::DanglingOperator("OR".into()));
        }
        match sign {
            Some(Occur::Must) => self.repair(Repair::DanglingOperator("+".into())),
            Some(Occur::Not) => self.repair(Repair::DanglingOperator("-".into())),
            _ => {}
        }
        let clauses = clauses.into_iter();
        Group {
            clauses: clauses.map(|it| (it.occur, it.node)).collect(),
        }
    }

    fn node(&mut self, token: Token, depth: usize) -> Option<Node> {
        match token {
            Token::Open => self.parenthesis(depth),
            Token::Field(name) => match self.tokens.get(self.at).cloned() {
                Some(Token::Bare(value, starred)) => {
                    self.at += 1;
                    self.condition(&name, value, starred, false)
                }
                Some(Token::Quoted(value)) => {
                    self.at += 1;
                    self.condition(&name, value, false, true)
                }
                Some(Token::Open) => {
                    self.at += 1;
                    let outer = self.field.replace(name);
                    let node = self.parenthesis(depth);
                    self.field = outer;
                    node
                }
                _ => {
                    self.repair(Repair::EmptyField(name));
                    None
                }
            },
            Token::Quoted(text) => match self.field.clone() {
                Some(field) => self.condition(&field, text, false, true),
                None => self.counted(|| Node::Phrase(text, Place::Anywhere)),
            },
            Token::Bare(text, starred) => match self.field.clone() {
                Some(field) => self.condition(&field, text, starred, false),
                None if self.is_plain && !starred => {
                    if self.words >= MAX_WORDS {
                        self.repair(Repair::TooManyClauses);
                        return None;
                    }
                    self.words += 1;
                    Some(Node::Word(text, Place::Anywhere))
                }
                None => self.counted(|| words(text, starred, Place::Anywhere)),
            },
            _ => None,
        }
    }

    fn parenthesis(&mut self, depth: usize) -> Option<Node> {
        if depth >= MAX_DEPTH {
            self.repair(Repair::TooDeep);
            self.skip();
            return None;
        }
        let group = self.group(depth + 1);
        if self.at < self.tokens.len() {
            self.at += 1;
        } else {
            self.repair(Repair::UnmatchedParenthesis);
        }
        match group.clauses.len() {
            0 => None,
            1 if group.clauses[0].0 != Occur::Not => {
                group.clauses.into_iter().next().map(|it| it.1)
            }
            _ => Some(Node::Group(group)),
        }
    }

    /// Passes over a group whose opening parenthesis was just read.
    fn skip(&mut self) {
        let mut open = 1_usize;
        while let Some(token) = self.tokens.get(self.at) {
            self.at += 1;
            match token {
                Token::Open => open += 1,
                Token::Close => open -= 1,
                _ => {}
            }
            if open == 0 {
                return;
            }
        }
    }

    fn condition(
        &mut self,
        name: &str,
        value: String,
        starred: bool,
        quoted: bool,
    ) -> Option<Node> {
        let place = match name {
            "title" | "intitle" => Place::Title,
            "inurl" | "url" => Place::Address,
            "before" | "after" => return self.date(name, &value),
            _ => {
                let value = value.trim().to_lowercase();
                return self.counted(|| match name {
                    "site" | "host" => Node::Site(plain_site(&value)),
                    "lang" | "language" => {
                        let code = crate::language::named(&value).map(str::to_owned);
                        Node::Language(code.unwrap_or_else(|| crate::page::primary(&value)))
                    }
                    _ => Node::Type(value),
                });
            }
        };
        self.counted(|| {
            if quoted {
                Node::Phrase(value, place)
            } else {
                words(value, starred, place)
            }
        })
    }

    fn date(&mut self, name: &str, value: &str) -> Option<Node> {
        // `2024-05` is the month's first day, `2024` the year's.
        let spelt = if value.len() == 7 {
            format!("{value}-01")
        } else {
            value.to_owned()
        };
        match Timestamp::parse(&spelt) {
            Some(moment) if name == "before" => self.counted(|| Node::Before(moment)),
            Some(moment) => self.counted(|| Node::After(moment)),
            None => {
                self.repair(Repair::BadDate(format!("{name}:{}", cut(value, 40))));
                None
            }
        }
    }

    /// Counts a clause; none when there are enough.
    fn counted(&mut self, node: impl FnOnce() -> Node) -> Option<Node> {
        if self.clauses >= MAX_CLAUSES {
            self.repair(Repair::TooManyClauses);
            return None;
        }
        self.clauses += 1;
        Some(node())
    }

    fn repair(&mut self, repair: Repair) {
        if !self.repairs.contains(&repair) {
            self.repairs.push(repair);
        }
    }
}

/// What a clause does without a sign: words may be there, everything more exact must. One plain word among
/// alternatives makes them a wish.
fn usual(node: &Node) -> Occur {
    let is_exact = match node {
        Node::Word(_, place) | Node::Prefix(_, place) => *place != Place::Anywhere,
        Node::Either(nodes) => nodes.iter().all(|node| usual(node) == Occur::Must),
        Node::Group(group) => {
            let mut clauses = group.clauses.iter();
            clauses.all(|(occur, node)| *occur == Occur::Not || usual(node) == Occur::Must)
        }
        _ => true,
    };
    if is_exact { Occur::Must } else { Occur::Should }
}

fn words(text: String, starred: bool, place: Place) -> Node {
    if starred {
        Node::Prefix(text, place)
    } else {
        Node::Word(text, place)
    }
}

/// Makes a clause an alternative of the one before it. A sign before either of them is one of both.
fn join(clauses: &mut Vec<Clause>, clause: Clause) {
    let Some(last) = clauses.pop() else {
        clauses.push(clause);
        return;
    };
    let mut nodes = match last.node {
        Node::Either(nodes) => nodes,
        node => vec![node],
    };
    nodes.push(clause.node);
    let either = Node::Either(nodes);
    clauses.push(Clause {
        occur: if last.is_signed {
            last.occur
        } else if clause.is_signed {
            clause.occur
        } else {
            usual(&either)
        },
        is_signed: last.is_signed || clause.is_signed,
        node: either,
    });
}

/// `https://Example.org:8080/docs/` and `.example.org` are `example.org/docs` and `example.org`; names are spelt as in
/// addresses (`münchen.de` is `xn--mnchen-3ya.de`).
fn plain_site(value: &str) -> String {
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    let rest = rest.trim_start_matches("*.").trim_matches(['.', '/']);
    let (host, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let url = CanonicalUrl::parse(&format!("http://{host}/"));
    let host = url.as_ref().map_or(host, CanonicalUrl::host_str);
    format!("{host}{path}")
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
