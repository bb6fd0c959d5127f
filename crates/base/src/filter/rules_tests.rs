use super::*;
use proptest::prelude::*;

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text).unwrap()
}

fn list(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

fn types(items: &[&str]) -> Vec<crate::MediaPattern> {
    items.iter().map(|item| item.parse().unwrap()).collect()
}

/// Rules around the seed `http://a.example/`.
fn rules(config: &FilterConfig) -> Rules {
    Rules::compile(config, &[url("http://a.example/")]).unwrap()
}

fn link(
    rules: &Rules,
    text: &str,
    kind: LinkKind,
    depth: u16,
    from_kept_in_scope: bool,
) -> Verdict {
    let from = url("http://a.example/");
    rules.before(&Candidate {
        url: &url(text),
        depth,
        kind,
        from_kept_in_scope,
        from: Some(&from),
    })
}

#[track_caller]
fn check(rules: &Rules, text: &str, rule: &str, outcome: Option<Outcome>) {
    let verdict = link(rules, text, LinkKind::Anchor, 1, true);
    assert_eq!(
        (verdict.rule.as_ref(), verdict.outcome),
        (rule, outcome),
        "{text}"
    );
    assert_eq!(verdict.is_admitted(), outcome.is_none(), "{text}");
}

const OUT: Option<Outcome> = Some(Outcome::OUT_OF_SCOPE);

#[test]
fn scope_names_its_rule() {
    let rules = rules(&FilterConfig {
        hosts: list(&["*.b.example"]),
        ..FilterConfig::default()
    });
    check(&rules, "https://a.example/x", "scope host a.example", None);
    check(&rules, "http://c.b.example/x", "hosts c.b.example", None);
    check(&rules, "http://other.example/", "scope host", OUT);
    let wider = rules.with_seed(&url("http://other.example/"));
    check(
        &wider,
        "http://other.example/",
        "scope host other.example",
        None,
    );
    for (scope, rule) in [
        ("domain", "scope domain a.example"),
        ("prefix", "scope prefix a.example/"),
        ("any", "scope any"),
        ("suffix:.example", "scope suffix .example"),
    ] {
        let config = FilterConfig {
            scope: scope.parse().unwrap(),
            ..FilterConfig::default()
        };
        check(
            &super::tests::rules(&config),
            "http://a.example/x",
            rule,
            None,
        );
    }
}

#[test]
fn schemes_and_length_are_limits_for_all() {
    let rules = rules(&FilterConfig {
        scope: Scope::Any,
        ..FilterConfig::default()
    });
    check(
        &rules,
        "ftp://a.example/",
        "schemes: not ftp",
        Some(Outcome::SCHEME_BLOCKED),
    );
    let text = |bytes: usize| {
        format!(
            "http://a.example/{}",
            "x".repeat(bytes - "http://a.example/".len())
        )
    };
    check(&rules, &text(2048), "scope any", None);
    check(
        &rules,
        &text(2049),
        "max-url-bytes 2048",
        Some(Outcome::URL_TOO_LONG),
    );
}

#[test]
fn exclude_wins_over_include() {
    let rules = rules(&FilterConfig {
        include: list(&["/news/", "\\.pdf$"]),
        exclude: list(&["/private/"]),
        ..FilterConfig::default()
    });
    check(&rules, "http://a.example/news/1", "include /news/", None);
    check(&rules, "http://a.example/x.pdf", "include \\.pdf$", None);
    check(
        &rules,
        "http://a.example/other",
        "include: no pattern matches",
        OUT,
    );
    check(
        &rules,
        "http://a.example/news/private/",
        "exclude /private/",
        OUT,
    );
    check(&rules, "http://b.example/news/", "scope host", OUT);
}

#[test]
fn directories_hold_what_lies_in_them() {
    let rules = rules(&FilterConfig {
        directories: list(&["docs", "/a b/"]),
        ..FilterConfig::default()
    });
    check(
        &rules,
        "http://a.example/docs/x",
        "scope host a.example",
        None,
    );
    check(
        &rules,
        "http://a.example/a%20b/x",
        "scope host a.example",
        None,
    );
    check(
        &rules,
        "http://a.example/docsy",
        "directories /docs/, /a%20b/",
        OUT,
    );
    let bad = FilterConfig {
        directories: list(&["/"]),
        ..FilterConfig::default()
    };
    assert_eq!(
        Rules::compile(&bad, &[]).unwrap_err(),
        FilterError::Directory("/".to_owned())
    );
}

#[test]
fn depth_and_path_depth_are_independent() {
    let rules = rules(&FilterConfig {
        max_depth: Some(2),
        max_path_depth: Some(1),
        ..FilterConfig::default()
    });
    let deep = link(&rules, "http://a.example/x", LinkKind::Anchor, 3, true);
    assert_eq!(
        (deep.kind, deep.rule.as_ref(), deep.outcome),
        (RuleKind::Depth, "max-depth 2", OUT)
    );
    assert!(link(&rules, "http://a.example/x", LinkKind::Anchor, 2, true).is_admitted());
    check(&rules, "http://a.example/x/y", "max-path-depth 1", OUT);
    // A URL that another rule refuses as well is not one that a shorter way would admit.
    let both = link(&rules, "http://b.example/", LinkKind::Anchor, 3, true);
    assert_eq!(both.kind, RuleKind::Scope);
}

#[test]
fn traps_are_refused_but_for_seeds() {
    let rules = rules(&FilterConfig::default());
    check(
        &rules,
        "http://a.example/x/x/x",
        "max-segment-repeat 3: x",
        Some(Outcome::TRAP_SUSPECTED),
    );
    assert_eq!(rules.check_seed(&url("http://a.example/x/x/x")), Ok(()));
}

#[test]
fn a_seed_is_followed_even_where_it_is_not_kept() {
    let rules = rules(&FilterConfig {
        include: list(&["/news/"]),
        exclude: list(&["/private/"]),
        ..FilterConfig::default()
    });
    let seed = url("http://a.example/");
    let verdict = rules.before(&Candidate::seed(&seed));
    assert_eq!(
        (verdict.keep, verdict.follow, verdict.kind),
        (false, true, RuleKind::Seed)
    );
    assert_eq!(
        verdict.rule,
        "seed, followed and not kept: include: no pattern matches"
    );
    let after = rules.after(&Fetched {
        url: &seed,
        ..fetched(&seed, None)
    });
    assert_eq!((after.keep, after.follow), (false, true));
    assert!(
        rules
            .before(&Candidate::seed(&url("http://a.example/news/")))
            .keep
    );
    let error = rules
        .check_seed(&url("http://a.example/private/"))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the seed http://a.example/private/ is left out by the rule `exclude /private/`; change that rule or leave out the seed"
    );
}

#[test]
fn file_names_save_requests_and_never_lose_links() {
    let rules = rules(&FilterConfig {
        types: types(&["image/png"]),
        ..FilterConfig::default()
    });
    for text in [
        "/",
        "/a.html",
        "/x.php",
        "/feed.rss",
        "/sitemap.xml.gz",
        "/a.png",
        "/style.css",
        "/wiki/File:A.jpg",
    ] {
        check(
            &rules,
            &format!("http://a.example{text}"),
            "scope host a.example",
            None,
        );
    }
    for text in ["/a.jpg", "/a.pdf", "/a.zip", "/a.mp4", "/a.js"] {
        check(
            &rules,
            &format!("http://a.example{text}"),
            "types image/png",
            Some(Outcome::TYPE_NOT_ACCEPTED),
        );
    }
    check(
        &super::tests::rules(&FilterConfig::default()),
        "http://a.example/a.zip",
        "scope host a.example",
        None,
    );
    let sitemap = link(
        &rules,
        "http://a.example/map.tgz",
        LinkKind::Sitemap,
        1,
        true,
    );
    assert!(sitemap.is_admitted());
}

#[test]
fn requisites_pass_scope_depth_and_type() {
    let rules = rules(&FilterConfig {
        types: types(&["text/html"]),
        max_depth: Some(1),
        exclude: list(&["/ads/"]),
        ..FilterConfig::default()
    });
    let outside = link(&rules, "http://cdn.example/a.png", LinkKind::Image, 9, true);
    assert_eq!(
        (
            outside.keep,
            outside.follow,
            outside.requisite,
            outside.rule.as_ref()
        ),
        (true, false, true, "requisites")
    );
    let inside = link(&rules, "http://a.example/a.css", LinkKind::Style, 1, true);
    assert_eq!(
        (inside.keep, inside.follow, inside.requisite),
        (true, true, true)
    );
    for (text, outcome) in [
        ("http://cdn.example/ads/a.png", Outcome::OUT_OF_SCOPE),
        ("http://cdn.example/a/a/a/a.png", Outcome::TRAP_SUSPECTED),
        ("ftp://cdn.example/a.png", Outcome::SCHEME_BLOCKED),
    ] {
        assert_eq!(
            link(&rules, text, LinkKind::Image, 1, true).outcome,
            Some(outcome),
            "{text}"
        );
    }
    assert!(
        !link(
            &rules,
            "http://cdn.example/a.png",
            LinkKind::Image,
            1,
            false
        )
        .is_admitted()
    );
    assert!(
        !link(
            &rules,
            "http://cdn.example/a.png",
            LinkKind::Anchor,
            1,
            true
        )
        .is_admitted()
    );
    let off = super::tests::rules(&FilterConfig {
        requisites: false,
        ..FilterConfig::default()
    });
    assert!(!link(&off, "http://cdn.example/a.png", LinkKind::Image, 1, true).is_admitted());
}

fn fetched<'a>(url: &'a CanonicalUrl, media_type: Option<&'a MediaType>) -> Fetched<'a> {
    Fetched {
        url,
        depth: 1,
        media_type,
        body_bytes: 10,
        text: "",
        title: "",
        language: None,
        requisite: false,
    }
}

#[test]
fn after_the_fetch_types_decide_what_is_kept_and_followed() {
    let rules = rules(&FilterConfig {
        types: types(&["image/*"]),
        ..FilterConfig::default()
    });
    let page = url("http://a.example/x");
    for (essence, keep, follow, outcome) in [
        ("text/html", false, true, None),
        ("image/png", true, true, None),
        (
            "application/zip",
            false,
            false,
            Some(Outcome::TYPE_NOT_ACCEPTED),
        ),
        ("application/rss+xml", false, true, None),
    ] {
        let media_type = MediaType::parse(essence).unwrap();
        let verdict = rules.after(&fetched(&page, Some(&media_type)));
        assert_eq!(
            (verdict.keep, verdict.follow, verdict.outcome),
            (keep, follow, outcome),
            "{essence}"
        );
        let gate = rules.type_gate(false).unwrap();
        assert_eq!(
            gate.accepts(Some(&media_type)),
            verdict.is_admitted(),
            "{essence}"
        );
    }
    let unknown = rules.after(&fetched(&page, None));
    assert_eq!((unknown.keep, unknown.follow), (false, true));
    assert!(rules.type_gate(true).is_none());
    assert!(
        super::tests::rules(&FilterConfig::default())
            .type_gate(false)
            .is_none()
    );
    let zip = MediaType::parse("application/zip").unwrap();
    let requisite = rules.after(&Fetched {
        requisite: true,
        ..fetched(&page, Some(&zip))
    });
    assert!(requisite.keep && requisite.requisite && requisite.follow);
    let elsewhere = url("http://cdn.example/x");
    let requisite = rules.after(&Fetched {
        requisite: true,
        ..fetched(&elsewhere, Some(&zip))
    });
    assert!(requisite.keep && !requisite.follow);
}

#[test]
fn a_document_past_the_size_is_refused() {
    let rules = rules(&FilterConfig {
        max_size: 100,
        ..FilterConfig::default()
    });
    let page = url("http://a.example/x");
    assert!(
        rules
            .after(&Fetched {
                body_bytes: 100,
                ..fetched(&page, None)
            })
            .keep
    );
    let verdict = rules.after(&Fetched {
        body_bytes: 101,
        requisite: true,
        ..fetched(&page, None)
    });
    assert_eq!(
        (verdict.rule.as_ref(), verdict.outcome),
        ("max-size 100", Some(Outcome::SIZE_EXCEEDED))
    );
}

#[test]
fn text_decides_what_is_kept_and_never_what_is_followed() {
    let page = url("http://a.example/x");
    let config = FilterConfig {
        words: list(&["teia", "aranha"]),
        text_include: list(&["web|rede"]),
        text_exclude: list(&["casino"]),
        languages: list(&["pt"]),
        ..FilterConfig::default()
    };
    let rules = rules(&config);
    let judge = |text: &str, title: &str, language: Option<&str>| {
        let verdict = rules.after(&Fetched {
            text,
            title,
            language,
            ..fetched(&page, None)
        });
        assert!(verdict.follow && verdict.outcome.is_none());
        (verdict.keep, verdict.rule.into_owned())
    };
    assert_eq!(
        judge("a Aranha na rede", "", Some("pt-BR")),
        (true, String::new())
    );
    assert_eq!(judge("na rede", "Teia", None), (true, String::new()));
    assert_eq!(
        judge("na rede", "", None),
        (false, "words teia, aranha".to_owned())
    );
    assert_eq!(
        judge("teia", "", None),
        (false, "text-include: no pattern matches".to_owned())
    );
    assert_eq!(
        judge("teia rede casino", "", None),
        (false, "text-exclude casino".to_owned())
    );
    assert_eq!(
        judge("teia rede", "", Some("en")),
        (false, "languages: not en".to_owned())
    );
    assert!(!speaks("ptx", "pt") && !speaks("p", "pt") && speaks("PT_br", "pt"));
}

#[test]
fn budgets_are_asked_before_a_fetch() {
    let rules = rules(&FilterConfig {
        max_pages: Some(1),
        ..FilterConfig::default()
    });
    assert_eq!(rules.spent(&Spent::default()), None);
    assert_eq!(
        rules
            .spent(&Spent {
                documents: 1,
                ..Spent::default()
            })
            .unwrap()
            .rule,
        "max-pages 1"
    );
}

#[test]
fn bad_patterns_are_named() {
    let bad = FilterConfig {
        text_include: list(&["["]),
        ..FilterConfig::default()
    };
    let error = Rules::compile(&bad, &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("text-include `[` is not a regular expression"),
        "{error}"
    );
}

fn any_kind() -> impl Strategy<Value = LinkKind> {
    prop::sample::select(vec![
        LinkKind::Anchor,
        LinkKind::Image,
        LinkKind::Style,
        LinkKind::Script,
        LinkKind::Icon,
        LinkKind::Media,
        LinkKind::Object,
        LinkKind::Css,
        LinkKind::Redirect,
        LinkKind::Sitemap,
        LinkKind::Frame,
    ])
}

proptest! {
    #[test]
    fn nothing_is_a_requisite_of_a_page_that_is_not_kept(
        host in "[a-c]\\.example", path in "(/[a-c.]{1,5}){0,5}(\\.png|\\.css)?", kind in any_kind(), depth in 0..5_u16,
        kept in any::<bool>(), max_depth in prop::option::of(0..4_u16), with_types in any::<bool>(),
    ) {
        let config = FilterConfig {
            max_depth,
            types: if with_types { types(&["text/html"]) } else { Vec::new() },
            ..FilterConfig::default()
        };
        let rules = rules(&config);
        let text = format!("http://{host}{path}");
        let verdict = link(&rules, &text, kind, depth, kept);
        prop_assert!(!verdict.requisite || (kept && kind.is_requisite()));
        if !kept && host != "a.example" {
            prop_assert!(!verdict.is_admitted());
        }
        // An outcome is there exactly where nothing else is.
        prop_assert_eq!(verdict.is_admitted(), verdict.outcome.is_none());
        // What is refused for its depth alone is admitted nearer to the seeds.
        if verdict.kind == RuleKind::Depth {
            prop_assert!(link(&rules, &text, kind, 0, kept).is_admitted());
        }
    }
}
