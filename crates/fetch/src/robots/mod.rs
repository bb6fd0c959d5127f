//! Robots: what a site's robots.txt lets us fetch (RFC 9309). Bytes in, verdicts out; no sockets, no clock.
//!
//! ```text
//! (fetch of /robots.txt) ──> Answer ──> Standing ──> Access ──> Rules ──> Verdict
//!                                          │  ^      (parsed for one agent)
//!                                          v  │
//!                                    (disk, for a day)
//! ```
//!
//! A verdict costs a look-up for what comes before the first wildcard of each rule, and a bounded effort for all the
//! wildcards together (`pattern::Fuel`): a hostile file can be useless, but not expensive. Where that effort is not enough,
//! a rule that disallows counts by its beginning.
//!
//! Where RFC 9309 leaves room we do as Google's parser does (missing colons, `index.html` as the directory,
//! lines cut at 16,663 bytes; frequent typos only where [`Spelling::Tolerant`] is set); where the two differ we follow the RFC. `tests/robots_conformance.rs` lists
//! every difference.
//!
//! ```
//! use teia_fetch::robots::Rules;
//!
//! let rules = Rules::parse(b"User-agent: teia\nDisallow: /private/\nCrawl-delay: 2.5\n", "Teia");
//! let verdict = rules.verdict("/private/diary.html");
//! assert!(!verdict.allowed);
//! let rule = verdict.rule.expect("a rule decided");
//! assert_eq!((rule.number, rule.text.as_str()), (2, "Disallow: /private/"));
//! assert!(rules.verdict_for_url("https://example.org/public").allowed);
//! ```

mod line;
mod pattern;
mod rules;
mod standing;

pub use line::{MAX_BYTES, Spelling};
pub use rules::{RuleLine, Rules, Verdict, is_agent_token};
pub use standing::{Access, AfterPatience, Answer, Config, Refusal, Standing};
