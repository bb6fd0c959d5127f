//! What hostile robots.txt files cost, in processor time of this thread (never of the wall), with ten times slack.

use std::io::Write;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use teia_fetch::robots::Rules;

#[test]
fn two_thousand_wildcards_on_a_long_path_are_cheap() {
    let path = format!("/{}", "a".repeat(4_000));
    // One rule of 2,000 stars that fails at its very end, and 2,000 rules that each fail at the end of the path.
    let one = format!("User-agent: *\nDisallow: /{}b\n", "*a".repeat(2_000));
    check(
        "one rule of 2,000 stars",
        1,
        &one,
        &path,
        Duration::from_millis(2),
    );
    let many = "User-agent: *\n".to_owned()
        + &(0..2_000)
            .map(|n| format!("Disallow: /*aaaa{n}*a*b$\n"))
            .collect::<String>();
    check(
        "2,000 rules of stars",
        2_000,
        &many,
        &path,
        Duration::from_millis(20),
    );
}

#[test]
fn a_file_full_of_rules_is_cheap() {
    let rules: String = (0..100_000).map(|n| format!("Disallow:/{n}\n")).collect();
    let path = "/99999999/some/usual/path.html?with=query";
    check(
        "100,000 plain rules",
        32_000,
        &format!("User-agent: *\n{rules}"),
        path,
        Duration::from_micros(50),
    );
    let groups: String = (0..100_000)
        .map(|n| format!("User-agent:a{n}\nDisallow:/\n"))
        .collect();
    check(
        "100,000 groups",
        0,
        &groups,
        path,
        Duration::from_micros(50),
    );
    let same = format!("User-agent: *\n{}", "Disallow:/*a\n".repeat(100_000));
    check(
        "one rule 100,000 times",
        1,
        &same,
        path,
        Duration::from_micros(50),
    );
}

#[test]
fn a_file_full_of_wildcards_is_bearable() {
    let rules: String = (0..100_000).map(|n| format!("Disallow:/*a{n}\n")).collect();
    let path = format!("/{}", "a1a2".repeat(500));
    check(
        "100,000 rules of stars",
        29_000,
        &format!("User-agent: *\n{rules}"),
        &path,
        Duration::from_millis(20),
    );
}

#[test]
fn a_line_without_end_is_cheap() {
    let line = format!("User-agent: *\nDisallow: /{}", "*a".repeat(500_000));
    let path = format!("/{}", "a".repeat(4_000));
    check(
        "one line of 1 MB",
        1,
        &line,
        &path,
        Duration::from_millis(20),
    );
}

/// Every rule fails only at its end: 128,000 pieces would be looked for.
#[test]
fn many_rules_of_many_stars_cost_no_more_than_one() {
    let stars = "*aab".repeat(400);
    let rules: String = (0..320)
        .map(|n| format!("Disallow: /{stars}{n:04x}*Q\n"))
        .collect();
    let robots = format!("User-agent: *\nAllow: /shop/*z\nDisallow: /shop/$\n{rules}");
    let path = format!("/{}", "aab".repeat(330));
    check(
        "320 rules of 400 stars",
        320,
        &robots,
        &path,
        Duration::from_micros(50),
    );
    let rules = Rules::parse(robots.as_bytes(), "Teia");
    let verdict = rules.verdict(&path);
    // The rules that were not tried count by their beginning, which is that of every path.
    assert!(!verdict.allowed && verdict.is_coarse && verdict.rule.is_some());
    assert!(verdict.work < 140_000, "{}", verdict.work);
    // Where less is to be compared all of it is.
    let short = rules.verdict("/shop/z");
    assert!(!short.is_coarse && short.allowed);
    assert!(!rules.verdict("/shop/").allowed);
    // What would allow, and was not tried, does not.
    let allow = robots.replace("Disallow: /*", "Allow: /*") + "Disallow: /a\n";
    let verdict = Rules::parse(allow.as_bytes(), "Teia").verdict(&path);
    assert!(!verdict.allowed && verdict.is_coarse);
}

/// Each of a thousand rules with a star is tried, however the honest site writes them.
#[test]
fn a_thousand_wildcards_are_all_tried_for_a_usual_path() {
    let rules: String = (0..1000)
        .map(|n| format!("Disallow: /*?sort{n}=\n"))
        .collect();
    let rules = Rules::parse(format!("User-agent: *\n{rules}").as_bytes(), "Teia");
    let verdict = rules.verdict("/shop/women/shoes/sneakers-white-1234567.html?color=white&page=7");
    assert!(verdict.allowed && !verdict.is_coarse, "{}", verdict.work);
}

/// Reads within 100 ms, and gives a verdict within the time expected; both with ten times slack.
#[track_caller]
fn check(what: &str, least_rules: usize, robots: &str, path: &str, verdict_time: Duration) {
    let rules = Rules::parse(robots.as_bytes(), "Teia");
    let parse = cost(|| drop(Rules::parse(robots.as_bytes(), "Teia")));
    let verdict = cost(|| drop(rules.verdict(path)));
    // Past the test harness, which hides what a passing test prints.
    let _ = writeln!(
        std::io::stderr(),
        "{what}: {} rules, read in {parse:?}, verdict in {verdict:?}",
        rules.len()
    );
    assert!(rules.len() >= least_rules, "{what}: {} rules", rules.len());
    assert!(
        parse < Duration::from_millis(100) * 10,
        "{what}: read in {parse:?}"
    );
    assert!(
        verdict < verdict_time * 10,
        "{what}: verdict in {verdict:?}"
    );
}

/// The mean processor time of twenty rounds.
fn cost(work: impl Fn()) -> Duration {
    let rounds = 20;
    let started = thread_time();
    for _ in 0..rounds {
        work();
    }
    (thread_time() - started) / rounds
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a thread has not worked for less than nothing")
}
