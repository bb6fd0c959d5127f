//! A vote over the bits of many hashes.

/// How often each of 64 bits was set, counted by bits of the counts: `planes[k]` holds bit `k` of
/// all 64 counts, so that one addition of words counts 64 bits at once.
#[derive(Debug, Default)]
pub(crate) struct Votes {
    planes: [u64; 32],
    /// Hashes that wait until they are eight: eight cost little more than one.
    waiting: [u64; 8],
    waiters: usize,
    added: u32,
}

impl Votes {
    /// Counts one hash; at most `u32::MAX` of them.
    #[inline]
    pub(crate) fn add(&mut self, hash: u64) {
        self.waiting[self.waiters] = hash;
        self.waiters += 1;
        if self.waiters == self.waiting.len() {
            self.count_eight();
        }
    }

    fn count_eight(&mut self) {
        let [a, b, c, d, e, f, g, h] = self.waiting;
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
        self.waiters = 0;
        self.added = self.added.saturating_add(8);
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
    pub(crate) fn majority(mut self) -> u64 {
        for at in 0..self.waiters {
            self.carry(0, self.waiting[at]);
            self.added = self.added.saturating_add(1);
        }
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
            hashes.iter().for_each(|&hash| votes.add(hash));
            let slow = (0..64).fold(0, |bits, at| {
                let set = hashes.iter().filter(|&&hash| hash >> at & 1 == 1).count() as u64;
                bits | u64::from(set > count / 2) << at
            });
            assert_eq!(votes.majority(), slow, "{count}");
        }
    }
}
