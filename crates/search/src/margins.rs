//! Which words of a text stand beside the main text: by number, as the index counts them.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use teia_base::{Margin, MarginKind};

use crate::text::Word;

/// Words beside the main text, in runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Margins {
    /// Menus, heads and feet of pages, lists of links.
    pub(crate) navigation: Runs,
    /// What its author wants quoted nowhere.
    pub(crate) unquoted: Runs,
}

/// Numbers from one up to, not with, another; in order, apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Runs(Vec<(u32, u32)>);

impl Runs {
    pub(crate) fn has(&self, word: usize) -> bool {
        let after = self.0.partition_point(|run| run.1 as usize <= word);
        self.0.get(after).is_some_and(|run| run.0 as usize <= word)
    }

    /// The words around this one up to the next runs; all of them where it is in one.
    pub(crate) fn around(&self, word: usize) -> Range<usize> {
        let after = self.0.partition_point(|run| run.1 as usize <= word);
        let before = after.checked_sub(1).and_then(|at| self.0.get(at));
        let from = before.map_or(0, |run| run.1 as usize);
        let to = self.0.get(after).map_or(usize::MAX, |run| run.0 as usize);
        if to <= word { 0..usize::MAX } else { from..to }
    }

    /// The first word from this one on that is in none of them.
    pub(crate) fn first_after(&self, word: usize) -> usize {
        let after = self.0.partition_point(|run| run.1 as usize <= word);
        match self.0.get(after) {
            Some(run) if run.0 as usize <= word => run.1 as usize,
            _ => word,
        }
    }

    fn hear(&mut self, word: u32) {
        match self.0.last_mut() {
            Some(run) if run.1 == word => run.1 += 1,
            _ => self.0.push((word, word + 1)),
        }
    }
}

/// Finds them while somebody else reads the words.
pub(crate) struct Marginal<'a> {
    pub(crate) found: Margins,
    left: &'a [Margin],
    /// How far the margins reach that have begun: navigation, unquoted.
    reach: [u32; 2],
    word: u32,
}

impl<'a> Marginal<'a> {
    /// Of these margins, which are in order of where they begin.
    pub(crate) fn new(margins: &'a [Margin]) -> Self {
        Self {
            found: Margins::default(),
            left: margins,
            reach: [0; 2],
            word: 0,
        }
    }

    /// The next word.
    pub(crate) fn hear(&mut self, word: Word) {
        let (start, end) = (narrow(word.start), narrow(word.end));
        // A word that only reaches into a margin is in it.
        while let Some((margin, left)) = self.left.split_first()
            && margin.from < end
        {
            let reach = match margin.kind {
                MarginKind::Navigation => &mut self.reach[0],
                MarginKind::Unquoted => &mut self.reach[1],
            };
            *reach = margin.to.max(*reach);
            self.left = left;
        }
        let runs = [&mut self.found.navigation, &mut self.found.unquoted];
        for (runs, reach) in runs.into_iter().zip(self.reach) {
            if start < reach {
                runs.hear(self.word);
            }
        }
        self.word = self.word.saturating_add(1);
    }
}

fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words;

    #[test]
    fn words_of_margins_are_known_by_number() {
        let text = "zero one two three foursome five six";
        let place = |word: &str| narrow(text.find(word).unwrap());
        let margin = |from, to, kind| Margin { from, to, kind };
        let margins = [
            margin(place("one"), place("three") - 1, MarginKind::Navigation),
            margin(place("two"), place("three") - 1, MarginKind::Unquoted),
            margin(place("some"), place("five") - 1, MarginKind::Unquoted),
        ];
        let mut marginal = Marginal::new(&margins);
        words(text).for_each(|word| marginal.hear(word));
        let Margins {
            navigation,
            unquoted,
        } = marginal.found;
        assert_eq!(navigation, Runs(vec![(1, 3)]));
        assert_eq!(unquoted, Runs(vec![(2, 3), (4, 5)]));
        assert!(!navigation.has(0) && navigation.has(2) && !navigation.has(3));
        assert_eq!(navigation.around(0), 0..1);
        assert_eq!(navigation.around(5), 3..usize::MAX);
        assert_eq!(unquoted.around(3), 3..4);
        assert_eq!(
            (navigation.first_after(1), navigation.first_after(0)),
            (3, 0)
        );
    }
}
