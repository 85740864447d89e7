//! The order of keys between maps and reduces (1.2.1 `Text.Comparator`, `KeyFieldBasedComparator`), and which reduce gets a key (`HashPartitioner` over
//! `Text`, `KeyFieldBasedPartitioner`).

use std::cmp::Ordering;

use super::key_fields::{KeyFields, KeyRange, KeySpan};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOrder {
    /// By unsigned bytes, the shorter first.
    Bytes,
    /// By parts of the key. No total order in Hadoop either: what sorts by it must bear contradictions.
    Fields(KeyFields),
}

impl KeyOrder {
    #[inline]
    pub(crate) fn compare(&self, first: &[u8], second: &[u8]) -> Ordering {
        match self {
            KeyOrder::Bytes => first.cmp(second),
            KeyOrder::Fields(fields) => compare_fields(fields, first, second),
        }
    }

    /// Whether a key goes into the group of the one before it. Stock `KeyFieldBasedComparator` calls no two keys equal that
    /// both lack a range, so that each of them counts as a group.
    #[inline]
    pub(crate) fn same_group(&self, first: &[u8], second: &[u8]) -> bool {
        match self {
            KeyOrder::Bytes => first == second,
            KeyOrder::Fields(fields) => {
                let lacks = |key: &[u8], range: &KeyRange| fields.place(key, range).is_none();
                compare_fields(fields, first, second).is_eq()
                    && !fields.ranges.iter().any(|range| lacks(first, range) && lacks(second, range))
            }
        }
    }
}

fn compare_fields(fields: &KeyFields, first: &[u8], second: &[u8]) -> Ordering {
    if fields.ranges.is_empty() {
        return first.cmp(second);
    }
    for range in &fields.ranges {
        let forward = match (fields.place(first, range), fields.place(second, range)) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) if range.is_numeric => compare_numbers(first, a, second, b),
            (Some(a), Some(b)) => a.of(first).cmp(b.of(second)),
        };
        let ordering = if range.is_reverse { forward.reverse() } else { forward };
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}

/// The digits and the point of one number.
#[derive(Clone, Copy)]
struct Digits<'a> {
    key: &'a [u8],
    at: usize,
    end: usize,
}

impl Digits<'_> {
    fn here(&self) -> Option<u8> {
        if self.at < self.end { self.key.get(self.at).copied() } else { None }
    }

    fn skip_zeros(&mut self) {
        while self.here() == Some(b'0') {
            self.at += 1;
        }
    }

    fn digits_left(&self) -> usize {
        let rest = self.key.get(self.at..self.end).unwrap_or_default();
        rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    }

    /// Whether a digit other than 0 comes before anything else.
    fn is_more_than_zero(mut self) -> bool {
        self.skip_zeros();
        self.here().is_some_and(|byte| byte.is_ascii_digit())
    }

    fn is_zero(mut self) -> bool {
        self.skip_zeros();
        match self.here() {
            Some(b'.') => !Digits { at: self.at + 1, ..self }.is_more_than_zero(),
            Some(byte) => !byte.is_ascii_digit(),
            None => true,
        }
    }
}

fn compare_numbers(first: &[u8], a: KeySpan, second: &[u8], b: KeySpan) -> Ordering {
    let mut a = Digits { key: first, at: a.start, end: a.end };
    let mut b = Digits { key: second, at: b.start, end: b.end };
    // As Hadoop, the byte at the start counts even when the range is empty.
    let (sign_a, sign_b) = (first.get(a.at) == Some(&b'-'), second.get(b.at) == Some(&b'-'));
    let (mut byte_a, mut byte_b) = (first.get(a.at).copied(), second.get(b.at).copied());
    a.at += usize::from(sign_a);
    b.at += usize::from(sign_b);
    if sign_a != sign_b {
        return match (a.is_zero() && b.is_zero(), sign_a) {
            (true, _) => Ordering::Equal,
            (false, true) => Ordering::Less,
            (false, false) => Ordering::Greater,
        };
    }
    a.skip_zeros();
    b.skip_zeros();
    while let (Some(x), Some(y)) = (a.here(), b.here())
        && x == y
        && x.is_ascii_digit()
    {
        a.at += 1;
        b.at += 1;
    }
    byte_a = a.here().or(byte_a);
    byte_b = b.here().or(byte_b);
    let is_digit = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_digit());
    let ends_a = !is_digit(byte_a) || a.here().is_none();
    let ends_b = !is_digit(byte_b) || b.here().is_none();
    let magnitude = if (byte_a == Some(b'.') && ends_b) || (byte_b == Some(b'.') && ends_a) {
        compare_fractions(a, b)
    } else {
        // Java's bytes are signed.
        let signed = |byte: Option<u8>| byte.map(|byte| byte as i8);
        a.digits_left().cmp(&b.digits_left()).then(signed(byte_a).cmp(&signed(byte_b)))
    };
    if sign_a { magnitude.reverse() } else { magnitude }
}

fn compare_fractions(mut a: Digits<'_>, mut b: Digits<'_>) -> Ordering {
    let beyond = |digits: Digits<'_>, skipped: usize| {
        if (Digits { at: digits.at + skipped, ..digits }).is_more_than_zero() {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    };
    match (a.here(), b.here()) {
        (None, _) => return beyond(b, 1).reverse(),
        (_, None) => return beyond(a, 1),
        (Some(b'.'), Some(b'.')) => {}
        (Some(b'.'), _) => return beyond(a, 1),
        _ => return beyond(b, 1).reverse(),
    }
    while let (Some(x), Some(y)) = (a.here(), b.here()) {
        if x != y {
            return match (x.is_ascii_digit(), y.is_ascii_digit()) {
                (true, true) => x.cmp(&y),
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => Ordering::Equal,
            };
        }
        a.at += 1;
        b.at += 1;
    }
    if a.here().is_none() { beyond(b, 0).reverse() } else { beyond(a, 0) }
}

/// The rule that gives a key, without its length prefix, to one of the reduces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partitioner {
    Hash,
    Fields(KeyFields),
}

impl Partitioner {
    /// The reduce, from 0, of `reduces` there are; 0 when there are none.
    #[inline]
    pub(crate) fn partition(&self, key: &[u8], reduces: u32) -> u32 {
        if reduces <= 1 {
            return 0;
        }
        let hash = match self {
            Partitioner::Hash => hash(key, 1),
            Partitioner::Fields(fields) => fields_hash(fields, key),
        };
        (hash & i32::MAX) as u32 % reduces
    }
}

/// Java's way over signed bytes, wrapping.
#[inline]
fn hash(bytes: &[u8], start: i32) -> i32 {
    bytes.iter().fold(start, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(*byte as i8)))
}

fn fields_hash(fields: &KeyFields, key: &[u8]) -> i32 {
    // The stock class goes by the decoded key, so bytes that are no UTF-8 count as replacement characters.
    let text = String::from_utf8_lossy(key);
    if fields.ranges.is_empty() {
        return text.encode_utf16().fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    }
    let key = text.as_bytes();
    let places = fields.ranges.iter().filter_map(|range| fields.place(key, range));
    places.fold(0, |so_far, place| hash(place.of(key), so_far))
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;

    #[test]
    fn keys_compare_as_by_the_stock_classes() {
        let vectors = fixtures::vectors();
        let keys = fixtures::hex_list(&vectors["compare_keys"]);
        for case in vectors["compare"].as_array().unwrap() {
            let options = case["options"].as_str().unwrap();
            let order = KeyOrder::Fields(KeyFields::parse(b'\t', options).unwrap());
            let KeyOrder::Fields(fields) = &order else { unreachable!() };
            for (first, row) in keys.iter().zip(case["sign"].as_array().unwrap()) {
                for (second, sign) in keys.iter().zip(row.as_str().unwrap().chars()) {
                    let lack = |range| fields.place(first, range).is_none() && fields.place(second, range).is_none();
                    let ours = order.compare(first, second);
                    if ours.is_eq() && fields.ranges.iter().any(lack) || sign == '!' {
                        // The stock class calls these less, or fails.
                        assert!(!order.same_group(first, second) || sign == '!', "{options} {first:?} {second:?}");
                        continue;
                    }
                    let expected = match sign {
                        '<' => Ordering::Less,
                        '>' => Ordering::Greater,
                        _ => Ordering::Equal,
                    };
                    // Where a pair lacks an early range, stock stops there.
                    if fields.ranges.iter().any(lack) {
                        continue;
                    }
                    assert_eq!(ours, expected, "{options} {first:?} {second:?}");
                    assert_eq!(order.same_group(first, second), ours.is_eq());
                }
            }
        }
    }

    #[test]
    fn plain_keys_compare_as_unsigned_bytes() {
        assert_eq!(KeyOrder::Bytes.compare(b"a", b"\xc3"), Ordering::Less);
        assert_eq!(KeyOrder::Bytes.compare(b"ab", b"a"), Ordering::Greater);
        let empty = KeyOrder::Fields(KeyFields::parse(b'\t', "").unwrap());
        assert_eq!(empty.compare(b"a", b"\xc3"), Ordering::Less);
    }

    #[test]
    fn keys_go_where_the_stock_classes_send_them() {
        let vectors = fixtures::vectors();
        for case in vectors["hash"].as_array().unwrap() {
            let key = fixtures::hex(&case["key"]);
            assert_eq!(i64::from(hash(&key, 1)), case["hash"].as_i64().unwrap());
            for (reduces, part) in case["part"].as_object().unwrap() {
                let ours = Partitioner::Hash.partition(&key, reduces.parse().unwrap());
                assert_eq!(u64::from(ours), part.as_u64().unwrap(), "{key:?} of {reduces}");
            }
        }
        let keys = fixtures::hex_list(&vectors["partition_keys"]);
        for case in vectors["keyfield_partition_of_100"].as_array().unwrap() {
            let fields = match case["num.key.fields.for.partition"].as_u64() {
                Some(count) => KeyFields::first(b'\t', count as usize),
                None => KeyFields::parse(b'\t', case["options"].as_str().unwrap_or_default()).unwrap(),
            };
            let partitioner = Partitioner::Fields(fields);
            for (key, part) in keys.iter().zip(case["part"].as_array().unwrap()) {
                assert_eq!(u64::from(partitioner.partition(key, 100)), part.as_u64().unwrap(), "{case} {key:?}");
            }
        }
    }

    #[test]
    fn one_reduce_gets_all() {
        assert_eq!(Partitioner::Hash.partition(b"a", 1), 0);
        assert_eq!(Partitioner::Hash.partition(b"a", 0), 0);
    }
}
