//! Draws: numbers that look random and follow from the seed alone.

/// Mixes the parts into one well-spread number (the finalizer of SplitMix64 over each part).
pub(crate) fn mix(parts: &[u64]) -> u64 {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    for part in parts {
        state = finish(state ^ part.wrapping_mul(0xD6E8_FEB8_6659_FD93)).wrapping_add(state);
    }
    finish(state)
}

/// A number below `bound` out of a mixed one; 0 when `bound` is 0.
pub(crate) fn below(mixed: u64, bound: u32) -> u32 {
    // The high 32 bits times the bound, shifted back: always below the bound.
    u32::try_from(((mixed >> 32) * u64::from(bound)) >> 32).unwrap_or(0)
}

/// One item of a list that is not empty.
pub(crate) fn pick<'a, T: ?Sized>(mixed: u64, list: &[&'a T]) -> &'a T {
    let length = u32::try_from(list.len()).unwrap_or(u32::MAX);
    list[below(mixed, length) as usize]
}

fn finish(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parts_give_equal_draws_and_order_matters() {
        assert_eq!(mix(&[1, 2, 3]), mix(&[1, 2, 3]));
        assert_ne!(mix(&[1, 2, 3]), mix(&[1, 3, 2]));
    }

    #[test]
    fn draws_stay_below_their_bound_and_reach_all_of_it() {
        let mut met = [0_u32; 7];
        for number in 0..7_000 {
            met[below(mix(&[number]), 7) as usize] += 1;
        }
        assert!(
            met.iter().all(|&count| (800..1_200).contains(&count)),
            "{met:?}"
        );
    }
}
