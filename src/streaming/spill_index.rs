//! `file.out.index`: the position of each partition's segment in `file.out` (1.2.1 `SpillRecord`).

use flate2::Crc;
use thiserror::Error;

use super::segment_writer::SegmentLengths;

/// Start and two lengths, eight bytes each.
const ENTRY_BYTES: usize = 24;
/// The checksum at the end takes eight bytes, of which four are used.
const CHECKSUM_BYTES: usize = 8;

/// One partition's segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// Its first byte in the file.
    pub(crate) start_bytes: u64,
    pub(crate) lengths: SegmentLengths,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum IndexError {
    #[error("an index of {bytes} bytes; expected 24 for each reduce and 8")]
    Length { bytes: usize },
    #[error("the checksum of the index does not fit its bytes")]
    Damaged,
}

pub(crate) fn write_index(entries: &[IndexEntry]) -> Vec<u8> {
    let mut file = Vec::with_capacity(entries.len() * ENTRY_BYTES + CHECKSUM_BYTES);
    for entry in entries {
        for number in [entry.start_bytes, entry.lengths.raw_bytes, entry.lengths.stored_bytes] {
            file.extend_from_slice(&number.to_be_bytes());
        }
    }
    let sum = checksum(&file);
    file.extend_from_slice(&sum.to_be_bytes());
    file
}

pub(crate) fn read_index(file: &[u8]) -> Result<Vec<IndexEntry>, IndexError> {
    let wrong_length = IndexError::Length { bytes: file.len() };
    let Some((entries, sum)) = file.split_last_chunk::<CHECKSUM_BYTES>() else { return Err(wrong_length) };
    if entries.len() % ENTRY_BYTES != 0 {
        return Err(wrong_length);
    }
    if u64::from_be_bytes(*sum) != checksum(entries) {
        return Err(IndexError::Damaged);
    }
    let entry = |bytes: &[u8]| {
        let number =
            |at: usize| bytes[at * 8..at * 8 + 8].iter().fold(0, |so_far, byte| so_far << 8 | u64::from(*byte));
        let lengths = SegmentLengths { raw_bytes: number(1), stored_bytes: number(2) };
        IndexEntry { start_bytes: number(0), lengths }
    };
    let entries: Vec<IndexEntry> = entries.chunks_exact(ENTRY_BYTES).map(entry).collect();
    let sound = |entry: &IndexEntry| {
        let numbers = [entry.start_bytes, entry.lengths.raw_bytes, entry.lengths.stored_bytes];
        numbers.iter().all(|number| *number <= i64::MAX as u64)
    };
    if entries.iter().all(sound) { Ok(entries) } else { Err(IndexError::Damaged) }
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut crc = Crc::new();
    crc.update(bytes);
    u64::from(crc.sum())
}

#[cfg(test)]
mod tests {
    use super::super::fixtures;
    use super::*;

    #[test]
    fn recorded_indexes_are_read_and_written_to_the_byte() {
        for (job, maps) in [("plain", 2), ("zlib", 2), ("keyfields", 1)] {
            for map in 0..maps {
                let file = fixtures::bytes(&format!("{job}/map{map}.file.out.index"));
                let entries = read_index(&file).unwrap();
                let expected = &fixtures::decoded()[job]["maps"][format!("map{map}")]["index"];
                for (entry, expected) in entries.iter().zip(expected.as_array().unwrap()) {
                    assert_eq!(entry.start_bytes, expected["start"].as_u64().unwrap());
                    assert_eq!(entry.lengths.raw_bytes, expected["raw"].as_u64().unwrap());
                    assert_eq!(entry.lengths.stored_bytes, expected["stored"].as_u64().unwrap());
                }
                assert_eq!(write_index(&entries), file);
            }
        }
    }

    #[test]
    fn damage_is_refused() {
        let mut file = write_index(&[IndexEntry::default(); 2]);
        assert_eq!(read_index(&file[1..]), Err(IndexError::Length { bytes: 55 }));
        assert_eq!(read_index(&[]), Err(IndexError::Length { bytes: 0 }));
        file[3] ^= 1;
        assert_eq!(read_index(&file), Err(IndexError::Damaged));
        assert_eq!(read_index(&write_index(&[])), Ok(Vec::new()));
    }
}
