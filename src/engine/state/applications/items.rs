//! Items of a launch as they are written, such as `1-1000,2000-3000:10`: numbers that containers are started with.
//!
//! Memory is a part for each part that is written, never one for each item.

use std::fmt;
use std::str::FromStr;

pub(crate) const MAX_PARTS: usize = 10_000;
pub(crate) const MAX_ITEMS: u64 = 10_000_000;
/// Most pairs of parts that reach into each other: each is compared.
const MAX_COMPARED: usize = 1_000_000;
const LARGEST: u32 = i32::MAX as u32;

/// Items in the order in which they are written; no item twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Items {
    parts: Vec<ItemRange>,
}

/// `N`, `N-M` or `N-M:STEP`: `first`, and every `step`-th up to `last`, which is one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ItemRange {
    first: u32,
    last: u32,
    step: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ItemsError {
    /// A part has another form.
    #[error("{0:?} is no item: expected N, N-M or N-M:STEP with 0 <= N <= M < 2147483648 and a step of 1 at least")]
    Part(String),
    #[error("more than {MAX_PARTS} parts")]
    TooManyParts,
    #[error("more than {MAX_ITEMS} items")]
    TooManyItems,
    /// Too many parts reach into each other.
    #[error("too many of its parts reach into each other: write parts that do not")]
    TooInterleaved,
    #[error("item {0} stands there twice")]
    Repeated(u32),
}

impl ItemRange {
    const fn one(item: u32) -> Self {
        Self { first: item, last: item, step: 1 }
    }

    fn len(self) -> u64 {
        u64::from((self.last - self.first) / self.step) + 1
    }

    fn contains(self, item: u32) -> bool {
        (self.first..=self.last).contains(&item) && (item - self.first).is_multiple_of(self.step)
    }

    /// The item at a place, from 0; beyond the end the last.
    fn at(self, place: u64) -> u32 {
        let place = place.min(self.len() - 1);
        // Below the length, which a 32-bit number holds.
        self.first + self.step * (place as u32)
    }

    /// The part from a place on; none beyond its end.
    fn after_first(self, place: u64) -> Option<Self> {
        (place < self.len()).then(|| Self { first: self.at(place), ..self })
    }

    fn without(self, item: u32) -> impl Iterator<Item = Self> {
        let before = (item > self.first).then(|| Self { last: item - self.step, ..self });
        let after = (item < self.last).then(|| Self { first: item + self.step, ..self });
        before.into_iter().chain(after)
    }

    /// An item that both have: the smallest number that leaves both rests, if it lies in both.
    fn common(self, other: Self) -> Option<u32> {
        let low = i64::from(self.first.max(other.first));
        let high = i64::from(self.last.min(other.last));
        let (first, step, other_step) = (i64::from(self.first), i64::from(self.step), i64::from(other.step));
        let (divisor, inverse) = divisor_and_inverse(step, other_step);
        let apart = i64::from(other.first) - first;
        if low > high || apart % divisor != 0 {
            return None;
        }
        let modulus = other_step / divisor;
        // All factors are below 2^31.
        let steps = (apart / divisor % modulus * inverse).rem_euclid(modulus);
        let item = first + step * steps;
        let period = step * modulus;
        let item = item + (low - item).div_euclid(period) * period;
        let item = if item < low { item + period } else { item };
        (item <= high).then(|| u32::try_from(item).ok()).flatten()
    }
}

/// The greatest common divisor of two positive numbers, and what times the first leaves it modulo the second.
fn divisor_and_inverse(number: i64, modulus: i64) -> (i64, i64) {
    let (mut divisor, mut rest, mut inverse, mut next) = (number, modulus, 1, 0);
    while rest != 0 {
        let quotient = divisor / rest;
        (divisor, rest) = (rest, divisor - quotient * rest);
        (inverse, next) = (next, inverse - quotient * next);
    }
    (divisor, inverse)
}

impl fmt::Display for ItemRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.len(), self.step) {
            (1, _) => write!(f, "{}", self.first),
            (_, 1) => write!(f, "{}-{}", self.first, self.last),
            (_, step) => write!(f, "{}-{}:{step}", self.first, self.last),
        }
    }
}

impl FromStr for ItemRange {
    type Err = ItemsError;

    fn from_str(text: &str) -> Result<Self, ItemsError> {
        let read = || {
            let Some((first, rest)) = text.split_once('-') else { return Some(Self::one(number(text)?)) };
            let (last, step) = match rest.split_once(':') {
                Some((last, step)) => (number(last)?, number(step)?),
                None => (number(rest)?, 1),
            };
            let first = number(first)?;
            if first > last || step == 0 {
                return None;
            }
            let last = last - (last - first) % step;
            Some(if first == last { Self::one(first) } else { Self { first, last, step } })
        };
        read().ok_or_else(|| ItemsError::Part(text.to_owned()))
    }
}

/// Digits of a number below 2^31, without a sign.
fn number(digits: &str) -> Option<u32> {
    let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| digits.parse().ok()).flatten().filter(|&number| number <= LARGEST)
}

impl Items {
    /// How many they are, at most `MAX_ITEMS`.
    #[must_use]
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.parts.iter().map(|part| part.len()).sum::<u64>()).unwrap_or(u32::MAX)
    }

    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The item at a place, from 0, in the order in which they are written.
    #[must_use]
    pub(crate) fn at(&self, place: u32) -> Option<u32> {
        let mut place = u64::from(place);
        for part in &self.parts {
            if place < part.len() {
                return Some(part.at(place));
            }
            place -= part.len();
        }
        None
    }

    /// All of them, in the order in which they are written.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().flat_map(|part| (0..part.len()).map(|place| part.at(place)))
    }

    #[must_use]
    pub(crate) fn after_first(&self, place: u32) -> Self {
        let mut place = u64::from(place);
        let mut parts = Vec::new();
        for part in &self.parts {
            if place >= part.len() {
                place -= part.len();
                continue;
            }
            parts.extend(part.after_first(place));
            place = 0;
        }
        Self { parts }
    }

    #[must_use]
    pub(crate) fn without(&self, items: impl IntoIterator<Item = u32>) -> Self {
        let mut parts = self.parts.clone();
        for item in items {
            if let Some(place) = parts.iter().position(|part| part.contains(item)) {
                let rest: Vec<ItemRange> = parts[place].without(item).collect();
                parts.splice(place..=place, rest);
            }
        }
        Self { parts }
    }

    /// The items of a set, runs of neighbours as one part; at most so many parts, then `...`.
    #[must_use]
    pub(crate) fn shown(items: impl IntoIterator<Item = u32>, most_parts: usize) -> String {
        let mut parts: Vec<ItemRange> = Vec::new();
        for item in items {
            if let Some(part) = parts.last_mut().filter(|part| part.last.checked_add(1) == Some(item)) {
                part.last = item;
            } else if parts.len() == most_parts {
                return format!("{},...", Self { parts });
            } else {
                parts.push(ItemRange::one(item));
            }
        }
        Self { parts }.to_string()
    }

    /// These as a text of at most so many parts, then `...`.
    #[must_use]
    pub(crate) fn cut(&self, most_parts: usize) -> String {
        if self.parts.len() <= most_parts {
            return self.to_string();
        }
        format!("{},...", Self { parts: self.parts[..most_parts].to_vec() })
    }

    fn check_repeated(&self) -> Result<(), ItemsError> {
        let mut sorted = self.parts.clone();
        sorted.sort_unstable();
        // Parts that reach into the present one.
        let mut open: Vec<ItemRange> = Vec::new();
        let mut compared = 0;
        for part in sorted {
            open.retain(|earlier| earlier.last >= part.first);
            compared += open.len();
            if compared > MAX_COMPARED {
                return Err(ItemsError::TooInterleaved);
            }
            if let Some(item) = open.iter().find_map(|earlier| earlier.common(part)) {
                return Err(ItemsError::Repeated(item));
            }
            open.push(part);
        }
        Ok(())
    }
}

impl fmt::Display for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in self.parts.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{part}")?;
        }
        Ok(())
    }
}

impl FromStr for Items {
    type Err = ItemsError;

    fn from_str(text: &str) -> Result<Self, ItemsError> {
        let mut parts = Vec::new();
        let mut count = 0_u64;
        for part in text.split(',') {
            if parts.len() == MAX_PARTS {
                return Err(ItemsError::TooManyParts);
            }
            let part: ItemRange = part.parse()?;
            count += part.len();
            if count > MAX_ITEMS {
                return Err(ItemsError::TooManyItems);
            }
            parts.push(part);
        }
        let items = Self { parts };
        items.check_repeated()?;
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn items(text: &str) -> Items {
        text.parse().unwrap()
    }

    fn all(items: &Items) -> Vec<u32> {
        (0..items.len()).map_while(|place| items.at(place)).collect()
    }

    #[test]
    fn items_are_given_in_the_order_in_which_they_are_written() {
        let written = items("7,1-3,10-20:4");
        assert_eq!(all(&written), [7, 1, 2, 3, 10, 14, 18]);
        assert_eq!((written.len(), written.to_string().as_str()), (7, "7,1-3,10-18:4"));
        assert_eq!(all(&written.after_first(2)), [2, 3, 10, 14, 18]);
        assert!(written.after_first(7).is_empty());
        assert_eq!(written.at(7), None);
    }

    #[test]
    fn what_is_no_list_of_items_is_refused() {
        for wrong in ["", "1,", "a", "-1", "3-2", "1-5:0", "2147483648", "1-2-3", "+1", "1 ", "1-2:3:4"] {
            assert!(matches!(wrong.parse::<Items>(), Err(ItemsError::Part(_))), "{wrong}");
        }
        assert_eq!("0-9999999".parse::<Items>().unwrap().len(), 10_000_000);
        assert_eq!("0-10000000".parse::<Items>(), Err(ItemsError::TooManyItems));
        let parts = |count: u32| (0..count).map(|item| (2 * item).to_string()).collect::<Vec<_>>().join(",");
        assert!(parts(10_000).parse::<Items>().is_ok());
        assert_eq!(parts(10_001).parse::<Items>(), Err(ItemsError::TooManyParts));
    }

    #[test]
    fn no_item_stands_there_twice() {
        for (text, item) in [("1,1", 1), ("1-5,3", 3), ("0-100:7,49-60", 49), ("0-10:2,1-11:5", 6)] {
            assert_eq!(text.parse::<Items>(), Err(ItemsError::Repeated(item)), "{text}");
        }
        assert!("0-10:2,1-11:2".parse::<Items>().is_ok());
    }

    #[test]
    fn sets_are_shown_by_runs_and_cut() {
        assert_eq!(Items::shown([1, 2, 3, 7, 9, 10], 10), "1-3,7,9-10");
        assert_eq!(Items::shown([1, 3, 5], 2), "1,3,...");
        assert_eq!(items("1,3,5").cut(2), "1,3,...");
        assert_eq!(items("1,3").cut(2), "1,3");
    }

    fn part() -> impl Strategy<Value = String> {
        (0_u32..60, 0_u32..40, 1_u32..9).prop_map(|(first, length, step)| format!("{first}-{}:{step}", first + length))
    }

    proptest! {
        #[test]
        fn a_list_is_a_sequence_without_repetition(parts in prop::collection::vec(part(), 1..5)) {
            let text = parts.join(",");
            let written: Vec<u32> = parts.iter().flat_map(|part| all(&items(part))).collect();
            let distinct: BTreeSet<u32> = written.iter().copied().collect();
            match text.parse::<Items>() {
                Ok(parsed) => {
                    prop_assert_eq!(all(&parsed), written);
                    prop_assert_eq!(&parsed.to_string().parse::<Items>().unwrap(), &parsed);
                }
                Err(ItemsError::Repeated(item)) => {
                    prop_assert!(distinct.len() < written.len());
                    prop_assert!(written.iter().filter(|&&other| other == item).count() > 1);
                }
                Err(error) => prop_assert!(false, "{error}"),
            }
        }

        #[test]
        fn what_is_taken_away_is_gone_and_the_rest_stays_in_order(
            text in part(), place in 0_u32..50, gone in prop::collection::btree_set(0_u32..100, 0..6)
        ) {
            let whole = items(&text);
            let sequence = all(&whole);
            let left: Vec<u32> = sequence.iter().copied().filter(|item| !gone.contains(item)).collect();
            prop_assert_eq!(all(&whole.without(gone)), left);
            let from: Vec<u32> = sequence.into_iter().skip(place as usize).collect();
            prop_assert_eq!(all(&whole.after_first(place)), from);
        }
    }
}
