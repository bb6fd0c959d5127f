//! The rules of a collection: its settings and seeds, compiled.

use std::sync::Arc;

use super::budget::{Budget, Spent};
use super::extension;
use super::patterns::Patterns;
use super::territory::{Place, Territory};
use super::trap::TrapRules;
use super::{Candidate, Fetched, Filter, FilterConfig, FilterError, RuleKind, Verdict};
use crate::scope::Scope;
use crate::seed::shortened;
use crate::{CanonicalUrl, LinkKind, MediaType, Outcome, TypeGate, check_language};

/// The usual [`Filter`]: a [`FilterConfig`] compiled for given seeds.
///
/// Immutable while it is used, cheap to clone but for the seeds; share it in an `Arc`.
///
/// ```
/// use teia_base::CanonicalUrl;
/// use teia_base::filter::{Candidate, Filter, FilterConfig, Rules};
///
/// let seed = CanonicalUrl::parse("https://example.org/")?;
/// let config = FilterConfig { exclude: vec!["/private/".to_owned()], ..FilterConfig::default() };
/// let rules = Rules::compile(&config, std::slice::from_ref(&seed))?;
///
/// let url = CanonicalUrl::parse("https://example.org/private/x")?;
/// let verdict = rules.before(&Candidate { url: &url, depth: 1, ..Candidate::seed(&seed) });
/// assert!(!verdict.is_admitted());
/// assert_eq!(verdict.rule, "exclude /private/");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rules {
    limits: Arc<Limits>,
    territory: Territory,
}

/// What follows from the settings alone.
#[derive(Debug)]
struct Limits {
    config: FilterConfig,
    directories: Vec<String>,
    include: Patterns,
    exclude: Patterns,
    words: Patterns,
    text_include: Patterns,
    text_exclude: Patterns,
    trap: TrapRules,
    budget: Budget,
    gate: Option<Arc<TypeGate>>,
}

impl Rules {
    /// Compiles the settings. The seeds themselves are judged by [`Rules::check_seed`].
    pub fn compile(config: &FilterConfig, seeds: &[CanonicalUrl]) -> Result<Self, FilterError> {
        let gate = (!config.types.is_empty()).then(|| {
            let accepted = config
                .types
                .iter()
                .chain(extension::link_patterns())
                .cloned()
                .collect();
            Arc::new(TypeGate { accepted })
        });
        for language in &config.languages {
            check_language(language).map_err(FilterError::Language)?;
        }
        let limits = Limits {
            directories: config
                .directories
                .iter()
                .map(|text| read_directory(text))
                .collect::<Result<_, _>>()?,
            include: Patterns::compile("include", &config.include)?,
            exclude: Patterns::compile("exclude", &config.exclude)?,
            words: Patterns::words("words", &config.words)?,
            text_include: Patterns::compile("text-include", &config.text_include)?,
            text_exclude: Patterns::compile("text-exclude", &config.text_exclude)?,
            trap: TrapRules::new(config),
            budget: Budget::new(config),
            gate,
            config: config.clone(),
        };
        Ok(Self {
            territory: Territory::new(config, seeds)?,
            limits: Arc::new(limits),
        })
    }

    /// The same rules around one seed more (also for where a seed's redirect leads).
    #[must_use]
    pub fn with_seed(mut self, seed: &CanonicalUrl) -> Self {
        self.territory.add(seed);
        self
    }

    /// Refuses a seed that could never be fetched, so that the person who gave it learns why.
    pub fn check_seed(&self, seed: &CanonicalUrl) -> Result<(), FilterError> {
        let verdict = self.before(&Candidate::seed(seed));
        if verdict.is_admitted() {
            return Ok(());
        }
        Err(FilterError::Seed {
            url: shortened(seed.as_str()),
            rule: verdict.rule.into_owned(),
        })
    }

    /// Whether the URL lies where the collection reaches: by scope, listed hosts, directories,
    /// include and exclude. Nothing is asked of its depth or its look.
    pub fn is_in_scope(&self, url: &CanonicalUrl) -> bool {
        self.limits.exclude.find(url.as_str()).is_none() && self.place(url).is_admitted()
    }

    /// The refusal of one more document, if a budget is spent.
    pub fn spent(&self, spent: &Spent) -> Option<Verdict> {
        self.limits.budget.refusal(spent)
    }

    /// Which types of answer are worth a body: those that are kept, and those with links.
    /// `None` means all, as for a requisite.
    pub fn type_gate(&self, requisite: bool) -> Option<Arc<TypeGate>> {
        self.limits.gate.clone().filter(|_| !requisite)
    }

    /// The settings that these rules were compiled from.
    pub fn config(&self) -> &FilterConfig {
        &self.limits.config
    }

    /// What no URL escapes: scheme, length, exclude, and (but for seeds) the look of a trap.
    fn refusal(&self, link: &Candidate<'_>) -> Option<Verdict> {
        let config = &self.limits.config;
        let (scheme, text) = (link.url.scheme(), link.url.as_str());
        if !config
            .schemes
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(scheme))
        {
            return Some(Verdict::refuse(
                RuleKind::Scheme,
                format!("schemes: not {scheme}"),
                Outcome::SCHEME_BLOCKED,
            ));
        }
        if text.len() > config.max_url_bytes {
            let rule = format!("max-url-bytes {}", config.max_url_bytes);
            return Some(Verdict::refuse(
                RuleKind::Length,
                rule,
                Outcome::URL_TOO_LONG,
            ));
        }
        if let Some(pattern) = self.limits.exclude.find(text) {
            return Some(Verdict::refuse(
                RuleKind::Exclude,
                format!("exclude {pattern}"),
                Outcome::OUT_OF_SCOPE,
            ));
        }
        if link.kind == LinkKind::Seed {
            return None;
        }
        self.limits.trap.refusal(link.url)
    }

    /// Where the URL lies: admitted with the reason, or out of scope.
    fn place(&self, url: &CanonicalUrl) -> Verdict {
        let limits = &self.limits;
        let out = |kind, rule: String| Verdict::refuse(kind, rule, Outcome::OUT_OF_SCOPE);
        let Some(place) = self.territory.find(url) else {
            return out(RuleKind::Scope, format!("scope {}", self.territory.scope()));
        };
        if !limits.directories.is_empty()
            && !limits
                .directories
                .iter()
                .any(|it| url.path().starts_with(it.as_str()))
        {
            return out(
                RuleKind::Directory,
                format!("directories {}", limits.directories.join(", ")),
            );
        }
        let included = limits.include.find(url.as_str());
        if included.is_none() && !limits.include.is_empty() {
            return out(RuleKind::Include, "include: no pattern matches".to_owned());
        }
        if let Some(limit) = limits
            .config
            .max_path_depth
            .filter(|&limit| url.path_depth() > limit)
        {
            return out(RuleKind::PathDepth, format!("max-path-depth {limit}"));
        }
        if let Some(pattern) = included {
            return Verdict::admit(RuleKind::Include, format!("include {pattern}"));
        }
        match place {
            Place::Anywhere => Verdict::admit(RuleKind::Scope, "scope any"),
            Place::Listed => Verdict::admit(RuleKind::Host, format!("hosts {}", url.host_str())),
            Place::Scope(place) => {
                let word = match self.territory.scope() {
                    Scope::Domain => "domain",
                    Scope::Prefix => "prefix",
                    Scope::Suffix(_) => "suffix",
                    Scope::Host | Scope::Any => "host",
                };
                Verdict::admit(RuleKind::Scope, format!("scope {word} {place}"))
            }
        }
    }

    /// The refusal of a file whose name says that it would neither be kept nor have links.
    fn name_refusal(&self, link: &Candidate<'_>) -> Option<Verdict> {
        let types = extension::types_of(link.url);
        if types.is_empty()
            || link.kind == LinkKind::Sitemap
            || types.iter().any(|it| self.keeps_type(it))
        {
            return None;
        }
        Some(Verdict::refuse(
            RuleKind::Type,
            self.type_rule(),
            Outcome::TYPE_NOT_ACCEPTED,
        ))
    }

    fn depth_refusal(&self, depth: u16) -> Option<Verdict> {
        let limit = self
            .limits
            .config
            .max_depth
            .filter(|&limit| depth > limit)?;
        Some(Verdict::refuse(
            RuleKind::Depth,
            format!("max-depth {limit}"),
            Outcome::OUT_OF_SCOPE,
        ))
    }

    fn keeps_type(&self, media_type: &MediaType) -> bool {
        let types = &self.limits.config.types;
        types.is_empty() || types.iter().any(|pattern| pattern.matches(media_type))
    }

    fn type_rule(&self) -> String {
        let types: Vec<_> = self
            .limits
            .config
            .types
            .iter()
            .map(ToString::to_string)
            .collect();
        format!("types {}", types.join(", "))
    }

    /// Where the URL lies; a page outside the scope may be in a language that lets it in, and only
    /// a fetch can tell.
    fn place_or_language(&self, link: &Candidate<'_>) -> Verdict {
        let place = self.place(link.url);
        let wanted = &self.limits.config.or_languages;
        let is_outside = !place.is_admitted() && place.kind == RuleKind::Scope;
        let is_page = !link.kind.is_requisite() && link.kind != LinkKind::Sitemap;
        if wanted.is_empty() || !is_outside || !is_page {
            return place;
        }
        Verdict::admit(
            RuleKind::Language,
            format!("or-languages {}", wanted.join(", ")),
        )
    }

    /// Whether a page outside the scope is in a language that lets it in; why not, where it is not.
    fn foreign_refusal(&self, resource: &Fetched<'_>) -> Option<Verdict> {
        let wanted = &self.limits.config.or_languages;
        let language = resource.language;
        if language.is_some_and(|language| wanted.iter().any(|it| speaks(language, it))) {
            return None;
        }
        let found = language.unwrap_or("a page whose language can be told");
        let rule = format!("or-languages {}: not {found}", wanted.join(", "));
        // A seed is where a person wants to begin, whatever it speaks.
        Some(match resource.depth {
            0 => Verdict::follow_only(RuleKind::Language, rule),
            _ => Verdict::refuse(RuleKind::Language, rule, Outcome::LANGUAGE_REFUSED),
        })
    }

    /// What speaks against keeping a document: where it lies (a seed may lie outside), or its text.
    fn objection(&self, resource: &Fetched<'_>) -> Option<Verdict> {
        let place = self.place(resource.url);
        let limits = &self.limits;
        if !place.is_admitted() {
            let may_be_let_in =
                place.kind == RuleKind::Scope && !limits.config.or_languages.is_empty();
            if !may_be_let_in {
                return Some(Verdict::follow_only(place.kind, place.rule));
            }
            if let Some(refusal) = self.foreign_refusal(resource) {
                return Some(refusal);
            }
        }
        let languages = &limits.config.languages;
        if let Some(language) = resource.language.filter(|_| !languages.is_empty())
            && !languages.iter().any(|wanted| speaks(language, wanted))
        {
            return Some(Verdict::follow_only(
                RuleKind::Language,
                format!("languages: not {language}"),
            ));
        }
        let find = |patterns: &Patterns| {
            patterns
                .find(resource.text)
                .or_else(|| patterns.find(resource.title))
                .map(str::to_owned)
        };
        let refused = if !limits.words.is_empty() && find(&limits.words).is_none() {
            format!("words {}", limits.config.words.join(", "))
        } else if !limits.text_include.is_empty() && find(&limits.text_include).is_none() {
            "text-include: no pattern matches".to_owned()
        } else {
            format!("text-exclude {}", find(&limits.text_exclude)?)
        };
        Some(Verdict::follow_only(RuleKind::Text, refused))
    }
}

impl Filter for Rules {
    fn before(&self, link: &Candidate<'_>) -> Verdict {
        if let Some(refusal) = self.refusal(link) {
            return refusal;
        }
        let place = self.place_or_language(link);
        if link.kind == LinkKind::Seed {
            return match place.is_admitted() {
                true => place,
                false => Verdict::follow_only(
                    RuleKind::Seed,
                    format!("seed, followed and not kept: {}", place.rule),
                ),
            };
        }
        // Hops come last: what they refuse passes every other rule.
        let verdict = match place.is_admitted() {
            true => self
                .name_refusal(link)
                .or_else(|| self.depth_refusal(link.depth))
                .unwrap_or(place),
            false => place,
        };
        let requisite =
            self.limits.config.requisites && link.kind.is_requisite() && link.from_kept_in_scope;
        match (requisite, verdict.is_admitted()) {
            (false, _) => verdict,
            (true, true) => Verdict {
                requisite,
                ..verdict
            },
            (true, false) => Verdict {
                requisite,
                ..Verdict::keep_only(RuleKind::Requisite, "requisites")
            },
        }
    }

    fn after(&self, resource: &Fetched<'_>) -> Verdict {
        let max_size = self.limits.config.max_size;
        if self.limits.config.has_own_max_size() && resource.body_bytes > max_size {
            return Verdict::refuse(
                RuleKind::Size,
                format!("max-size {max_size}"),
                Outcome::SIZE_EXCEEDED,
            );
        }
        if resource.requisite {
            let follow =
                self.is_in_scope(resource.url) && self.depth_refusal(resource.depth).is_none();
            return Verdict {
                requisite: true,
                follow,
                ..Verdict::admit(RuleKind::Requisite, "requisites")
            };
        }
        let links = resource.media_type.is_none_or(extension::holds_links);
        let kept = match resource.media_type {
            Some(media_type) => self.keeps_type(media_type),
            None => self.limits.gate.is_none(),
        };
        match (kept, links) {
            (false, false) => {
                Verdict::refuse(RuleKind::Type, self.type_rule(), Outcome::TYPE_NOT_ACCEPTED)
            }
            (false, true) => Verdict::follow_only(RuleKind::Type, self.type_rule()),
            (true, _) => self.objection(resource).unwrap_or(Verdict::KEEP_AND_FOLLOW),
        }
    }
}

/// `/docs`, `docs/` and `/docs/` are one directory, spelled as paths of normal URLs are.
fn read_directory(text: &str) -> Result<String, FilterError> {
    let refuse = || FilterError::Directory(text.to_owned());
    let trimmed = text.trim().trim_matches('/');
    if trimmed.is_empty() || trimmed.contains(['?', '#']) {
        return Err(refuse());
    }
    let url = CanonicalUrl::parse(&format!("http://directory.example/{trimmed}/"))
        .map_err(|_| refuse())?;
    Ok(url.path().to_owned())
}

/// Whether a language tag is the wanted one or a variety of it: `pt-BR` speaks `pt`.
fn speaks(language: &str, wanted: &str) -> bool {
    let (language, wanted) = (language.as_bytes(), wanted.trim().as_bytes());
    language
        .get(..wanted.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(wanted))
        && language
            .get(wanted.len())
            .is_none_or(|byte| matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
