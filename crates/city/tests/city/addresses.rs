//! Which of the addresses that a name server says may be visited.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use teia_base::{ManualClock, Outcome, Timestamp};
use teia_city::{NameServer, Reply};
use teia_fetch::{FetchConfig, HttpFetcher};

use crate::dns::{GOOD, Named, addresses, asking, here, page_door, server};
use crate::support::{Visit, get, outcome};

/// Settings under which this address and port alone may be visited.
fn only(server: &NameServer, address: SocketAddr) -> FetchConfig {
    FetchConfig {
        allow_private: false,
        allowed: vec![(address.ip(), address.port())],
        ..asking(server)
    }
}

#[tokio::test]
async fn dns_08() {
    // Allowed when it is asked for first, forbidden ever after.
    let turn = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&turn);
    let server = server(move |question| {
        if !question.is_a() {
            return Reply::Records(Vec::new());
        }
        let first = counter.fetch_add(1, Ordering::SeqCst) == 0;
        addresses(
            question,
            &[if first { "127.0.0.1" } else { "127.0.0.2" }],
            0,
        )
    });
    let door = page_door();
    let clock = Arc::new(ManualClock::new(Timestamp::from_micros(0)));
    let config = only(&server, door.address());
    let fetcher =
        HttpFetcher::new(config, Arc::clone(&clock) as Arc<dyn teia_base::Clock>).unwrap();
    let url = door.named("rebind.city.test", "/");
    let exchange = get(&fetcher, &url).await;
    outcome(&exchange, Outcome::http(200));
    assert_eq!(
        exchange.remote,
        Some(door.address()),
        "the address that was checked"
    );
    assert_eq!(turn.load(Ordering::SeqCst), 1, "one resolution feeds both");
    clock.advance(Duration::from_secs(61));
    let exchange = get(&fetcher, &url).await;
    outcome(&exchange, Outcome::ADDR_BLOCKED);
    assert_eq!(door.connections(), 1);
    outcome(
        &get(&fetcher, &door.named(GOOD, "/next")).await,
        Outcome::http(200),
    );
}

#[tokio::test]
async fn dns_09() {
    let server = server(|question| match question.name.as_str() {
        "public.city.test" => addresses(question, &["93.184.216.34", "10.0.0.1"], 60),
        "six.city.test" => addresses(question, &["127.0.0.1", "fd00::1"], 60),
        _ => addresses(question, &["127.0.0.1", "10.0.0.1"], 60),
    });
    let door = page_door();
    let config = only(&server, door.address());
    let named = Named {
        visit: Visit::at(door, config),
        server,
    };
    for host in ["public.city.test", "six.city.test", "mixed.city.test"] {
        outcome(&named.get(host).await, Outcome::ADDR_BLOCKED);
    }
    assert_eq!(
        named.visit.door.connections(),
        0,
        "never tried as a fallback"
    );
    named.leave().await;
}

#[tokio::test]
async fn dns_10() {
    const FORMS: [&str; 9] = [
        "::ffff:10.0.0.1",
        "::7f00:1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "64:ff9b:1::a00:1",
        "2001:0:7f00:1::",
        "2a00::5efe:a00:1",
        "fec0::1",
        "::1",
    ];
    let server = server(|question| {
        let number = question
            .name
            .trim_start_matches("form")
            .split('.')
            .next()
            .unwrap_or("");
        addresses(question, &[FORMS[number.parse::<usize>().unwrap_or(0)]], 60)
    });
    let door = page_door();
    let config = only(&server, door.address());
    let named = Named {
        visit: Visit::at(door, config),
        server,
    };
    for (n, form) in FORMS.iter().enumerate() {
        let exchange = named.get(&format!("form{n}.city.test")).await;
        assert_eq!(exchange.outcome, Outcome::ADDR_BLOCKED, "{form}");
        let literal = format!("http://[{form}]:{}/", named.visit.door.address().port());
        outcome(
            &get(&named.visit.fetcher, &literal).await,
            Outcome::ADDR_BLOCKED,
        );
    }
    assert_eq!(named.visit.door.connections(), 0);
    named.leave().await;
}

/// Names and addresses that lead to a service of this very process, which listens where private
/// addresses are allowed.
#[tokio::test]
async fn dns_11() {
    let server = server(here);
    let (service, wide, door) = (page_door(), page_door(), page_door());
    let own = teia_fetch::refuse_own(service.address());
    let everywhere = SocketAddr::new([0, 0, 0, 0].into(), wide.address().port());
    let own_wide = teia_fetch::refuse_own(everywhere);
    let visit = Visit::at(door, asking(&server));
    for service in [&service, &wide] {
        let port = service.address().port();
        for url in [
            service.named("sneaky.city.test", "/"),
            service.url("/"),
            format!("http://[::ffff:127.0.0.1]:{port}/"),
            format!("http://0.0.0.0:{port}/"),
            format!("http://[::]:{port}/"),
        ] {
            outcome(&get(&visit.fetcher, &url).await, Outcome::ADDR_BLOCKED);
        }
        assert_eq!(service.connections(), 0, "never even connected");
    }
    visit.leave().await;
    drop((own, own_wide));
    let url = service.named("sneaky.city.test", "/");
    outcome(&get(&visit.fetcher, &url).await, Outcome::http(200));
}
