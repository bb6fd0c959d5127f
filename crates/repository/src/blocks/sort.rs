//! Sorts texts eight bytes at a time: the bytes that decide lie beside the place, so that the text
//! itself, somewhere in a large buffer, is looked at once for every eight bytes and not at every
//! comparison.

/// Below so many, plain comparison is as quick.
const FEW: usize = 12;
/// Beyond so many shared bytes, plain comparison: recursion must end long before the stack does.
const DEEP: usize = 512;

/// A text to be sorted, and the place that it stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'t> {
    word: u64,
    text: &'t [u8],
    pub(crate) at: u32,
}

impl<'t> Item<'t> {
    #[inline]
    pub(crate) fn new(text: &'t [u8], at: u32) -> Self {
        Self { word: 0, text, at }
    }
}

/// Sorts by text, and equal texts by their places.
pub(crate) fn sort(items: &mut [Item<'_>]) {
    sort_from(items, 0);
}

fn sort_from(items: &mut [Item<'_>], depth: usize) {
    if items.len() <= FEW || depth >= DEEP {
        items.sort_unstable_by(|one, other| {
            let texts = one.text[depth..].cmp(&other.text[depth..]);
            texts.then(one.at.cmp(&other.at))
        });
        return;
    }
    for item in &mut *items {
        item.word = word_at(item.text, depth);
    }
    items.sort_unstable_by_key(|item| item.word);
    for same in items.chunk_by_mut(|one, other| one.word == other.word) {
        if same.len() == 1 {
            continue;
        }
        // A text that ends within these bytes comes before those that go on with noughts.
        let ends = |item: &Item<'_>| item.text.len() <= depth + 8;
        if same.iter().any(ends) {
            same.sort_unstable_by_key(|item| (item.text.len().min(depth + 9), item.at));
        }
        let long = same.iter().position(|item| !ends(item));
        if let Some(long) = long {
            sort_from(&mut same[long..], depth + 8);
        }
    }
}

/// Eight bytes as a number that sorts as they do; noughts where the text has ended.
#[inline]
fn word_at(text: &[u8], at: usize) -> u64 {
    if let Some(bytes) = text.get(at..at + 8) {
        return u64::from_be_bytes(bytes.try_into().expect("eight bytes were cut"));
    }
    let mut bytes = [0; 8];
    let rest = text.get(at..).unwrap_or(&[]);
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(texts: &[Vec<u8>]) {
        let mut items: Vec<Item<'_>> = (0..)
            .zip(texts)
            .map(|(at, text)| Item::new(text, at))
            .collect();
        sort(&mut items);
        let mut expected: Vec<(&[u8], u32)> = texts.iter().map(Vec::as_slice).zip(0..).collect();
        expected.sort_unstable();
        let sorted: Vec<(&[u8], u32)> = items.iter().map(|item| (item.text, item.at)).collect();
        assert_eq!(sorted, expected);
    }

    #[test]
    fn noughts_and_ends_are_told_apart() {
        let mut texts = Vec::new();
        for len in 0..40 {
            for repeat in 0..2 {
                texts.push(vec![0; len]);
                texts.push([vec![b'a'; len], vec![0; repeat]].concat());
            }
        }
        check(&texts);
    }

    #[test]
    fn long_shared_beginnings_do_not_go_deep() {
        let texts: Vec<Vec<u8>> = (0..50_u8)
            .map(|end| [vec![b'x'; 60_000], vec![end % 17]].concat())
            .collect();
        check(&texts);
    }

    proptest! {
        #[test]
        fn sorts_as_comparison_does(texts in prop::collection::vec(
            prop::collection::vec(prop::sample::select(vec![0_u8, b'a', b'b', 255]), 0..30), 0..200)) {
            check(&texts);
        }
    }
}
