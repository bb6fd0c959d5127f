//! `NAME/part-0/analyzed`: how far the Analyzers are. Text, replaced as a whole:
//!
//! ```text
//! 1234      the documents of every journal entry up to here were handed over …
//! 17-17     … but for these: they could not be read, and are tried again at each start
//! 40-56
//! check 0123456789abcdef    the hash of the lines before it
//! ```

use std::io;
use std::path::PathBuf;

use teia_base::Files;
use xxhash_rust::xxh3::xxh3_64;

use crate::directory::Layout;

/// Ranges that are kept apart. Beyond that neighbours become one, and what lies between them is
/// handed over once more.
const MOST_RANGES: usize = 1000;

/// Which entries were handed over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Analyzed {
    position: u64,
    /// First and last entry of each range; in order, apart from each other, none above `position`.
    owed: Vec<(u64, u64)>,
}

impl Analyzed {
    /// What is on disk. Where nothing can be read, nothing counts as handed over: rather twice than
    /// never.
    pub(crate) fn read(files: &dyn Files, layout: &Layout) -> Self {
        let bytes = files.read(&path(layout)).unwrap_or_default();
        Self::parse(&String::from_utf8_lossy(&bytes)).unwrap_or_default()
    }

    fn parse(text: &str) -> Option<Self> {
        let (lines, check) = text.strip_suffix('\n')?.rsplit_once("check ")?;
        if check != check_of(lines) {
            return None;
        }
        let mut lines = lines.lines();
        let position = lines.next()?.trim().parse().ok()?;
        let mut owed = Vec::new();
        let mut before = 0;
        for line in lines {
            let (first, last) = line.trim().split_once('-')?;
            let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            if first <= before || last < first || last > position {
                return None;
            }
            before = last;
            owed.push((first, last));
        }
        Some(Self { position, owed })
    }

    /// Replaces what is on disk.
    pub(crate) fn write(&self, files: &dyn Files, layout: &Layout) -> io::Result<()> {
        let mut shown = self.clone();
        // What is owed at the very end is what the position says by itself.
        while let Some(&(first, last)) = shown.owed.last()
            && last == shown.position
        {
            shown.position = first - 1;
            shown.owed.pop();
        }
        let mut text = format!("{}\n", shown.position);
        for (first, last) in shown.owed {
            text.push_str(&format!("{first}-{last}\n"));
        }
        text.push_str(&format!("check {}\n", check_of(&text)));
        files.replace(&path(layout), text.as_bytes())
    }

    /// Everything up to this entry exists; what lies above the old position is owed.
    pub(crate) fn owe_until(&mut self, until: u64) {
        if until > self.position {
            self.owed.push((self.position + 1, until));
            self.position = until;
        }
    }

    /// A new entry was handed over; those before it that are unknown here had no documents.
    pub(crate) fn advance(&mut self, sequence: u64) {
        self.position = self.position.max(sequence);
    }

    /// An entry that was owed was handed over.
    pub(crate) fn settle(&mut self, sequence: u64) {
        let holds = |&(first, last): &(u64, u64)| (first..=last).contains(&sequence);
        let Some(at) = self.owed.iter().position(holds) else {
            return;
        };
        let (first, last) = self.owed.remove(at);
        if sequence < last {
            self.owed.insert(at, (sequence + 1, last));
        }
        if first < sequence {
            self.owed.insert(at, (first, sequence - 1));
        }
        while self.owed.len() > MOST_RANGES
            && let (Some((_, last)), Some((first, _))) = (self.owed.pop(), self.owed.pop())
        {
            self.owed.push((first, last));
        }
    }

    /// Whether the entry is owed.
    pub(crate) fn owes(&self, sequence: u64) -> bool {
        self.owes_between(sequence, sequence)
    }

    /// Whether any entry of these is owed.
    pub(crate) fn owes_between(&self, first: u64, last: u64) -> bool {
        let meets = |&(from, to): &(u64, u64)| from <= last && to >= first;
        self.owed.iter().any(meets)
    }

    /// Whether nothing is owed.
    pub(crate) fn is_settled(&self) -> bool {
        self.owed.is_empty()
    }
}

fn check_of(lines: &str) -> String {
    format!("{:016x}", xxh3_64(lines.as_bytes()))
}

fn path(layout: &Layout) -> PathBuf {
    layout.part().join("analyzed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use teia_base::SimulatedDisk;

    fn shown(analyzed: &Analyzed) -> (String, Analyzed) {
        let disk = SimulatedDisk::new();
        let layout = Layout::new("default").unwrap();
        disk.create_dir(&layout.part()).unwrap();
        analyzed.write(&disk, &layout).unwrap();
        let text = String::from_utf8(disk.read(&path(&layout)).unwrap()).unwrap();
        let (lines, _) = text.rsplit_once("check ").unwrap();
        (lines.to_owned(), Analyzed::read(&disk, &layout))
    }

    #[test]
    fn a_place_without_debts_is_one_number() {
        let mut analyzed = Analyzed::default();
        analyzed.owe_until(9);
        assert_eq!(shown(&analyzed).0, "0\n");
        (1..=4).for_each(|entry| analyzed.settle(entry));
        assert_eq!(shown(&analyzed).0, "4\n");
        (5..=9).for_each(|entry| analyzed.settle(entry));
        analyzed.advance(12);
        assert_eq!(shown(&analyzed).0, "12\n");
        assert!(analyzed.is_settled());
    }

    #[test]
    fn what_could_not_be_read_stays_owed_however_far_the_others_are() {
        let mut analyzed = Analyzed::default();
        analyzed.owe_until(9);
        [1, 2, 3, 5, 8, 9]
            .iter()
            .for_each(|&entry| analyzed.settle(entry));
        analyzed.advance(20);
        let (text, read) = shown(&analyzed);
        assert_eq!(text, "20\n4-4\n6-7\n");
        assert_eq!(read, analyzed);
        let owed: Vec<u64> = (0..30).filter(|&entry| read.owes(entry)).collect();
        assert_eq!(owed, [4, 6, 7]);
        assert!(read.owes_between(5, 6) && !read.owes_between(8, 30));
    }

    #[test]
    fn many_debts_are_kept_in_few_ranges_and_none_is_lost() {
        let mut analyzed = Analyzed::default();
        analyzed.owe_until(10_000);
        (1..=5000).for_each(|entry| analyzed.settle(2 * entry));
        assert!(analyzed.owed.len() <= MOST_RANGES);
        assert!((0..5000).all(|entry| analyzed.owes(2 * entry + 1)));
        assert_eq!(shown(&analyzed).1, analyzed);
    }

    #[test]
    fn nonsense_on_disk_hands_everything_over_again() {
        for text in ["", "x", "5\n7-9", "5\n3-2", "9\n4-5\n2-3"] {
            assert_eq!(Analyzed::parse(text), None, "{text}");
            let checked = format!("{text}\ncheck {}\n", check_of(&format!("{text}\n")));
            assert_eq!(Analyzed::parse(&checked), None, "{text}");
        }
        // A digit that changed would pass over documents.
        let good = format!("20\n4-6\ncheck {}\n", check_of("20\n4-6\n"));
        assert!(Analyzed::parse(&good).is_some());
        for at in 0..good.len() {
            let mut bytes = good.clone().into_bytes();
            bytes[at] ^= 1;
            let damaged = String::from_utf8_lossy(&bytes);
            assert_eq!(Analyzed::parse(&damaged), None, "{damaged}");
            assert_eq!(Analyzed::parse(&good[..at]), None, "{at}");
        }
    }
}
