//! Names to addresses, remembered, and asked for once at a time.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quick_cache::sync::Cache;
use teia_base::{Clock, Outcome};
use tokio::sync::watch;
use tokio::time::timeout;

use super::lookup::{Found, Lookup, NotFound};
use super::turns::Turns;
use crate::fault::Fault;

/// Names remembered.
const NAMES: usize = 1 << 16;
/// Lookups under way at once; more wait their turn within their own deadline.
const LOOKUPS: usize = 1024;
/// Addresses kept of one name.
const ADDRESSES: usize = 16;
const SHORTEST: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_hours(24);
/// How long a name is believed not to be there, where its zone says nothing of that; and at most.
const NEGATIVE: Duration = Duration::from_secs(300);
const LONGEST_NEGATIVE: Duration = Duration::from_hours(1);
/// How long a name that could not be asked about is left alone, or served from the old answer.
const TROUBLE: Duration = Duration::from_secs(15);

type Answer = Result<Arc<[IpAddr]>, Fault>;

/// Resolves names; cheap to clone.
#[derive(Clone)]
pub(crate) struct Resolver(Arc<Inner>);

struct Inner {
    clock: Arc<dyn Clock>,
    lookup: Box<dyn Lookup>,
    deadline: Duration,
    cache: Cache<Box<str>, Entry>,
    flights: Mutex<HashMap<Box<str>, watch::Receiver<Option<Answer>>>>,
    turns: Turns,
}

#[derive(Clone)]
struct Entry {
    answer: Answer,
    until: Instant,
}

impl Resolver {
    pub(crate) fn new(clock: Arc<dyn Clock>, lookup: impl Lookup, deadline: Duration) -> Self {
        Self(Arc::new(Inner {
            clock,
            lookup: Box::new(lookup),
            deadline,
            cache: Cache::new(NAMES),
            flights: Mutex::default(),
            turns: Turns::new(LOOKUPS),
        }))
    }

    /// The addresses of a name: at least one, at most sixteen.
    pub(crate) async fn resolve(&self, name: &str) -> Answer {
        if let Some(entry) = self.0.cache.get(name)
            && self.0.clock.now() < entry.until
        {
            return entry.answer;
        }
        let mut flight = self.flight(name);
        match flight
            .wait_for(Option::is_some)
            .await
            .map(|answer| answer.clone())
        {
            Ok(Some(answer)) => answer,
            _ => Err(Fault::new(Outcome::DNS_SERVFAIL, "lookup ended early")),
        }
    }

    /// Asks the name servers, whatever is remembered, and remembers nothing of it.
    pub(crate) async fn ask(&self, name: &str) -> Result<(), Fault> {
        let asked = timeout(self.0.deadline, self.0.lookup.lookup(name)).await;
        let found = asked.unwrap_or_else(|_| Err(Outcome::DNS_TIMEOUT.into()));
        found.map(|_| ()).map_err(|not_found| not_found.fault)
    }

    /// Forgets which names could not be asked about.
    pub(crate) fn forget_trouble(&self) {
        let is_trouble = |fault: &Fault| fault.outcome != Outcome::DNS_NXDOMAIN;
        self.0
            .cache
            .retain(|_, entry| !entry.answer.as_ref().is_err_and(is_trouble));
    }

    /// Joins the lookup of this name, or begins it. It runs as a task of its own: a caller that
    /// goes away does not end it for the others.
    fn flight(&self, name: &str) -> watch::Receiver<Option<Answer>> {
        let mut flights = self.0.flights.lock().expect("no holder panics");
        if let Some(flight) = flights.get(name) {
            return flight.clone();
        }
        let (sender, receiver) = watch::channel(None);
        flights.insert(name.into(), receiver.clone());
        let (inner, name) = (Arc::clone(&self.0), Box::<str>::from(name));
        tokio::spawn(async move {
            let landing = Landing {
                inner: &inner,
                name: &name,
            };
            let answer = inner.look(&name).await;
            drop(landing);
            let _ = sender.send(Some(answer));
        });
        receiver
    }
}

/// Takes a flight off the list, also when its task is cut short.
struct Landing<'a> {
    inner: &'a Inner,
    name: &'a str,
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        if let Ok(mut flights) = self.inner.flights.lock() {
            flights.remove(self.name);
        }
    }
}

impl Inner {
    async fn look(&self, name: &str) -> Answer {
        let ask = async {
            let _turn = self.turns.take().await;
            self.lookup.lookup(name).await
        };
        let found = timeout(self.deadline, ask)
            .await
            .unwrap_or_else(|_| Err(Outcome::DNS_TIMEOUT.into()))
            .and_then(|found| match found.addresses.is_empty() {
                true => Err(Fault::new(Outcome::DNS_NXDOMAIN, "no_address").into()),
                false => Ok(found),
            });
        let (answer, hold) = self.judge(name, found);
        self.cache.insert(
            name.into(),
            Entry {
                answer: answer.clone(),
                until: self.clock.now() + hold,
            },
        );
        answer
    }

    /// What to answer, and for how long.
    fn judge(&self, name: &str, found: Result<Found, NotFound>) -> (Answer, Duration) {
        match found {
            Ok(Found { mut addresses, ttl }) => {
                addresses.truncate(ADDRESSES);
                (Ok(addresses.into()), ttl.clamp(SHORTEST, LONGEST))
            }
            Err(NotFound { fault, ttl }) if fault.outcome == Outcome::DNS_NXDOMAIN => {
                let hold = ttl.unwrap_or(NEGATIVE);
                (Err(fault), hold.clamp(SHORTEST, LONGEST_NEGATIVE))
            }
            // Name servers in trouble: an old answer is better than none (RFC 8767).
            Err(NotFound { fault, .. }) => match self.cache.get(name) {
                Some(Entry {
                    answer: Ok(addresses),
                    ..
                }) => (Ok(addresses), TROUBLE),
                _ => (Err(fault), TROUBLE),
            },
        }
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver")
            .field("names", &self.0.cache.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::lookup::Looking;
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use teia_base::{ManualClock, Timestamp};

    struct Scripted {
        asked: Arc<AtomicUsize>,
        answers: Mutex<Vec<Result<Found, NotFound>>>,
    }

    impl Lookup for Scripted {
        fn lookup<'a>(&'a self, _: &'a str) -> Looking<'a> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let answer = self.answers.lock().unwrap().pop();
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                match answer {
                    Some(answer) => answer,
                    None => std::future::pending().await,
                }
            })
        }
    }

    #[tokio::test]
    async fn a_question_anew_goes_by_the_cache_and_trouble_is_forgotten_when_it_is_over() {
        let there = || {
            Ok(Found {
                addresses: vec![IpAddr::from([192, 0, 2, 1])],
                ttl: Duration::from_secs(3600),
            })
        };
        let gone = || Err(NotFound::from(Outcome::DNS_SERVFAIL));
        let bench = bench(vec![there(), gone()]);
        bench.ask().await.unwrap();
        let fault = bench.resolver.ask("a.example").await.unwrap_err();
        assert_eq!(fault.outcome, Outcome::DNS_SERVFAIL);
        bench.ask().await.unwrap();
        assert_eq!(bench.asked.load(Ordering::SeqCst), 2);
        let bench = self::bench(vec![gone(), there()]);
        bench.ask().await.unwrap_err();
        bench.ask().await.unwrap_err();
        bench.resolver.forget_trouble();
        bench.ask().await.unwrap();
    }

    struct Bench {
        clock: Arc<ManualClock>,
        resolver: Resolver,
        asked: Arc<AtomicUsize>,
    }

    fn bench(mut answers: Vec<Result<Found, NotFound>>) -> Bench {
        answers.reverse();
        let clock = Arc::new(ManualClock::new(Timestamp::from_micros(0)));
        let asked = Arc::new(AtomicUsize::new(0));
        let lookup = Scripted {
            asked: Arc::clone(&asked),
            answers: Mutex::new(answers),
        };
        let resolver = Resolver::new(
            Arc::clone(&clock) as Arc<dyn Clock>,
            lookup,
            Duration::from_secs(2),
        );
        Bench {
            clock,
            resolver,
            asked,
        }
    }

    impl Bench {
        async fn ask(&self) -> Answer {
            self.resolver.resolve("a.example").await
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::SeqCst)
        }

        fn pass(&self, seconds: u64) {
            self.clock.advance(Duration::from_secs(seconds));
        }
    }

    fn found(count: u8, ttl: u64) -> Result<Found, NotFound> {
        let addresses = (1..=count).map(|n| IpAddr::from([9, 9, 9, n])).collect();
        Ok(Found {
            addresses,
            ttl: Duration::from_secs(ttl),
        })
    }

    #[tokio::test]
    async fn many_askers_share_one_lookup_and_its_answer_is_kept() {
        let bench = bench(vec![found(40, 0), found(1, 1 << 40)]);
        let answers = futures_util::future::join_all((0..50).map(|_| bench.ask())).await;
        assert!(
            answers
                .into_iter()
                .all(|answer| answer.unwrap().len() == ADDRESSES)
        );
        bench.pass(59);
        bench.ask().await.unwrap();
        assert_eq!(bench.asked(), 1, "a TTL of 0 counts as a minute");
        bench.pass(2);
        assert_eq!(bench.ask().await.unwrap().len(), 1);
        bench.pass(24 * 3600 - 1);
        bench.ask().await.unwrap();
        assert_eq!(bench.asked(), 2, "and one of years as a day");
        bench.pass(2);
        assert!(
            bench.ask().await.is_ok(),
            "serving the old answer while nobody replies"
        );
        assert_eq!(bench.asked(), 3);
    }

    #[tokio::test]
    async fn an_old_answer_serves_while_name_servers_are_in_trouble() {
        let trouble = Err(Outcome::DNS_SERVFAIL.into());
        let bench = bench(vec![
            found(1, 60),
            trouble,
            Err(Outcome::DNS_NXDOMAIN.into()),
        ]);
        bench.ask().await.unwrap();
        bench.pass(61);
        assert!(bench.ask().await.is_ok());
        bench.pass(20);
        assert_eq!(
            bench.ask().await.unwrap_err().outcome,
            Outcome::DNS_NXDOMAIN,
            "gone is gone"
        );
        bench.pass(299);
        assert!(bench.ask().await.is_err());
        assert_eq!(bench.asked(), 3);
    }

    #[tokio::test]
    async fn a_name_is_gone_for_as_long_as_its_zone_says_within_bounds() {
        for (told, held) in [(0, 60), (600, 600), (1 << 30, 3600)] {
            let gone = NotFound {
                fault: Outcome::DNS_NXDOMAIN.into(),
                ttl: Some(Duration::from_secs(told)),
            };
            let bench = bench(vec![Err(gone), found(1, 60)]);
            assert!(bench.ask().await.is_err());
            bench.pass(held - 1);
            assert!(bench.ask().await.is_err(), "{told} s");
            bench.pass(2);
            assert!(bench.ask().await.is_ok(), "{told} s");
        }
    }

    #[tokio::test]
    async fn silence_ends_at_the_deadline() {
        assert_eq!(
            bench(vec![]).ask().await.unwrap_err().outcome,
            Outcome::DNS_TIMEOUT
        );
    }

    #[tokio::test]
    async fn an_asker_who_leaves_does_not_end_the_lookup() {
        let bench = bench(vec![found(1, 60)]);
        let _ = timeout(Duration::from_millis(1), bench.ask()).await;
        assert!(bench.ask().await.is_ok());
        assert_eq!(bench.asked(), 1);
    }
}
