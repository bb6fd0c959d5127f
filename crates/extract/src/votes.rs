//! A vote over the bits of many hashes.

/// How often each of 64 bits was set, counted by bits of the counts: `planes[k]` holds bit `k` of
/// all 64 counts, so that one addition of words counts 64 bits at once.
#[derive(Debug, Default)]
pub(crate) struct Votes {
    planes: [u64; 32],
    added: u32,
}

impl Votes {
    /// Counts hashes, eight at once: eight cost little more than one. At most `u32::MAX` of them.
    pub(crate) fn add_all(&mut self, hashes: &[u64]) {
        let (eights, rest) = hashes.as_chunks::<8>();
        for &[a, b, c, d, e, f, g, h] in eights {
            let ones = self.planes[0];
            let (ones, two_1) = add_three(ones, a, b);
            let (ones, two_2) = add_three(ones, c, d);
            let (ones, two_3) = add_three(ones, e, f);
            let (ones, two_4) = add_three(ones, g, h);
            let (twos, four_1) = add_three(self.planes[1], two_1, two_2);
            let (twos, four_2) = add_three(twos, two_3, two_4);
            let (fours, eight) = add_three(self.planes[2], four_1, four_2);
            self.planes[0] = ones;
            self.planes[1] = twos;
            self.planes[2] = fours;
            self.carry(3, eight);
        }
        for &hash in rest {
            self.carry(0, hash);
        }
        let added = u32::try_from(hashes.len()).unwrap_or(u32::MAX);
        self.added = self.added.saturating_add(added);
    }

    /// How many hashes were counted.
    pub(crate) fn count(&self) -> u32 {
        self.added
    }

    /// Adds one bit for each of the 64 counts at a plane.
    fn carry(&mut self, plane: usize, mut bits: u64) {
        for plane in &mut self.planes[plane..] {
            if bits == 0 {
                return;
            }
            (*plane, bits) = (*plane ^ bits, *plane & bits);
        }
    }

    /// The bits that more than half of the hashes had.
    pub(crate) fn majority(&self) -> u64 {
        let half = self.added / 2;
        let (mut greater, mut equal) = (0, u64::MAX);
        for (at, &plane) in self.planes.iter().enumerate().rev() {
            if half >> at & 1 == 1 {
                equal &= plane;
            } else {
                greater |= equal & plane;
                equal &= !plane;
            }
        }
        greater
    }
}

/// The sum of three bits in each of 64 places, and what is carried.
#[inline]
fn add_three(a: u64, b: u64, c: u64) -> (u64, u64) {
    let half = a ^ b;
    (half ^ c, (a & b) | (half & c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vote_is_that_of_counting_one_by_one() {
        for count in [0_u64, 1, 2, 7, 8, 9, 100, 255, 256, 1000, 70_001] {
            let hashes: Vec<u64> = (1..=count)
                .map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (at << 7))
                .collect();
            let mut votes = Votes::default();
            let (some, others) = hashes.split_at(hashes.len() / 3);
            votes.add_all(some);
            votes.add_all(others);
            let slow = (0..64).fold(0, |bits, at| {
                let set = hashes.iter().filter(|&&hash| hash >> at & 1 == 1).count() as u64;
                bits | u64::from(set > count / 2) << at
            });
            assert_eq!(votes.majority(), slow, "{count}");
        }
    }
}
