//! Whose pages go to the slow lane: hosts whose pages are dear or long, and who of them has one there.
//!
//! ```text
//! answer ──> quick lane ────────────────────────> read
//!        └─> slow lane (one page of a host) ────> read, and the host is asked again
//!              │ many there: hosts that are known for such pages wait
//!              └ full:       a page goes with the others
//! ```
//!
//! What is in the slow lane takes no place of a request to somebody else, however much it is: were it otherwise, enough
//! hosts with long pages would hold all places, and nobody could be asked for anything until the lane has moved. What is
//! there is bounded by the lane itself (`Jobs`) and, long before that, by those who wait here.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use teia_base::HostId;

/// A page that took this much of a processor was dear: the next ones of its host are taken for it too,
const DEAR: Duration = Duration::from_millis(200);
/// until one of them takes no more than this.
const CHEAP: Duration = Duration::from_millis(50);
/// A host that sent a long page may send another, until so many in a row were not. Not after one: a host could send long
/// and short ones in turns.
const SHORT_IN_A_ROW: u8 = 8;
/// Hosts of each kind that are remembered; pages of those beyond are like others until they are seen.
const MOST: usize = 65_536;

/// Which threads read a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Quick,
    Slow,
}

/// What the ring knows of the two lanes.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// Hosts whose pages are dear to read.
    dear: HashSet<HostId>,
    /// Hosts that sent a long page, and how many short ones in a row make them like others again.
    long: HashMap<HostId, u8>,
    /// Hosts with a page in the slow lane; they are asked again when it was read.
    in_slow: HashSet<HostId>,
    /// As many pages are there before those hosts wait.
    many: usize,
}

impl Lanes {
    pub(crate) fn new(many: usize) -> Self {
        Self {
            dear: HashSet::new(),
            long: HashMap::new(),
            in_slow: HashSet::new(),
            many,
        }
    }

    /// The host has answered, and its page goes to this lane.
    pub(crate) fn note_answer(&mut self, host: HostId, lane: Lane, is_long: bool) {
        if is_long {
            if self.long.len() < MOST || self.long.contains_key(&host) {
                self.long.insert(host, SHORT_IN_A_ROW);
            }
        } else if let Some(left) = self.long.get_mut(&host) {
            *left -= 1;
            if *left == 0 {
                self.long.remove(&host);
            }
        }
        if lane == Lane::Slow {
            self.in_slow.insert(host);
        }
    }

    /// A page of the host was read in this lane, and took this much of a processor. Whether it is now the host's turn again.
    pub(crate) fn note_read(&mut self, host: HostId, lane: Lane, computed: Duration) -> bool {
        match is_dear(computed) {
            Some(true) if self.dear.len() < MOST => drop(self.dear.insert(host)),
            Some(false) => drop(self.dear.remove(&host)),
            _ => {}
        }
        // One that was read in the quick lane says nothing of a later one that still waits in the other.
        lane == Lane::Slow && self.in_slow.remove(&host)
    }

    /// Whether its pages are dear to read.
    pub(crate) fn is_dear(&self, host: HostId) -> bool {
        self.dear.contains(&host)
    }

    /// Whether a page of it is in the slow lane.
    pub(crate) fn has_page(&self, host: HostId) -> bool {
        self.in_slow.contains(&host)
    }

    /// Pages in the slow lane.
    pub(crate) fn pages(&self) -> usize {
        self.in_slow.len()
    }

    /// Whether the host is to wait, because enough such pages are to be read.
    pub(crate) fn must_wait(&self, host: HostId) -> bool {
        let is_known = || self.dear.contains(&host) || self.long.contains_key(&host);
        self.in_slow.len() >= self.many && is_known()
    }
}

/// Whether what a page took says that its host is dear; nothing where it says neither.
fn is_dear(computed: Duration) -> Option<bool> {
    match computed {
        much if much >= DEAR => Some(true),
        little if little <= CHEAP => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LITTLE: Duration = Duration::from_millis(3);

    #[test]
    fn a_dear_host_stays_so_until_it_is_cheap() {
        let mut lanes = Lanes::new(0);
        for (millis, is_dear) in [(100, false), (900, true), (100, true), (3, false)] {
            lanes.note_read(HostId(1), Lane::Quick, Duration::from_millis(millis));
            assert_eq!(lanes.is_dear(HostId(1)), is_dear, "{millis} ms");
        }
    }

    #[test]
    fn a_host_of_long_pages_waits_while_there_are_many_until_it_has_sent_short_ones_for_a_while() {
        let mut lanes = Lanes::new(1);
        lanes.note_answer(HostId(9), Lane::Slow, true);
        lanes.note_answer(HostId(1), Lane::Slow, true);
        lanes.note_read(HostId(1), Lane::Slow, LITTLE);
        assert!(!lanes.must_wait(HostId(2)), "who is not known for it");
        for _ in 0..SHORT_IN_A_ROW {
            assert!(lanes.must_wait(HostId(1)));
            lanes.note_answer(HostId(1), Lane::Quick, false);
        }
        assert!(!lanes.must_wait(HostId(1)));
        // Also where the lane was full, so that its long page went with the others.
        lanes.note_answer(HostId(1), Lane::Quick, true);
        assert!(lanes.must_wait(HostId(1)));
        lanes.note_read(HostId(9), Lane::Slow, LITTLE);
        assert!(!lanes.must_wait(HostId(1)), "there is room");
    }

    #[test]
    fn a_page_in_the_slow_lane_is_there_until_it_was_read_itself() {
        let mut lanes = Lanes::new(1);
        lanes.note_answer(HostId(1), Lane::Quick, false);
        lanes.note_answer(HostId(1), Lane::Slow, true);
        assert!(!lanes.note_read(HostId(1), Lane::Quick, LITTLE));
        assert!(lanes.has_page(HostId(1)) && lanes.pages() == 1);
        assert!(lanes.note_read(HostId(1), Lane::Slow, LITTLE));
        assert!(!lanes.has_page(HostId(1)) && lanes.pages() == 0);
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let mut lanes = Lanes::new(1);
        for number in 0..u32::try_from(MOST).unwrap() + 10 {
            lanes.note_answer(HostId(number), Lane::Quick, true);
            lanes.note_read(HostId(number), Lane::Quick, DEAR);
        }
        assert_eq!((lanes.long.len(), lanes.dear.len()), (MOST, MOST));
    }
}
