//! URLs that look like one of an endless series, by their text alone.

use super::{FilterConfig, RuleKind, Verdict};
use crate::{CanonicalUrl, Outcome, canonical};

/// The limits past which a URL is taken for a trap.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrapRules {
    query_params: usize,
    path_segments: usize,
    segment_repeat: usize,
    refuse_session_ids: bool,
}

impl TrapRules {
    pub(super) fn new(config: &FilterConfig) -> Self {
        Self {
            query_params: config.max_query_params,
            path_segments: config.max_path_segments,
            segment_repeat: config.max_segment_repeat,
            refuse_session_ids: config.refuse_session_ids,
        }
    }

    /// The refusal of a URL that looks like a trap.
    pub(super) fn refusal(&self, url: &CanonicalUrl) -> Option<Verdict> {
        let rule = self.suspicion(url)?;
        Some(Verdict::refuse(
            RuleKind::Trap,
            rule,
            Outcome::TRAP_SUSPECTED,
        ))
    }

    fn suspicion(&self, url: &CanonicalUrl) -> Option<String> {
        let query = url
            .path_and_query()
            .split_once('?')
            .map_or("", |(_, query)| query);
        let params = || query.split('&').filter(|param| !param.is_empty());
        if params().count() > self.query_params {
            return Some(format!("max-query-params {}", self.query_params));
        }
        let mut segments = Vec::new();
        for segment in url.path().split('/').filter(|segment| !segment.is_empty()) {
            if segments.len() == self.path_segments {
                return Some(format!("max-path-segments {}", self.path_segments));
            }
            segments.push(segment);
        }
        if let Some(repeated) = self.repetition(&segments) {
            return Some(format!(
                "max-segment-repeat {}: {repeated}",
                self.segment_repeat
            ));
        }
        if self.refuse_session_ids {
            let in_path = segments
                .iter()
                .flat_map(|segment| segment.split(';').skip(1));
            let name = in_path
                .chain(params())
                .map(|param| param.split('=').next().unwrap_or(param))
                .find(|name| canonical::is_session_name(name))?;
            return Some(format!("refuse-session-ids {name}"));
        }
        None
    }

    /// What repeats too often in a path: `/a/b/a/b/a/b` by its pair, `/a/a/a` by its run,
    /// `/a/x/a/y/a/z/a` by its segment. (A longer sequence that repeats has a pair that does.)
    /// The number of segments is bounded, so looking at all pairs is cheap.
    fn repetition(&self, segments: &[&str]) -> Option<String> {
        let limit = self.segment_repeat;
        if limit == 0 || segments.len() < limit {
            return None;
        }
        let count = |wanted: &[&str]| {
            segments
                .windows(wanted.len())
                .filter(|found| *found == wanted)
                .count()
        };
        for (at, segment) in segments.iter().enumerate() {
            if count(&[segment]) > limit {
                return Some((*segment).to_owned());
            }
            let run = segments[at..]
                .iter()
                .take_while(|other| *other == segment)
                .count();
            if limit > 1 && run >= limit {
                return Some((*segment).to_owned());
            }
        }
        let pair = segments
            .windows(2)
            .find(|pair| limit > 1 && count(pair) >= limit)?;
        Some(pair.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, rule: Option<&str>) {
        let url = CanonicalUrl::parse(&format!("http://a.example{path}")).unwrap();
        let verdict = TrapRules::new(&FilterConfig::default()).refusal(&url);
        assert_eq!(
            verdict.as_ref().map(|verdict| verdict.rule.as_ref()),
            rule,
            "{path}"
        );
        assert!(verdict.is_none_or(|verdict| verdict.outcome == Some(Outcome::TRAP_SUSPECTED)));
    }

    #[test]
    fn honest_paths_pass() {
        for path in [
            "/",
            "/a/a",
            "/a/b/a/b",
            "/a/b/c/a/b/c",
            "/2024/01/01/index.html",
            "/en/docs/en/docs/en",
            "/a/x/a/y/a/z",
            "/000/000/012/photo.jpg",
            "/?a&a&a",
        ] {
            check(path, None);
        }
    }

    #[test]
    fn growing_paths_are_refused() {
        check("/a/a/a", Some("max-segment-repeat 3: a"));
        check("/x/a/b/a/b/a/b", Some("max-segment-repeat 3: a/b"));
        check("/a/b/c/a/b/c/a/b/c", Some("max-segment-repeat 3: a/b"));
        check("/a/x/a/y/a/z/a", Some("max-segment-repeat 3: a"));
    }

    #[test]
    fn the_limits_hold_exactly() {
        let segments = |n: usize| (0..n).map(|i| format!("/s{i}")).collect::<String>();
        check(&segments(32), None);
        check(&segments(33), Some("max-path-segments 32"));
        let params = |n: usize| format!("/?{}", vec!["p=1"; n].join("&"));
        check(&params(32), None);
        check(&params(33), Some("max-query-params 32"));
    }

    #[test]
    fn session_ids_are_a_rule_only_when_asked_for() {
        check("/p;jsessionid=1?PHPSESSID=2", None);
        let config = FilterConfig {
            refuse_session_ids: true,
            ..FilterConfig::default()
        };
        let rules = TrapRules::new(&config);
        for (text, rule) in [
            (
                "http://a.example/p;jsessionid=1",
                Some("refuse-session-ids jsessionid"),
            ),
            (
                "http://a.example/p?x=1&PHPSESSID=2",
                Some("refuse-session-ids PHPSESSID"),
            ),
            ("http://a.example/sid?x=sid", None),
        ] {
            let verdict = rules.refusal(&CanonicalUrl::parse(text).unwrap());
            assert_eq!(
                verdict.map(|verdict| verdict.rule.into_owned()).as_deref(),
                rule,
                "{text}"
            );
        }
    }
}
