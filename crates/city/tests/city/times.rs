//! Limits of time from below: who is slow, and not too slow, loses nothing. (What lies past them is in the test of its case.)
//!
//! Each server takes half of what it may, because a busy machine takes some of the rest.

use std::time::Duration;

use teia_base::{Flags, Outcome};
use teia_city::{Reply, Step};
use teia_fetch::FetchConfig;

use crate::dns::{asking, here, page_door, server};
use crate::support::{Visit, body, get, html, limits, open_answers, outcome};

/// What is allowed, of everything.
const ALLOWED: Duration = Duration::from_secs(4);
const TAKEN: Duration = Duration::from_secs(2);

/// All limits are this one.
fn patient() -> FetchConfig {
    FetchConfig {
        first_byte_timeout: ALLOWED,
        min_rate_window: ALLOWED,
        tls_timeout: ALLOWED,
        timeout: ALLOWED * 4,
        ..limits()
    }
}

async fn whole(answer: Vec<Step>, config: FetchConfig, length: usize) {
    let visit = Visit::at(open_answers(vec![answer]), config);
    let exchange = visit.trick().await;
    outcome(&exchange, Outcome::http(200));
    assert_eq!(body(&exchange).len(), length);
    assert!(
        !exchange.flags.has(Flags::TRUNCATED),
        "{:?}",
        exchange.detail
    );
    visit.leave().await;
}

/// HTTP-26: the first byte comes late, and in time.
#[tokio::test]
async fn a_late_first_byte_is_waited_for() {
    let mut answer = vec![Step::Wait(TAKEN)];
    answer.extend(html("hello"));
    whole(answer, patient(), 5).await;
}

/// HTTP-09: lines of the head with a pause between them.
#[tokio::test]
async fn a_slow_head_is_waited_for() {
    let mut answer = vec![Step::say("HTTP/1.1 200 OK\r\n")];
    for number in 0..4 {
        answer.push(Step::Wait(TAKEN / 4));
        answer.push(Step::say(format!("X-{number}: slow\r\n")));
    }
    answer.push(Step::say("Content-Length: 5\r\n\r\nhello"));
    whole(answer, patient(), 5).await;
}

/// HTTP-25: twice the least rate, over three windows.
#[tokio::test]
async fn a_body_at_twice_the_least_rate_is_taken_whole() {
    const PART: usize = 500;
    let pause = Duration::from_millis(250);
    // A part in each quarter of a second is 2,000 bytes in a second.
    let config = FetchConfig {
        min_rate: 1000,
        min_rate_window: Duration::from_secs(1),
        ..patient()
    };
    let parts = 12;
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
        PART * parts
    );
    let mut answer = vec![Step::say(head)];
    for _ in 0..parts {
        answer.push(Step::say("x".repeat(PART)));
        answer.push(Step::Wait(pause));
    }
    whole(answer, config, PART * parts).await;
}

/// HTTP-23: all of it takes half of the time that a fetch has.
#[tokio::test]
async fn a_fetch_that_takes_half_of_its_time_is_whole() {
    let config = FetchConfig {
        timeout: ALLOWED,
        min_rate: 1,
        ..patient()
    };
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\n";
    let mut answer = vec![Step::say(head)];
    for _ in 0..4 {
        answer.push(Step::Wait(TAKEN / 4));
        answer.push(Step::say("ab"));
    }
    whole(answer, config, 8).await;
}

/// DNS-03: a name server that takes half of the time that there is for a name.
#[tokio::test]
async fn a_late_name_is_waited_for() {
    let server = server(|question| Reply::Late(Duration::from_secs(1), Box::new(here(question))));
    let config = FetchConfig {
        dns_timeout: ALLOWED,
        ..asking(&server)
    };
    let visit = Visit::at(page_door(), config);
    let url = visit.door.named("late.city.test", "/");
    outcome(&get(&visit.fetcher, &url).await, Outcome::http(200));
    visit.check_price();
}
