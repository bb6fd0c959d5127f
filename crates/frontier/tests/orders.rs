//! The orders: which of two URLs of a host goes first.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::cmp::Ordering;

use teia_base::{Order, Timestamp, UrlFacts};
use teia_frontier::{OrderName, Ranked};

fn facts(depth: u16, sequence: u64, hash: u64) -> UrlFacts {
    UrlFacts {
        depth,
        sequence,
        hash,
        first_seen: Timestamp::from_micros(0),
        requisite: false,
        priority: 0,
    }
}

#[track_caller]
fn check(order: &str, left: UrlFacts, right: UrlFacts, ordering: Ordering) {
    let policy = order.parse::<OrderName>().unwrap().policy();
    let keys = (policy.url_key(&left), policy.url_key(&right));
    assert_eq!(
        keys.0.cmp(&keys.1),
        ordering,
        "{order}: {left:?}, {right:?}"
    );
}

#[test]
fn breadth_goes_by_depth_and_then_by_arrival() {
    check("breadth", facts(0, 9, 1), facts(1, 2, 0), Ordering::Less);
    check("breadth", facts(3, 4, 1), facts(3, 5, 0), Ordering::Less);
    check(
        "breadth",
        facts(u16::MAX - 1, 1 << 40, 0),
        facts(u16::MAX, 1, 0),
        Ordering::Less,
    );
}

#[test]
fn depth_is_last_in_first_out() {
    check("depth", facts(0, 9, 0), facts(5, 8, 0), Ordering::Less);
    check("depth", facts(7, 1, 0), facts(0, 2, 0), Ordering::Greater);
}

#[test]
fn random_goes_by_the_hash_alone() {
    check("random", facts(9, 9, 1), facts(0, 1, 2), Ordering::Less);
    check("random", facts(9, 9, 5), facts(0, 1, 5), Ordering::Equal);
}

#[test]
fn longest_wait_is_first_in_first_out() {
    check(
        "longest-wait",
        facts(9, 1, 9),
        facts(0, 2, 0),
        Ordering::Less,
    );
}

#[test]
fn priority_goes_first_and_then_what_is_near() {
    let of = |priority, depth| UrlFacts {
        priority,
        ..facts(depth, 1, 0)
    };
    let order = [
        of(i32::MAX, 9),
        of(7, 1),
        of(7, 2),
        of(0, 0),
        of(-1, 0),
        of(i32::MIN, 0),
    ];
    for pair in order.windows(2) {
        check("priority", pair[0], pair[1], Ordering::Less);
    }
}

#[test]
fn a_name_is_read_as_it_is_written_and_others_are_explained() {
    for name in [
        "breadth",
        "depth",
        "random",
        "longest-wait",
        "priority",
        "backlinks",
        "pagerank",
    ] {
        assert_eq!(name.parse::<OrderName>().unwrap().to_string(), name);
    }
    for name in ["opic", "focused"] {
        let error = name.parse::<OrderName>().unwrap_err();
        assert!(error.contains("not built yet"), "{error}");
    }
    let error = "sideways".parse::<OrderName>().unwrap_err();
    assert!(error.contains("breadth, depth"), "{error}");
}

#[test]
fn ranks_go_first_and_the_unknown_go_by_depth() {
    let order = Ranked::default();
    let (near, far) = (facts(1, 9, 7), facts(5, 2, 8));
    assert!(order.url_key(&near) < order.url_key(&far), "none is known");
    let edition = order.edition();
    order.publish([(8, 3)].into());
    assert!(order.url_key(&far) < order.url_key(&near));
    assert_ne!(order.edition(), edition);
    order.publish([(8, 3), (7, 4)].into());
    assert!(order.url_key(&near) < order.url_key(&far));
}
