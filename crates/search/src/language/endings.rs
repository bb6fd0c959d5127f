//! Letters and endings that tell the Romance languages of Iberia apart.

use std::sync::LazyLock;

/// How much a word (in lower case, accents kept) speaks for Portuguese, Spanish, Galician, Catalan.
///
/// The numbers are rough log-odds: 1 for what one meets often in one and seldom in the others.
pub(super) fn evidence(word: &str) -> [f32; 4] {
    // Each clue counts once. They are looked for by their first or last byte: most bytes begin none.
    let mut found = 0_u64;
    let bytes = word.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        for &number in &INDEX.inside[usize::from(byte)] {
            if bytes[at..].starts_with(CLUES[number].0.as_bytes()) {
                found |= 1 << number;
            }
        }
    }
    if let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) {
        for &number in &INDEX.start[usize::from(first)] {
            found |= u64::from(word.starts_with(CLUES[number].0)) << number;
        }
        for &number in &INDEX.end[usize::from(last)] {
            let part = CLUES[number].0;
            found |= u64::from(word.len() > part.len() && word.ends_with(part)) << number;
        }
    }
    let mut sum = [0.0; 4];
    while found != 0 {
        let (_, _, weights) = CLUES[found.trailing_zeros() as usize];
        for (total, weight) in sum.iter_mut().zip(weights) {
            *total += weight;
        }
        found &= found - 1;
    }
    sum
}

/// The numbers of clues by the byte that they begin or end with.
struct Index {
    inside: [Vec<usize>; 256],
    start: [Vec<usize>; 256],
    end: [Vec<usize>; 256],
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let with = |wanted: fn(Place) -> bool, byte_of: fn(&[u8]) -> u8| {
        std::array::from_fn(|byte| {
            let numbers = CLUES.iter().enumerate();
            let numbers = numbers.filter(|(_, (part, place, _))| {
                wanted(*place) && usize::from(byte_of(part.as_bytes())) == byte
            });
            numbers.map(|(number, _)| number).collect()
        })
    };
    let first = |part: &[u8]| part[0];
    Index {
        inside: with(|place| matches!(place, Inside), first),
        start: with(|place| matches!(place, Start), first),
        end: with(|place| matches!(place, End), |part| part[part.len() - 1]),
    }
});

#[derive(Clone, Copy)]
enum Place {
    Start,
    Inside,
    End,
}

use Place::{End, Inside, Start};

//                          pt    es    gl    ca
const CLUES: [(&str, Place, [f32; 4]); 62] = [
    ("ã", Inside, [1.6, -1.0, -1.0, -1.0]),
    ("õ", Inside, [1.6, -1.0, -1.0, -1.0]),
    ("ç", Inside, [0.9, -1.0, -0.8, 0.4]),
    ("ñ", Inside, [-1.2, 0.7, 0.7, -0.8]),
    ("ê", Inside, [1.0, -0.8, -0.8, -0.8]),
    ("ô", Inside, [1.0, -0.8, -0.8, -0.8]),
    ("â", Inside, [1.0, -0.8, -0.8, -0.8]),
    ("à", Inside, [0.0, -0.8, -0.8, 0.8]),
    ("è", Inside, [-0.8, -0.8, -0.8, 1.2]),
    ("ò", Inside, [-0.8, -0.8, -0.8, 1.2]),
    ("lh", Inside, [0.9, -0.7, -0.7, -0.5]),
    ("nh", Inside, [0.7, -0.7, -0.1, -0.5]),
    ("ll", Inside, [-0.8, 0.4, 0.2, 0.2]),
    ("l·l", Inside, [-1.0, -1.0, -1.0, 2.0]),
    ("ny", Inside, [-0.8, -0.6, -0.8, 0.8]),
    ("j", Inside, [0.2, 0.2, -1.2, 0.1]),
    ("y", Inside, [-0.6, 0.4, -0.6, 0.1]),
    ("w", Inside, [0.0, 0.0, 0.0, 0.0]),
    ("gue", Inside, [0.0, 0.1, 0.0, 0.0]),
    ("ue", Inside, [-0.2, 0.3, -0.2, -0.2]),
    ("ie", Inside, [-0.2, 0.3, -0.2, -0.1]),
    ("ei", Inside, [0.25, -0.3, 0.25, 0.0]),
    ("ou", Inside, [0.25, -0.3, 0.25, 0.1]),
    ("ss", Inside, [0.6, -0.8, -0.8, 0.6]),
    ("x", Start, [-0.3, -0.3, 0.8, 0.0]),
    ("xe", Inside, [-0.1, -0.2, 0.5, 0.0]),
    ("xi", Inside, [0.0, 0.0, 0.4, 0.0]),
    ("xu", Inside, [-0.1, -0.2, 0.5, 0.0]),
    ("xo", Inside, [0.0, -0.2, 0.3, 0.0]),
    ("ix", Inside, [0.0, -0.3, 0.1, 0.5]),
    ("tg", Inside, [-0.5, -0.5, -0.5, 1.0]),
    ("tj", Inside, [-0.5, -0.5, -0.5, 1.0]),
    ("qü", Inside, [0.0, -0.5, -0.5, 0.8]),
    ("ção", End, [1.0, -0.5, -0.5, -0.5]),
    ("ções", End, [1.0, -0.5, -0.5, -0.5]),
    ("ción", End, [-1.0, 0.6, 0.6, -0.8]),
    ("sión", End, [-1.0, 0.5, 0.5, -0.8]),
    ("ciones", End, [-1.0, 1.3, -0.4, -0.8]),
    ("cións", End, [-1.0, -0.6, 1.8, -0.8]),
    ("sións", End, [-1.0, -0.6, 1.8, -0.8]),
    ("ció", End, [-0.5, -0.4, -0.6, 1.4]),
    ("cions", End, [-0.5, -0.5, -0.5, 1.4]),
    ("dade", End, [0.5, -0.6, 0.5, -0.5]),
    ("dad", End, [-0.6, 1.0, -0.6, -0.5]),
    ("tat", End, [-0.5, -0.5, -0.5, 0.8]),
    ("vel", End, [0.7, -0.2, -0.4, 0.0]),
    ("ble", End, [-0.5, 0.3, 0.2, 0.3]),
    ("bel", End, [-0.2, -0.2, 0.6, 0.0]),
    ("gem", End, [1.0, -0.4, -0.6, -0.2]),
    ("xe", End, [-0.2, -0.4, 0.6, -0.2]),
    ("aje", End, [-0.3, 0.8, -0.6, -0.4]),
    ("inho", End, [0.8, -0.6, -0.6, -0.6]),
    ("iño", End, [-0.6, 0.1, 0.9, -0.5]),
    ("iña", End, [-0.6, 0.1, 0.9, -0.5]),
    ("m", End, [0.6, -0.7, -0.5, 0.0]),
    ("n", End, [-0.7, 0.3, 0.3, 0.1]),
    ("ín", End, [-0.5, 0.2, 0.4, 0.0]),
    ("áns", End, [-0.5, -0.3, 1.0, 0.0]),
    ("óns", End, [-0.5, -0.3, 1.0, 0.0]),
    ("ían", End, [-0.6, 0.5, 0.3, -0.3]),
    ("iam", End, [0.9, -0.5, -0.5, -0.2]),
    ("ment", End, [-0.5, -0.6, -0.6, 0.9]),
];
