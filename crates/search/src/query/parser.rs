//! Tokens to clauses. Total: every list of tokens has a meaning.

use teia_base::Timestamp;

use super::tokens::{Token, tokens};
use super::{Group, MAX_BYTES, MAX_CLAUSES, MAX_DEPTH, Node, Occur, Parsed, Place, Repair};
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
    repairs: Vec<Repair>,
}

impl Parser {
    /// Clauses up to a closing parenthesis or the end.
    fn group(&mut self, depth: usize) -> Group {
        let mut clauses: Vec<(Occur, Node)> = Vec::new();
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
                    Some((occur, _)) => {
                        if *occur == Occur::Should {
                            *occur = Occur::Must;
                        }
                        sign = sign.or(Some(Occur::Must));
                    }
                    None => self.repair(Repair::DanglingOperator("AND".into())),
                },
                _ => {
                    if let Some(node) = self.node(token, depth) {
                        let own = usual(&node);
                        join(
                            &mut clauses,
                            node,
                            sign.unwrap_or(own),
                            joins && sign != Some(Occur::Not),
                        );
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
        Group { clauses }
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
                _ => {
                    self.repair(Repair::EmptyField(name));
                    None
                }
            },
            Token::Quoted(text) => self.counted(|| Node::Phrase(text, Place::Anywhere)),
            Token::Bare(text, starred) => self.counted(|| words(text, starred, Place::Anywhere)),
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
        (!group.clauses.is_empty()).then_some(Node::Group(group))
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
                    "lang" | "language" => Node::Language(crate::page::primary(&value)),
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

/// What a clause does without a sign: words may be there, everything more exact must.
fn usual(node: &Node) -> Occur {
    match node {
        Node::Word(_, Place::Anywhere) | Node::Prefix(_, Place::Anywhere) => Occur::Should,
        Node::Either(_) | Node::Group(_) => Occur::Should,
        _ => Occur::Must,
    }
}

fn words(text: String, starred: bool, place: Place) -> Node {
    if starred {
        Node::Prefix(text, place)
    } else {
        Node::Word(text, place)
    }
}

/// Adds a clause, or makes it an alternative of the one before it.
fn join(clauses: &mut Vec<(Occur, Node)>, node: Node, occur: Occur, joins: bool) {
    if !joins {
        clauses.push((occur, node));
        return;
    }
    let Some((before, last)) = clauses.pop() else {
        clauses.push((occur, node));
        return;
    };
    // Alternatives of exact conditions are a condition; one plain word among them makes it a wish.
    let both = if before == Occur::Should || occur == Occur::Should {
        Occur::Should
    } else {
        before
    };
    let either = match last {
        Node::Either(mut nodes) => {
            nodes.push(node);
            nodes
        }
        last => vec![last, node],
    };
    clauses.push((both, Node::Either(either)));
}

/// `https://Example.org/docs/` and `.example.org` are `example.org/docs` and `example.org`.
fn plain_site(value: &str) -> String {
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    rest.trim_start_matches("*.")
        .trim_matches(['.', '/'])
        .to_owned()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
