//! Wrong tokens are counted for each source: after so many within a minute, the next must wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Within this time tries are counted.
const SPAN: Duration = Duration::from_secs(60);
/// Sources that are remembered; with one more, the one that was wrong longest ago is forgotten.
const SOURCES: usize = 4_096;

/// Who was wrong lately.
#[derive(Debug)]
pub(crate) struct Tries {
    most: u32,
    sources: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl Tries {
    /// So many wrong ones within a minute, for each source.
    pub(crate) fn new(most: u32) -> Self {
        Self {
            most,
            sources: Mutex::default(),
        }
    }

    /// How long a source has to wait before it may try, if it has.
    pub(crate) fn wait(&self, source: IpAddr, now: Instant) -> Option<Duration> {
        let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let (began, count) = sources.get(&of_source(source))?;
        let left = (*began + SPAN).saturating_duration_since(now);
        (*count >= self.most && !left.is_zero()).then_some(left)
    }

    /// A source was wrong.
    pub(crate) fn note(&self, source: IpAddr, now: Instant) {
        let source = of_source(source);
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if !sources.contains_key(&source) && sources.len() >= SOURCES {
            sources.retain(|_, (began, _)| *began + SPAN > now);
            if sources.len() >= SOURCES {
                let first = sources.iter().min_by_key(|(_, (began, _))| *began);
                let first = first.map(|(source, _)| *source);
                first.and_then(|source| sources.remove(&source));
            }
        }
        let entry = sources.entry(source).or_insert((now, 0));
        if entry.0 + SPAN <= now {
            *entry = (now, 0);
        }
        entry.1 = entry.1.saturating_add(1);
    }
}

/// Whoever has an IPv6 address has 2⁶⁴ of them.
fn of_source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(network.into())
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_was_wrong_too_often_waits_and_others_do_not() {
        let tries = Tries::new(3);
        let (bad, good): (IpAddr, IpAddr) =
            ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let now = Instant::now();
        for _ in 0..3 {
            assert_eq!(tries.wait(bad, now), None);
            tries.note(bad, now);
        }
        assert_eq!(tries.wait(bad, now), Some(SPAN));
        assert_eq!(tries.wait(good, now), None);
        assert_eq!(tries.wait(bad, now + SPAN), None, "the minute is over");
        tries.note(bad, now + SPAN);
        assert_eq!(tries.wait(bad, now + SPAN), None, "it counts anew");
    }

    #[test]
    fn one_network_is_one_source_and_sources_are_bounded() {
        let tries = Tries::new(1);
        let now = Instant::now();
        tries.note("2001:db8::1".parse().unwrap(), now);
        let neighbour: IpAddr = "2001:db8::ffff:1".parse().unwrap();
        assert!(tries.wait(neighbour, now).is_some());
        for number in 0..100_000_u32 {
            tries.note(IpAddr::V4(number.into()), now);
        }
        assert!(tries.sources.lock().unwrap().len() <= SOURCES);
    }
}
