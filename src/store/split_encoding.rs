//! Encodes the splits of a job as one compact blob.
//!
//! Layout, version 1: the byte 1; the racks, the hosts (name, index of its rack), the splits (offset less the offset
//! before, length, indexes of its hosts). Each list begins with its count. Counts and indexes are LEB128 varints,
//! signed numbers zigzag before that, texts a length and UTF-8.

use std::collections::BTreeMap;

use crate::mapreduce::SplitTable;

const VERSION: u8 = 1;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitBlobError {
    #[error("splits of version {0}, expected version 1")]
    Version(u8),
    /// It ends too early, or an index is out of range.
    #[error("splits broken at byte {at_bytes}: {expected} expected")]
    Broken { at_bytes: usize, expected: &'static str },
}

pub fn encode_splits(table: &SplitTable) -> Vec<u8> {
    let mut racks: Vec<&str> = Vec::new();
    let mut rack_indexes: BTreeMap<&str, u64> = BTreeMap::new();
    for host in table.hosts() {
        rack_indexes.entry(&host.rack).or_insert_with(|| {
            racks.push(&host.rack);
            racks.len() as u64 - 1
        });
    }
    let mut blob = vec![VERSION];
    put_number(&mut blob, racks.len() as u64);
    racks.iter().for_each(|rack| put_text(&mut blob, rack));
    put_number(&mut blob, table.hosts().len() as u64);
    for host in table.hosts() {
        put_text(&mut blob, &host.host);
        put_number(&mut blob, rack_indexes.get(host.rack.as_str()).copied().unwrap_or(0));
    }
    put_number(&mut blob, table.len() as u64);
    let mut offset_before = 0_i64;
    for split in table.splits() {
        put_number(&mut blob, zigzag(split.offset_bytes.wrapping_sub(offset_before)));
        put_number(&mut blob, zigzag(split.length_bytes));
        offset_before = split.offset_bytes;
        let locations = table.locations(split);
        put_number(&mut blob, locations.len() as u64);
        locations.iter().for_each(|&location| put_number(&mut blob, u64::from(location)));
    }
    blob
}

/// The table of a blob. Makes no room that the bytes at hand cannot fill.
pub fn decode_splits(blob: &[u8]) -> Result<SplitTable, SplitBlobError> {
    let mut reader = BlobReader { blob, at: 0 };
    match reader.byte()? {
        VERSION => {}
        other => return Err(SplitBlobError::Version(other)),
    }
    let racks = reader.list(|reader| reader.text())?;
    let hosts = reader.list(|reader| {
        let host = reader.text()?;
        let rack = reader.number("an index of a rack")?;
        let rack = usize::try_from(rack).ok().and_then(|rack| racks.get(rack)).copied();
        Ok((host, rack.ok_or_else(|| reader.broken("an index of a rack"))?))
    })?;
    let mut builder = SplitTable::builder();
    let mut offset_bytes = 0_i64;
    let count = reader.number("a count")?;
    for _ in 0..count {
        offset_bytes = offset_bytes.wrapping_add(unzigzag(reader.number("an offset")?));
        let length_bytes = unzigzag(reader.number("a length")?);
        let locations = reader.list(|reader| {
            let index = reader.number("an index of a host")?;
            let host = usize::try_from(index).ok().and_then(|index| hosts.get(index));
            host.map(|(name, _)| *name).ok_or_else(|| reader.broken("an index of a host"))
        })?;
        builder.push(offset_bytes, length_bytes, locations);
    }
    if reader.at != blob.len() {
        return Err(reader.broken("the end"));
    }
    let rack_of: BTreeMap<&str, &str> = hosts.into_iter().collect();
    Ok(builder.build(|host| rack_of.get(host).copied().unwrap_or_default().to_owned()))
}

struct BlobReader<'a> {
    blob: &'a [u8],
    at: usize,
}

impl<'a> BlobReader<'a> {
    fn broken(&self, expected: &'static str) -> SplitBlobError {
        SplitBlobError::Broken { at_bytes: self.at, expected }
    }

    fn byte(&mut self) -> Result<u8, SplitBlobError> {
        let byte = *self.blob.get(self.at).ok_or_else(|| self.broken("a byte"))?;
        self.at += 1;
        Ok(byte)
    }

    fn number(&mut self, expected: &'static str) -> Result<u64, SplitBlobError> {
        let mut number = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(self.broken(expected))
    }

    fn text(&mut self) -> Result<&'a str, SplitBlobError> {
        let length = self.number("the length of a text")?;
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length));
        let bytes = end.and_then(|end| self.blob.get(self.at..end)).ok_or_else(|| self.broken("a text"))?;
        let text = std::str::from_utf8(bytes).map_err(|_| self.broken("UTF-8"))?;
        self.at += bytes.len();
        Ok(text)
    }

    fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, SplitBlobError>,
    ) -> Result<Vec<T>, SplitBlobError> {
        let count = self.number("a count")?;
        // Grows by what is really there: each item takes at least one byte.
        (0..count).map(|_| item(self)).collect()
    }
}

fn put_number(blob: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        blob.push(number as u8 | 0x80);
        number >>= 7;
    }
    blob.push(number as u8);
}

fn put_text(blob: &mut Vec<u8>, text: &str) {
    put_number(blob, text.len() as u64);
    blob.extend_from_slice(text.as_bytes());
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(splits: &[(i64, i64, Vec<String>)]) -> SplitTable {
        let mut builder = SplitTable::builder();
        for (offset, length, hosts) in splits {
            builder.push(*offset, *length, hosts.iter().map(String::as_str));
        }
        builder.build(|host| format!("/rack-{}", host.len() % 3))
    }

    #[test]
    fn ten_thousand_splits_with_three_replicas_stay_small() {
        let splits: Vec<_> = (0..10_000_i64)
            .map(|index| {
                let hosts = (0..3).map(|replica| format!("node{:03}.example.com", (index * 7 + replica) % 100));
                (index * 57 + 7, 64 << 20, hosts.collect())
            })
            .collect();
        let table = table(&splits);
        let blob = encode_splits(&table);
        assert!(blob.len() < 120_000, "{} bytes", blob.len());
        assert_eq!(decode_splits(&blob).unwrap(), table);
    }

    #[test]
    fn another_version_is_refused() {
        assert_eq!(decode_splits(&[2, 0, 0, 0]), Err(SplitBlobError::Version(2)));
        assert_eq!(decode_splits(&[1, 0, 0, 0]), Ok(SplitTable::default()));
        assert!(matches!(decode_splits(&[1, 0, 0, 0, 0]), Err(SplitBlobError::Broken { at_bytes: 4, .. })));
    }

    #[test]
    fn a_huge_count_makes_no_room() {
        let mut blob = vec![VERSION];
        put_number(&mut blob, u64::MAX);
        assert!(matches!(decode_splits(&blob), Err(SplitBlobError::Broken { .. })));
    }

    proptest! {
        #[test]
        fn every_table_reads_back(
            splits in prop::collection::vec((any::<i64>(), any::<i64>(), prop::collection::vec("[a-e]{1,4}", 0..4)), 0..40)
        ) {
            let table = table(&splits);
            prop_assert_eq!(decode_splits(&encode_splits(&table)).unwrap(), table);
        }

        #[test]
        fn no_blob_panics(mut blob in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode_splits(&blob);
            blob.insert(0, VERSION);
            let _ = decode_splits(&blob);
        }

        #[test]
        fn a_cut_blob_is_refused(hosts in prop::collection::vec("[a-e]{1,4}", 1..4), cut in 1_usize..20) {
            let blob = encode_splits(&table(&[(7, 100, hosts.clone()), (107, 100, hosts)]));
            prop_assert!(decode_splits(&blob[..blob.len().saturating_sub(cut)]).is_err());
        }
    }
}
