//! What is met while a fold is under way is bounded: beyond that the store asks to be waited for.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails, and says why"
)]

use std::sync::Arc;

use teia_base::SimulatedDisk;
use teia_repository::blocks::{Decided, Link, Store, StoreConfig};

fn meet(store: &mut Store, from: u64, count: u64) {
    for number in from..from + count {
        let url = format!("http://h{}.test/{number}", number % 9);
        store.replay(&Link::new(&url, 1), Decided::Pending);
    }
}

#[test]
fn a_store_that_falls_behind_says_so_until_its_fold_is_finished() {
    let config = StoreConfig {
        prefix: "urls".into(),
        front_urls: 100,
        ..StoreConfig::default()
    };
    let mut store = Store::open(Arc::new(SimulatedDisk::new()), config).unwrap();
    meet(&mut store, 0, 150);
    assert!(store.wants_fold() && !store.is_behind());
    let job = store.begin_fold(1);
    meet(&mut store, 1000, 99);
    assert!(!store.is_behind(), "there is room for one more");
    meet(&mut store, 2000, 1);
    assert!(store.is_behind());
    let done = job.run().unwrap();
    assert!(store.is_behind());
    store.finish_fold(done).unwrap();
    assert!(!store.is_behind() && store.wants_fold());
}
