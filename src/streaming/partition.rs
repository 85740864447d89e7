//! Which reduce gets a key (1.2.1 `HashPartitioner` over `Text`, `KeyFieldBasedPartitioner`).

use super::key_fields::KeyFields;

/// The rule that gives a key, without its length prefix, to one of the reduces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partitioner {
    /// By the hash of the key's bytes.
    Hash,
    /// By the hash of parts of the key.
    Fields(KeyFields),
}

impl Partitioner {
    /// The reduce, from 0, of `reduces` there are; 0 when there are none.
    #[inline]
    #[must_use]
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
