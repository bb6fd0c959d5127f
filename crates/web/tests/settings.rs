//! Every setting is reached by the API and by the form, whatever else stands in the file, and comments stay.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::{Value, json};
use support::{LittleWeb, Served};
use teia_engine::{CollectionConfig, described};
use teia_web::{Role, WebConfig};

/// Settings that are unset, or whose values are words of their own: another value that makes sense.
const OTHERS: &[(&str, &str)] = &[
    ("mode", "periodic"),
    ("schedule.start", "2030-01-01"),
    ("schedule.end", "2031-01-01"),
    ("schedule.every", "1d"),
    ("schedule.cron", "30 1 * * *"),
    ("schedule.time-zone", "Europe/Lisbon"),
    ("schedule.missed", "skip"),
    ("schedule.deadline", "2h"),
    ("schedule.window", "01:00-06:00"),
    ("run.hosts-at-once", "7"),
    ("run.order", "depth"),
    ("run.cpu-share", "50%"),
    ("run.memory", "2GiB"),
    ("run.max-time", "3h"),
    ("run.disk-reserve", "1GB"),
    ("run.refill", "expand"),
    ("run.new-hosts", "shortest-path"),
    ("filter.scope", "domain"),
    ("filter.max-depth", "3"),
    ("filter.max-path-depth", "4"),
    ("filter.max-pages", "500"),
    ("filter.max-pages-per-host", "50"),
    ("filter.max-bytes", "1GB"),
    ("politeness.key", "address"),
    ("fetch.user-agent", "Other/1.0"),
    ("fetch.accept", "*/*"),
    ("fetch.accept-encoding", "gzip"),
    ("fetch.accept-language", "pt"),
    ("fetch.from", "ann@example.org"),
    ("fetch.bandwidth", "1MB"),
    ("fetch.certificates", "accept"),
    ("robots.refusal", "disallows"),
    ("robots.after-patience", "allows"),
    ("robots.spelling", "tolerant"),
    ("archive.warc.prefix", "other"),
    ("archive.warc.operator", "Ann"),
    ("archive.warc.description", "Birds"),
    ("seeds", "b.example"),
    ("filter.hosts", "*.example.pt"),
    ("filter.directories", "/birds/"),
    ("filter.include", "birds"),
    ("filter.exclude", "fish"),
    ("filter.schemes", "https"),
    ("filter.types", "text/html"),
    ("filter.languages", "pt"),
    ("filter.or-languages", "en"),
    ("filter.words", "bird"),
    ("filter.text-include", "bird"),
    ("filter.text-exclude", "fish"),
    ("traps.allow", "a.example/cal/{n}"),
    ("fetch.resolve", "*.test=192.0.2.1"),
    ("fetch.allowed", "192.0.2.0/24"),
    ("webhook.urls", "https://hooks.example.org/teia"),
    ("webhook.events", "run_ended"),
];

/// Settings that make sense only beside another.
const BESIDE: &[(&str, &str, &str)] = &[
    ("schedule.end", "schedule.start", "2030-01-01"),
    ("schedule.every", "schedule.start", "2030-01-01"),
];

/// What only a person on the machine may set: it is shown, and refused with what to type there.
const OF_THE_MACHINE: &[&str] = &[
    "archive.warc.spool-dir",
    "catalog.url",
    "fetch.ca-file",
    "fetch.name-servers",
    "fetch.proxy",
    "fetch.spool-dir",
    "fetch.allow-private",
    "fetch.allowed",
    "fetch.resolve",
    "run.ignore-robots",
    "seeds-file",
    "webhook.allow-private",
    "webhook.hosts",
    "webhook.secret-file",
    "webhook.secret-variable",
];

/// Another value for a setting, as a person types it.
fn another(key: &str, value: &Value) -> String {
    if let Some((_, other)) = OTHERS.iter().find(|(known, _)| *known == key) {
        return (*other).to_owned();
    }
    match value {
        Value::Bool(is_on) => (!is_on).to_string(),
        Value::Number(number) => {
            let number = number.as_u64().unwrap_or_else(|| panic!("{key}: {number}"));
            // Some have an upper end that is the default.
            (if number > 1 { number - 1 } else { number + 1 }).to_string()
        }
        Value::String(text) => {
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap();
            let number: u64 = text[..end].parse().unwrap_or_else(|_| {
                panic!("{key}: what is another value than {text:?}? OTHERS says it")
            });
            format!("{}{}", number + 1, &text[end..])
        }
        other => panic!("{key}: what is another value than {other}? OTHERS says it"),
    }
}

/// The same as the API is told.
fn typed(value: &Value, is_list: bool, text: &str) -> Value {
    match value {
        Value::Array(_) => json!([text]),
        _ if is_list => json!([text]),
        Value::Bool(_) => json!(text == "true"),
        Value::Number(_) => json!(text.parse::<u64>().unwrap()),
        _ => text
            .parse::<u64>()
            .map_or_else(|_| json!(text), |number| json!(number)),
    }
}

/// A file with a comment above, behind and below everything.
const FILE: &str = "# Above.\nseeds = [\"a.example\"] # Behind.\n\n[politeness]\n# Why.\ndelay = \"3s\"\n\n[[site]]\nmatch = \"b.example\"\n[site.politeness]\n# Slower.\ndelay = \"9s\"\n# Below.\n";

#[test]
fn every_setting_is_reached_by_api_and_form_and_comments_stay() {
    let web = LittleWeb::start();
    web.html("/", "<title>One</title>");
    let folder = tempfile::tempdir().unwrap();
    support::collect_only(folder.path(), &web, "old");
    let served = Served::new(folder, WebConfig::default());
    let token = served.token(Role::Admin);
    let (session, csrf) = served.log_in(&token);
    let own = format!("http://{}", served.address);
    let headers = [("Cookie", session.as_str()), ("Origin", own.as_str())];
    let path = served.folder.path().join("collections/new.toml");
    let form = "/collections/new/edit";
    let (mut reached, mut kept, mut wrong) = (0, 0, Vec::new());
    std::fs::write(&path, FILE).unwrap();
    let page = served.ask("GET", form, &headers).text();
    for setting in described(&CollectionConfig::default()) {
        let key = setting.key.as_str();
        if key.starts_with("login.") || key.starts_with("site.") {
            continue;
        }
        assert!(page.contains(key), "the form does not show {key}");
        let is_kept = OF_THE_MACHINE.contains(&key);
        let (_, input) = page.split_once(&format!("name=\"{key}\"")).unwrap();
        let (input, _) = input.split_once('>').unwrap();
        assert_eq!(input.contains(" readonly"), is_kept, "{key}: {input}");
        let text = if is_kept {
            match &setting.value {
                Value::Bool(is_on) => (!is_on).to_string(),
                _ => "192.0.2.1".to_owned(),
            }
        } else {
            another(key, &setting.value)
        };
        let beside = BESIDE.iter().find(|(known, ..)| *known == key);
        let value = typed(&setting.value, setting.is_list, &text);
        for by_form in [false, true] {
            std::fs::write(&path, FILE).unwrap();
            let (status, said) = if by_form {
                let text: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
                let mut body = format!("what=save&{key}={text}&csrf={csrf}");
                if let Some((_, other, value)) = beside {
                    body.push_str(&format!("&{other}={value}"));
                }
                let answer = served.form(form, &headers, &body);
                (answer.status, answer.text())
            } else {
                let mut body = json!({"settings": {key: value}});
                if let Some((_, other, value)) = beside {
                    body["settings"][other] = json!(value);
                }
                let body = body.to_string();
                let answer = served.api(&token, "PATCH", "/api/collections/new", &body);
                (answer.status, answer.text())
            };
            let now = std::fs::read_to_string(&path).unwrap();
            if is_kept {
                assert_ne!(status, 303, "{key} by form {by_form}: {now}");
                assert_eq!(now, FILE, "{key} by form {by_form}: {status}");
                kept += 1;
                continue;
            }
            let good = if by_form { 303 } else { 200 };
            if status != good {
                wrong.push(format!(
                    "{key} = {value} by form {by_form}: {status} {said}"
                ));
                continue;
            }
            for comment in ["# Above.", "# Behind.", "# Why.", "# Slower.", "# Below."] {
                assert!(now.contains(comment), "{key}: no {comment} in {now}");
            }
            let config = CollectionConfig::parse(&now).unwrap();
            let set = described(&config);
            let set = set.into_iter().find(|it| it.key == key).unwrap();
            assert_ne!(set.value, setting.value, "{key} by form {by_form}: {now}");
            reached += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(
        reached > 280 && kept == 2 * OF_THE_MACHINE.len(),
        "{reached}, {kept}"
    );
}
