use std::time::Duration;

use super::*;

fn config(text: &str) -> CollectionConfig {
    CollectionConfig::parse(text).unwrap()
}

#[track_caller]
fn refused(text: &str, words: &[&str]) {
    let message = CollectionConfig::parse(text).unwrap_err();
    for word in words {
        assert!(message.contains(word), "no {word:?} in {message}");
    }
}

const THREE: &str = r#"
[politeness]
delay = "2s"

[[site]]
match = ["*.example.pt", "b.example"]
[site.politeness]
delay = "10s"
[site.filter]
max-depth = 1

[[site]]
match = "www.example.pt"
[site.politeness]
delay = "3s"

[[site]]
match = ["10.0.0.0/8"]
[site.run]
retries = 0
"#;

#[test]
fn each_site_is_laid_over_those_before_it() {
    let sites = Sites::new(&config(THREE));
    let delay = |host: &str| sites.by_name(host).map(|own| own.config.politeness.delay);
    assert_eq!(delay("a.example"), None);
    assert_eq!(delay("xexample.pt"), None);
    assert_eq!(delay("example.pt"), Some(Duration::from_secs(10)));
    assert_eq!(delay("a.b.example.pt"), Some(Duration::from_secs(10)));
    assert_eq!(delay("www.example.pt"), Some(Duration::from_secs(3)));
    let own = sites.by_name("www.example.pt").unwrap();
    assert_eq!(own.config.filter.max_depth, Some(1));
    assert!(!own.fetches_otherwise);
    // What was worked out once is not worked out again.
    assert!(Arc::ptr_eq(&own, &sites.by_name("www.example.pt").unwrap()));
}

#[test]
fn a_range_holds_for_the_addresses_of_a_host_and_for_hosts_that_are_addresses() {
    let sites = Sites::new(&config(THREE));
    let retries = |host: &str, address: &str| {
        let key = sites.key(host, &[address.parse().unwrap()])?;
        Some(sites.settings(&key).config.run.retries)
    };
    assert_eq!(retries("a.example", "10.1.2.3"), Some(0));
    assert_eq!(retries("a.example", "11.1.2.3"), None);
    assert_eq!(retries("b.example", "10.1.2.3"), Some(0));
    assert_eq!(retries("b.example", "11.1.2.3"), Some(4));
    let literal = sites.by_name("10.0.0.1").unwrap();
    assert_eq!(literal.config.run.retries, 0);
}

#[test]
fn sites_survive_the_round_trip() {
    let config = config(THREE);
    let again = CollectionConfig::parse(&config.to_toml()).unwrap();
    assert_eq!(again.site, config.site);
    assert_eq!(again.to_toml(), config.to_toml());
    let annotated = CollectionConfig::parse(&crate::manual::annotated(&config)).unwrap();
    assert_eq!(annotated.to_toml(), config.to_toml());
}

#[test]
fn what_a_site_may_not_say_is_refused_with_its_line_and_the_reason() {
    for (setting, words) in [
        ("politeness.dela = \"1s\"", "`delay`"),
        (
            "politenes.delay = \"1s\"",
            "did you mean [site.politeness]?",
        ),
        ("max-depth = 1", "[filter]"),
        ("politeness.delay = \"soon\"", "not a duration"),
        ("politeness.delay = \"8d\"", "7d"),
        ("run.retries = 101", "from 0 to 100"),
        ("run.retries = \"many\"", "a whole number"),
        ("filter.include = [\"(\"]", "unclosed"),
        ("filter.types = [\"text\"]", "text"),
        (
            "fetch.proxy = \"http://ann:secret@p.example:1\"",
            "password",
        ),
        ("seeds = [\"a.example\"]", "as a whole"),
        ("mode = \"once\"", "as a whole"),
        ("schedule.every = \"1d\"", "begins, rests and ends"),
        ("run.hosts-at-once = 3", "run as a whole"),
        ("run.repository-memory = \"1GB\"", "run as a whole"),
        ("filter.hosts = [\"x.example\"]", "`match` names"),
        ("filter.max-pages = 3", "max-pages-per-host"),
        ("fetch.bandwidth = \"1MB\"", "share"),
        ("catalog.enabled = false", "one catalog"),
        ("links.enabled = false", "one graph"),
        ("index.threads = 2", "one index"),
        ("archive.warc.level = 2", "share"),
        ("normal-form.www = true", "spellings"),
        ("politeness = 3", "[site.politeness]"),
        ("site = []", "as a whole"),
        ("politeness.key = \"address\"", "for all hosts"),
    ] {
        let text = format!(
            "mode = \"once\"\n\n[[site]]\nmatch = \"a.example\"\n\n[[site]]\nmatch = \"b.example\"\n# why\n{setting}\n"
        );
        refused(&text, &["line 9", "site 2", words]);
    }
    refused(
        "[[site]]\nmatch = \"a.example\"\n[site.politeness]\n\ndelai = \"1s\"\n",
        &["line 5", "`delay`"],
    );
    refused(
        "\n[[site]]\n[site.politeness]\ndelay = \"1s\"\n",
        &["line 2", "`match`"],
    );
    refused("[[site]]\nmatch = []\n", &["line 2", "names no hosts"]);
    refused("[[site]]\nmatch = 3\n", &["line 2", "names no hosts"]);
    refused("[[site]]\nmatch = [\"a b\"]\n", &["line 2", "`a b`"]);
    refused(
        "[[site]]\nmatch = \"10.0.0.1/8\"\n",
        &["line 2", "`10.0.0.0/8`"],
    );
    refused("[site]\nmatch = \"a.example\"\n", &["line 1", "[[site]]"]);
    refused("site = [3]\n", &["line 1", "[[site]]"]);
    refused(
        "[[sites]]\nmatch = \"a.example\"\n",
        &["line 1", "[sites]", "[[site]]"],
    );
}

#[test]
fn what_cannot_follow_an_address_is_refused_with_what_can() {
    for setting in [
        "filter.scope = \"any\"",
        "filter.max-depth = 1",
        "filter.types = [\"text/html\"]",
        "traps.enabled = false",
        "archive.enabled = false",
        "fetch.user-agent = \"X/1\"",
    ] {
        let text = format!("[[site]]\nmatch = [\"a.example\", \"10.0.0.0/8\"]\n{setting}\n");
        refused(&text, &["line 3", "10.0.0.0/8", "[politeness]"]);
        config(&text.replace("10.0.0.0/8", "10.0.0.7"));
    }
    config(
        "[[site]]\nmatch = \"10.0.0.0/8\"\npoliteness.delay = \"3s\"\nfetch.timeout = \"1s\"\nfetch.allow-private = true\n",
    );
    refused(
        "[fetch]\nproxy = \"http://p.example:1\"\n[[site]]\nmatch = \"10.0.0.0/8\"\n",
        &["line 4", "proxy"],
    );
}

#[test]
fn every_setting_is_either_for_one_host_or_has_a_reason_why_not() {
    let all = crate::mistakes::sections();
    let mut count = 0;
    for (section, keys) in &all {
        for key in keys {
            let told = config::reach(section, key);
            count += usize::from(told.is_ok());
            assert!(
                told.is_ok() || told.is_err_and(|why| why.len() > 10),
                "{section}.{key}"
            );
        }
    }
    assert!(count > 60, "{count}");
}
