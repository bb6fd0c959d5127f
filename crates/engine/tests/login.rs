//! A login is two requests like any other two: apart by the host's gap, each recorded and archived.
//! One that is refused is said once.

#![allow(clippy::unwrap_used, reason = "a test stops where it cannot go on")]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use support::{attempts, crawl_with};
use teia_base::journal::Attempt;
use teia_base::{DiskFiles, Outcome};
use teia_engine::{CollectionConfig, Control, Event, Feedback, Level, Parts, Report};
use teia_fetch::Logins;

/// `ann:right`
const RIGHT: &str = "Authorization: Basic YW5uOnJpZ2h0";
const GAP: Duration = Duration::from_millis(150);

/// A request: its path, whether it had a login, when it came and when it was answered.
#[derive(Clone, Debug)]
struct Visit {
    path: String,
    login: bool,
    came: Instant,
    answered: Instant,
}

/// A server that lets nobody in without the right password, but for robots.txt.
fn serve(open_robots: bool) -> (String, Arc<Mutex<Vec<Visit>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let seed = format!("http://{}/", listener.local_addr().unwrap());
    let log: Arc<Mutex<Vec<Visit>>> = Arc::default();
    let visits = Arc::clone(&log);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, visits) = (stream.unwrap(), Arc::clone(&visits));
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let mut stream = stream;
                while let Some(Ok(line)) = lines.next() {
                    let came = Instant::now();
                    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                    let head: Vec<String> = lines
                        .by_ref()
                        .map_while(Result::ok)
                        .take_while(|line| !line.is_empty())
                        .collect();
                    let login = head.iter().any(|line| line.starts_with("Authorization"));
                    let is_in = head.iter().any(|line| line == RIGHT);
                    let answer = if path == "/robots.txt" && (open_robots || is_in) {
                        let body = "User-agent: *\nDisallow: /forbidden/\n";
                        format!(
                            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}",
                            body.len()
                        )
                    } else if is_in {
                        let body: String = (1..5)
                            .map(|n| format!("<a href=/{n}>{n}</a><a href=/forbidden/{n}>no</a>"))
                            .collect();
                        format!(
                            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
                            body.len()
                        )
                    } else {
                        "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"den\"\r\nContent-Length: 2\r\n\r\nno"
                            .to_owned()
                    };
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                    let answered = Instant::now();
                    visits.lock().unwrap().push(Visit {
                        path,
                        login,
                        came,
                        answered,
                    });
                }
            });
        }
    });
    (seed, log)
}

#[derive(Debug, Default)]
struct Warnings(Mutex<Vec<String>>);

impl Feedback for Warnings {
    fn hear(&self, event: &Event) {
        if let Event::Notice {
            level: Level::Warning,
            text,
        } = event
        {
            self.0.lock().unwrap().push(text.clone());
        }
    }
}

fn crawl(seeds: &[String], password: &str) -> (Report, Vec<Attempt>, Vec<String>) {
    let mut config = CollectionConfig::default();
    config.politeness.delay = GAP;
    config.run.retries = 0;
    config.run.alias_pages = 0;
    config.traps.enabled = false;
    let logins = Logins::default().password(&seeds[0].parse().unwrap(), "ann", password);
    let warnings = Arc::new(Warnings::default());
    let parts = Parts {
        authenticator: Some(Arc::new(logins)),
        feedback: Arc::clone(&warnings) as Arc<dyn Feedback>,
        ..Parts::default()
    };
    let directory = tempfile::tempdir().unwrap();
    let control = Control::default();
    let report = crawl_with(directory.path(), &config, seeds, parts, &control).unwrap();
    let attempts = attempts(&DiskFiles::existing(directory.path()));
    let said = warnings.0.lock().unwrap().clone();
    (report, attempts, said)
}

fn check_gaps(log: &[Visit]) {
    for pair in log.windows(2) {
        let gap = pair[1].came.duration_since(pair[0].answered);
        // The answer is noted here a little after it was read there.
        assert!(gap + Duration::from_millis(20) >= GAP, "{gap:?} {pair:?}");
    }
}

#[test]
fn the_gap_lies_before_the_request_with_the_login_and_both_are_kept() {
    let (seed, log) = serve(true);
    let (report, attempts, said) = crawl(std::slice::from_ref(&seed), "right");
    let log = log.lock().unwrap().clone();
    check_gaps(&log);
    assert_eq!(report.fetched, 5, "{log:?}");
    let front: Vec<&Attempt> = attempts
        .iter()
        .filter(|attempt| attempt.url.normal().as_str() == seed)
        .collect();
    let outcomes: Vec<Outcome> = front.iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(outcomes, [Outcome::http(401), Outcome::http(200)]);
    assert!(front.iter().all(|attempt| attempt.capture.is_some()));
    // Asked once, it is said at once from then on.
    assert_eq!(
        log.iter().filter(|visit| !visit.login).count(),
        2,
        "{log:?}"
    );
    assert_eq!(attempts.len(), log.len() + 4, "four are forbidden");
    assert_eq!(said, Vec::<String>::new());
}

#[test]
fn a_refused_login_is_said_once_and_then_costs_one_request_a_page() {
    let (seed, log) = serve(true);
    let seeds: Vec<String> = ["", "a", "b", "c"]
        .iter()
        .map(|path| format!("{seed}{path}"))
        .collect();
    let (_, attempts, said) = crawl(&seeds, "wrong");
    let log = log.lock().unwrap().clone();
    check_gaps(&log);
    assert_eq!(log.iter().filter(|visit| visit.login).count(), 1, "{log:?}");
    let failed = |attempt: &&Attempt| attempt.outcome == Outcome::LOGIN_FAILED;
    assert_eq!(attempts.iter().filter(failed).count(), 4);
    assert!(
        attempts
            .iter()
            .filter(failed)
            .all(|it| it.capture.is_some())
    );
    // robots.txt, the first page twice, the other three once (the second may have been asked as well,
    // before the first came back).
    assert!((6..=7).contains(&log.len()), "{log:?}");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("den") && said[0].contains("127.0.0.1"),
        "{said:?}"
    );
}

#[test]
fn robots_txt_behind_a_login_is_read_with_it_and_kept_to() {
    let (seed, log) = serve(false);
    let (report, attempts, _) = crawl(&[seed], "right");
    let log = log.lock().unwrap().clone();
    check_gaps(&log);
    assert_eq!(report.fetched, 5, "{log:?}");
    assert_eq!(attempts.iter().filter(|it| it.is_robots()).count(), 2);
    assert!(
        log.iter()
            .all(|visit| !visit.path.starts_with("/forbidden"))
    );
}
