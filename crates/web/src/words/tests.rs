//! Whether everything that is said in English has its Portuguese words.

use super::*;

#[test]
fn both_languages_say_the_same_things() {
    let keys = |tongue: Tongue| tongue.words().texts.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(Tongue::English), keys(Tongue::Portuguese));
    for (key, text) in &ENGLISH.texts {
        let other = &PORTUGUESE.texts[key];
        assert_eq!(
            text.matches("{}").count(),
            other.matches("{}").count(),
            "{key}"
        );
    }
}

#[test]
fn portuguese_has_one_word_for_one_idea() {
    let files = [
        &PORTUGUESE.texts,
        &PORTUGUESE.told,
        &PORTUGUESE.settings,
        &PORTUGUESE.labels,
    ];
    let mut said: Vec<&str> = files
        .iter()
        .flat_map(|texts| texts.values())
        .map(String::as_str)
        .collect();
    said.extend(PORTUGUESE.sentences.iter().map(|(_, told)| told.as_str()));
    assert!(said.len() > 1_000, "{}", said.len());
    // On the left what is not said, because on the right is what is said for it.
    for (other, word) in [
        ("língua", "idioma"),
        ("recolha", "coleta"),
        ("execução de", "coleta"),
        ("seção", "secção"),
        ("acontecimento", "evento"),
    ] {
        let found = said.iter().find(|text| text.to_lowercase().contains(other));
        assert!(found.is_none(), "`{word}` is the word: {found:?}");
    }
    let t = |key| PORTUGUESE.t(key);
    assert_ne!(t("share"), t("part"));
    // Only people pause a run; between two requests there is rest.
    for key in ["rest", "rest.shortest", "rest.median", "host.requests.note"] {
        assert!(t(key).to_lowercase().contains("descanso"), "{key}");
    }
}

#[test]
fn a_language_that_is_told_has_a_name() {
    for text in [
        "Dette er ikke en bog, og det har jeg aldrig sagt til dem",
        "To jest książka, której nie ma w domu, ale jest w bibliotece",
        "Αυτό είναι ένα βιβλίο",
        "Это книга, которой нет дома",
        "هذا كتاب",
        "これは本です",
        "这是一本书",
        "이것은 책입니다",
    ] {
        let code = teia_search::detect(text).language;
        assert_ne!(code, teia_search::UNDETERMINED, "{text}");
        for tongue in [Tongue::English, Tongue::Portuguese] {
            assert_ne!(tongue.words().language(code), code, "{text}");
        }
    }
}

#[test]
fn every_setting_has_a_portuguese_meaning() {
    for setting in teia_engine::described(&teia_engine::CollectionConfig::default()) {
        let known = PORTUGUESE.setting(&setting.key, "");
        assert!(!known.is_empty(), "{}", setting.key);
        let has_field = PORTUGUESE
            .texts
            .contains_key(&format!("field.{}", setting.key));
        let name = setting.key.rsplit('.').next().unwrap();
        let has_label = PORTUGUESE.labels.contains_key(name);
        assert!(has_field || has_label, "no label for {}", setting.key);
    }
    let of_a_site = PORTUGUESE.setting("site.3.politeness.delay", "");
    assert_eq!(of_a_site, PORTUGUESE.setting("politeness.delay", ""));
}

/// Settings in which every sentence of what a collection would do is said once at least.
const SPOKEN: [&str; 6] = [
    "",
    "seeds = [\"a.example\"]\n[filter]\nscope = \"domain\"\nmax-depth = 3\nmax-path-depth = 1\nmax-pages = 10\nmax-bytes = \"1GB\"\nmax-pages-per-host = 5\nlanguages = [\"pt\"]\nor-languages = [\"en\"]\nwords = [\"x\"]\n[run]\nmax-time = \"1h\"\ncpu-share = \"50%\"\nhosts-at-once = 7\n[schedule]\nstart = \"2026-11-15\"\nevery = \"6h\"\nend = \"2026-11-15T02:00\"\nwindow = \"01:00-06:00\"\ndeadline = \"5h\"\n",
    "seeds = [\"1.a\", \"2.a\", \"3.a\", \"4.a\", \"5.a\", \"6.a\", \"7.a\"]\nmode = \"incremental\"\n[filter]\nscope = \"any\"\nhosts = [\"b.example\"]\ntypes = [\"text/html\"]\ninclude = [\"a\"]\nexclude = [\"b\"]\ndirectories = [\"/d/\"]\n[run]\nretries = 0\nignore-robots = true\n[politeness]\ndelay = \"0s\"\n[schedule]\ncron = \"30 1 * * *\"\nstart = \"2026-11-15\"\n",
    "seeds-file = \"list.txt\"\nmode = \"periodic\"\n[filter]\nscope = \"prefix\"\nrequisites = false\n[archive]\nenabled = false\n[index]\nenabled = false\n[links]\nenabled = false\n[catalog]\nenabled = false\n[fetch]\nbandwidth = \"1MB\"\nallow-private = true\nproxy = \"http://p.example:1\"\n[schedule]\nstart = \"2026-11-15\"\n",
    "seeds = [\"a.example\"]\nseeds-file = \"list.txt\"\nmode = \"incremental\"\n[filter]\nscope = \"suffix:.pt\"\nmax-pages = 3\n[webhook]\nurls = [\"https://b.example/x\"]\n[[site]]\nmatch = \"b.example\"\n[site.politeness]\ndelay = \"9s\"\n[[site]]\nmatch = \"c.example\"\n",
    "seeds = [\"a.example\"]\n[webhook]\nurls = [\"https://b.example/x\"]\nallow-private = true\nretries = 0\n[[login]]\nmatch = \"https://a.example\"\nkind = \"basic\"\nuser = \"ann\"\nsecret-variable = \"A\"\n[[login]]\nmatch = \"https://b.example\"\nkind = \"bearer\"\nsecret-file = \"/b\"\n[[login]]\nmatch = \"https://c.example\"\nkind = \"cookie\"\nsecret-file = \"/c\"\n",
];

#[test]
fn what_a_collection_would_do_is_told_in_portuguese() {
    let mut said = 0;
    for text in SPOKEN {
        let config = teia_engine::CollectionConfig::parse(text).unwrap();
        let mut words = teia_engine::in_words("birds", &config);
        for (began, now) in [
            (None, "2026-11-14T00:00:00Z"),
            (None, "2026-11-16T00:00:00Z"),
            (Some("2026-11-15T00:00:00Z"), "2026-11-16T00:00:00Z"),
            (Some("2026-11-15T00:00:00Z"), "2026-11-15T01:00:00Z"),
        ] {
            let at = |text: &str| teia_base::Timestamp::parse(text).unwrap();
            let (began, now) = (began.map(at), at(now));
            words.extend(teia_engine::next_run_in_words(&config.schedule, began, now));
        }
        for english in words {
            let told = PORTUGUESE.sentence(&english);
            assert_ne!(told, english);
            assert_eq!(ENGLISH.sentence(&english), english);
            assert!(!told.contains(OPEN) && !told.contains('\u{1}'), "{told}");
            said += 1;
        }
    }
    assert!(said > 70, "{said}");
    assert_eq!(
        PORTUGUESE.sentence("Of one host it takes 1 234 documents in a run."),
        "De um servidor recolhe 1 234 documentos numa coleta."
    );
    assert_eq!(
        PORTUGUESE.sentence("It keeps a search index, a catalog in SQL."),
        "Guarda um índice de pesquisa, um catálogo em SQL."
    );
    assert_eq!(
        PORTUGUESE.sentence("Documents of every type are kept, up to 16.0 MB each."),
        "Guardam-se documentos de todos os tipos, até 16,0 MB cada um."
    );
    // What others wrote stays as it is, braces too.
    assert_eq!(
        PORTUGUESE.sentence("Only URLs in these directories enter: /{}/x{}."),
        "Só entram URLs nestas pastas: /{}/x{}."
    );
}

#[test]
fn every_outcome_and_every_end_has_portuguese_words() {
    let own = teia_base::Outcome::own();
    let statuses = (100..=599).map(teia_base::Outcome::http);
    let outcomes = own.chain(statuses).map(teia_base::Outcome::sentence);
    use teia_engine::EndReason::{
        Deadline, Done, Interrupted, MaxBytes, MaxPages, MaxTime, Stopped,
    };
    let ends = [
        Done,
        MaxPages,
        MaxBytes,
        MaxTime,
        Deadline,
        Interrupted,
        Stopped,
    ];
    for said in outcomes.chain(ends.map(teia_engine::EndReason::name)) {
        assert!(PORTUGUESE.told.contains_key(said), "{said}");
        assert_eq!(ENGLISH.told(said), said);
    }
    for end in ends.map(teia_engine::EndReason::sentence) {
        assert_ne!(PORTUGUESE.sentence(end), end);
    }
    assert_eq!(PORTUGUESE.told("never said"), "never said");
}

#[test]
fn every_moment_in_the_life_of_a_url_has_portuguese_words() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/src/happening.rs");
    let source = std::fs::read_to_string(source).unwrap();
    let (code, _) = source.split_once("#[cfg(test)]").unwrap();
    let code: Vec<&str> = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    // What is between quotation marks is said, unless it is but signs, or the name of a function.
    let code = code.join("\n");
    let literals = code.split('"').skip(1).step_by(2);
    let is_said = |text: &&str| {
        let words = text.replace("{found}", "").replace("{verdict}", "");
        let times = ["{micros}µs", "{millis}ms", "{seconds:.1}s"];
        !times.contains(text) && words.replace("{detail}", "").contains(char::is_alphabetic)
    };
    let said: Vec<&str> = literals
        .filter(is_said)
        .filter(|text| *text != "as_text")
        .collect();
    assert!(said.len() > 20, "{said:?}");
    use teia_base::LinkKind::{
        Alternate, Anchor, Area, Canonical, Css, Feed, Form, Frame, Header, Icon, Image, Media,
        Object, Redirect, Refresh, Script, Seed, Sitemap, Style, Text,
    };
    let kinds = [
        Alternate, Anchor, Area, Canonical, Css, Feed, Form, Frame, Header, Icon, Image, Media,
        Object, Redirect, Refresh, Script, Seed, Sitemap, Style, Text,
    ];
    let kinds = kinds.map(teia_base::LinkKind::name);
    let flags: teia_base::Flags = serde_json::from_str("4294967295").unwrap();
    let flags = flags.names();
    for text in said.into_iter().chain(kinds).chain(flags) {
        let known = PORTUGUESE.told.get(text);
        let holes = |text: &str| text.matches("{}").count();
        assert!(
            known.is_some_and(|known| holes(known) == holes(text)),
            "{text}"
        );
    }
    assert_eq!(
        PORTUGUESE.rule("max-depth 3"),
        "a mais de 3 ligações de uma semente"
    );
    assert_eq!(PORTUGUESE.rule("schemes: not ftp"), "esquemas: não ftp");
    assert_eq!(PORTUGUESE.rule("own words"), "own words");
    assert_eq!(ENGLISH.rule("max-depth 3"), "max-depth 3");
}

/// What the engine tells people who watch a run: the texts of its notices, with what differs left open.
fn notices() -> Vec<String> {
    let mut left = vec![std::path::PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../engine/src"
    ))];
    let mut found = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let inside = std::fs::read_dir(path).unwrap();
            left.extend(inside.map(|entry| entry.unwrap().path()));
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap();
        let code = source.split("#[cfg(test)]").next().unwrap();
        let calls = [
            ".warn(",
            ".say(",
            ".complain(",
            "Event::Notice {",
            ".note(",
            // What outages are told in.
            "Trouble::",
        ];
        for call in calls {
            for (at, _) in code.match_indices(call) {
                let rest = &code[at + call.len()..];
                let Some((before, literal)) = rest.split_once('"') else {
                    continue;
                };
                // The words may be in a variable, and these are others.
                if !before.contains([';', '}']) {
                    found.push(open_places(literal));
                }
            }
        }
    }
    found.retain(|text| text.contains(' '));
    found
}

/// The literal with which a text begins, as the pattern of a sentence: `{name}` becomes `{}`.
fn open_places(text: &str) -> String {
    let mut said = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next() {
                Some('\n') => {
                    let rest = letters.as_str().trim_start();
                    letters = rest.chars();
                }
                next => said.extend(next),
            },
            '{' => {
                letters.by_ref().find(|letter| *letter == '}');
                said.push_str(OPEN);
            }
            letter => said.push(letter),
        }
    }
    said
}

#[test]
fn every_notice_of_a_run_has_portuguese_words() {
    let notices = notices();
    assert!(notices.len() > 35, "{notices:?}");
    let is_known = |text: &String| {
        let patterns = PORTUGUESE.sentences.iter();
        let told = PORTUGUESE.told.contains_key(text);
        told || patterns.map(|(english, _)| english).any(|it| it == text)
    };
    let unknown: Vec<&String> = notices.iter().filter(|text| !is_known(text)).collect();
    assert!(unknown.is_empty(), "no Portuguese for {unknown:#?}");
}

#[test]
fn every_sentence_keeps_its_open_places_and_no_two_are_one() {
    for (english, portuguese) in &PORTUGUESE.sentences {
        let holes = |text: &str| text.matches(OPEN).count();
        assert_eq!(holes(english), holes(portuguese), "{english}");
        // With something in each of them, it is found again, and nothing of it stays English.
        let filled = english.replace(OPEN, "§");
        assert_eq!(PORTUGUESE.sentence(&filled), portuguese.replace(OPEN, "§"));
    }
}

#[test]
fn a_sentence_within_a_sentence_is_told_in_portuguese_too() {
    let check = |english: &str, portuguese: &str| {
        assert_eq!(PORTUGUESE.sentence(english), portuguese);
    };
    check(
        "the search index of birds cannot be used (it panicked: x): it is built anew from the archive",
        "índice de pesquisa de birds: não se pode usar (falhou: x): faz-se de novo a partir de arquivo",
    );
    check(
        "At https://a.example it logs in (basic) as ann, with a password from the variable PASS, by the form at https://a.example/login.",
        "Em https://a.example entra (basic) como ann, com uma palavra-passe: a variável PASS, pelo formulário em https://a.example/login.",
    );
    check(
        "birds.example/cal/{n} looks like a trap: 30 pages in a row have not one new word and lead only to more of their kind; the others are left out. To collect them, add \"birds.example/cal/{n}\" to `allow` in [traps]; to leave them out in every run, add 'x' to `exclude` in [filter]",
        "birds.example/cal/{n} parece uma armadilha: 30 páginas seguidas não têm uma palavra nova e só levam a outras iguais; as outras ficam de fora. Para as coletar, acrescente \"birds.example/cal/{n}\" a `allow` em [traps]; para as deixar de fora em todas as coletas, acrescente 'x' a `exclude` em [filter]",
    );
}

#[test]
fn every_setting_with_portuguese_words_is_one() {
    let all = teia_engine::described(&teia_engine::CollectionConfig::default());
    for key in PORTUGUESE.settings.keys() {
        assert!(all.iter().any(|setting| setting.key == *key), "{key}");
    }
}

#[test]
fn every_key_that_a_page_uses_is_there() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/templates");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/pages");
    let mut seen = 0;
    let mut left: Vec<std::path::PathBuf> = vec![folder.into(), source.into()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let inside = std::fs::read_dir(path).unwrap();
            left.extend(inside.map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        for call in [".t(\"", ".f(\"", ".n(\""] {
            for (at, _) in text.match_indices(call) {
                let rest = &text[at + call.len()..];
                let key = &rest[..rest.find('"').unwrap()];
                assert!(ENGLISH.texts.contains_key(key), "{key} is in no words file");
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn every_repair_has_a_sentence_in_both_languages() {
    use teia_search::Repair;
    let some = || "x".to_owned();
    let repairs = [
        Repair::TooLong,
        Repair::TooManyClauses,
        Repair::TooDeep,
        Repair::UnclosedQuote,
        Repair::UnmatchedParenthesis,
        Repair::DanglingOperator(some()),
        Repair::BadDate(some()),
        Repair::EmptyField(some()),
        Repair::UnknownField(some()),
        Repair::BroadPrefix(some()),
        Repair::Empty,
        Repair::TimeOver,
        Repair::TooFar { most: 1_000 },
    ];
    let all = ENGLISH
        .texts
        .keys()
        .filter(|key| key.starts_with("repair."));
    assert_eq!(all.count(), repairs.len());
    for repair in repairs {
        let (name, about) = repair.name();
        let said = ENGLISH.f(&format!("repair.{name}"), &about);
        // The terminal says the same, as part of a line.
        let in_terminal = repair.to_string();
        assert_eq!(
            said.trim_end_matches('.').to_lowercase(),
            in_terminal.to_lowercase()
        );
        assert_ne!(PORTUGUESE.f(&format!("repair.{name}"), &about), said);
    }
}

#[test]
fn a_browser_gets_the_language_it_likes_best() {
    assert_eq!(
        Tongue::of_header("pt-BR,pt;q=0.9,en;q=0.5"),
        Tongue::Portuguese
    );
    assert_eq!(Tongue::of_header("de, en;q=0.3, pt;q=0.2"), Tongue::English);
    assert_eq!(Tongue::of_header("fr"), Tongue::English);
    assert_eq!(Tongue::of_header(""), Tongue::English);
}

#[test]
fn numbers_have_thin_spaces_and_dates_a_month() {
    assert_eq!(ENGLISH.number(1_234_567_u64), "1\u{202f}234\u{202f}567");
    assert_eq!(PORTUGUESE.bytes(12_345_u64), "12,3 KB");
    let moment = Timestamp::parse("2026-11-02T14:05:00Z").unwrap();
    assert_eq!(ENGLISH.moment(&moment), "2 Nov 2026, 14:05");
}

/// What is wrong with settings: the texts of what refuses them, with what differs left open.
fn refusals() -> Vec<String> {
    let sources = ["sense.rs", "hours.rs", "schedule.rs", "sites/pattern.rs"];
    let mut found = Vec::new();
    for source in sources {
        let path = format!("{}/../engine/src/{source}", env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(path).unwrap();
        let code = source.split("#[cfg(test)]").next().unwrap();
        let code: Vec<&str> = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        let code = code.join("\n");
        let mut rest = code.as_str();
        while let Some((_, literal)) = rest.split_once('"') {
            let mut signs = literal.char_indices();
            let mut end = literal.len();
            while let Some((at, sign)) = signs.next() {
                match sign {
                    '\\' => {
                        signs.next();
                    }
                    '"' => {
                        end = at;
                        break;
                    }
                    _ => {}
                }
            }
            found.push(open_places(literal));
            rest = literal.get(end + 1..).unwrap_or("");
        }
    }
    // Words, and neither names nor signs; how places are named is tried below.
    let is_said = |text: &String| {
        let words = text
            .split(' ')
            .filter(|word| word.chars().any(char::is_alphabetic));
        words.count() > 2 && !text.starts_with("{}, `")
    };
    found.retain(is_said);
    found
}

#[test]
fn every_refusal_of_a_setting_has_portuguese_words() {
    let refusals = refusals();
    assert!(refusals.len() > 25, "{refusals:#?}");
    let patterns = || PORTUGUESE.sentences.iter().map(|(english, _)| english);
    let unknown: Vec<&String> = refusals
        .iter()
        .filter(|text| !patterns().any(|it| it == *text) && !PORTUGUESE.told.contains_key(*text))
        .collect();
    assert!(unknown.is_empty(), "no Portuguese for {unknown:#?}");
}

/// Wrong files of every kind, and how a Portuguese page tells of each.
#[test]
fn wrong_settings_are_told_of_in_portuguese() {
    for (text, portuguese) in [
        (
            "[run]\nretries = 255\n",
            "linha 2: `retries` em [run]: 255 não faz sentido; escreva um número de 0 a 100",
        ),
        (
            "[politeness]\ndelay = \"9d\"\n",
            "linha 2: `delay` em [politeness]: 9d não faz sentido; escreva uma duração de \"0s\" a \"7d\"",
        ),
        (
            "[politeness]\ndelay = \"soon\"\n",
            "linha 2: `soon` não é uma duração; escreva por exemplo `500ms`, `1s`, `10m`, `2h` ou `7d`",
        ),
        (
            "[filter]\nmax-dept = 3\n",
            "linha 2: não há a opção `max-dept` na secção [filter]; queria dizer `max-depth`?",
        ),
        (
            "[run]\nretries = \"many\"\n",
            "linha 2: esperava-se um número inteiro de 0 a 100, não o texto \"many\"",
        ),
        (
            "seeds = [\"http://\"]\n",
            "linha 1: `seeds`: `http://` não é um URL (empty host); escreva por exemplo `https://example.org/`",
        ),
        (
            "[schedule]\ncron = \"1d\"\nevery = \"1d\"\n",
            "`every` e `cron` dizem duas coisas; escreva só uma delas",
        ),
        (
            "[schedule]\nwindow = \"at night\"\n",
            "linha 2: `window` em [schedule]: `at night` não diz horas; escreva por exemplo `01:00-06:00`, ou `22:00-06:00, 12:00-13:00`",
        ),
        (
            "[[site]]\nmatch = \"a.example\"\n[site.run]\nmax-time = \"1h\"\n",
            "não pode variar de servidor para servidor: é da coleta inteira",
        ),
        (
            "mode = \"always\"\n",
            "não há modo `always`; escreva `once`, `periodic` ou `incremental`",
        ),
        (
            "[filter]\nexclude = [\"\\d+\"]\n",
            "escreva o texto entre plicas, por exemplo ['\\d+']",
        ),
        ("mode = \"once\n", "aspas iguais às do começo"),
        ("mode = \"once\" x\n", "e `#` antes de um comentário"),
        (
            "[filter]\nmax-depth = 007\n",
            "não começa por zero; escreva 7",
        ),
        (
            "[run]\nignore-robots = Yes\n",
            "aqui `Yes` escreve-se `true`",
        ),
        (
            "[run]\nignore-robots = off\n",
            "aqui `off` escreve-se `false`",
        ),
        (
            "[run]\nretries = null\n",
            "aqui não há `null`; tire a linha, e conta o valor habitual",
        ),
        (
            "[run]\nretries =\n",
            "falta o valor; escreva-o, ou tire a linha",
        ),
        ("= 3\n", "escreva por exemplo `mode = \"once\"`"),
        (
            "[[login]]\nkind = \"basic\"\n",
            "`match = \"https://www.example.org/\"`",
        ),
        ("[[filter]]\n", "simples; escreva [filter]"),
        ("[mode]\n", "não uma secção; escreva `mode = …`"),
        ("seeds = [\"\"]\n", "uma delas está vazia; tire-a"),
    ] {
        let english = teia_engine::CollectionConfig::parse(text).unwrap_err();
        let told = PORTUGUESE.sentence(&english);
        assert!(told.ends_with(portuguese), "{english}\n{told}");
        assert_eq!(ENGLISH.sentence(&english), english);
    }
}
