//! The one source of chance in the simulator: SplitMix64, so that a seed means the same run on every machine.
//!
//! Every actor draws from a stream of its own. So leaving one actor out does not change the choices of the others.

/// A stream of numbers that its seed decides.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of one actor in the run of `seed`.
    pub(crate) fn stream(seed: u64, actor: u64) -> Self {
        let mut random = Self(seed ^ mixed(actor.wrapping_add(0x632b_e59b_d9b4_e019)));
        // Neighbouring seeds shall have nothing in common.
        random.0 = random.number();
        random
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// A number below `bound`; 0 for a bound of 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.number()) * u128::from(bound);
        (wide >> 64) as u64
    }

    /// A number from `least` to `most`, both included.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least.saturating_add(self.below(most.saturating_sub(least).saturating_add(1)))
    }

    /// True once in `many` times, by chance; never for 0.
    pub(crate) fn one_in(&mut self, many: u64) -> bool {
        many > 0 && self.below(many) == 0
    }

    /// One of several; none of nothing.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.below(choices.len() as u64) as usize)
    }
}

/// The finisher of SplitMix64: every bit of the result depends on every bit of the number.
pub(crate) fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, actor| {
            let mut random = Random::stream(seed, actor);
            (0..4).map(|_| random.number()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn bounds_are_kept_and_reached() {
        let mut random = Random::stream(7, 0);
        let drawn: std::collections::BTreeSet<u64> = (0..200).map(|_| random.between(3, 6)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6]);
        assert_eq!(random.below(0), 0);
        assert!(!random.one_in(0));
        assert_eq!(random.pick::<u8>(&[]), None);
    }
}
