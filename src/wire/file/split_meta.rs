//! `job.splitmetainfo`: hosts, offset and length of each split, all that a JobTracker needs of splits.

use super::{check_version, read_magic};
use crate::wire::{Decode, Encode, Reader, Text, WireError, WireErrorKind, Writer};

/// One split (1.2.1 `JobSplit.SplitMetaInfo`).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SplitMeta {
    /// Hosts that hold its data, best first.
    pub locations: Vec<Text>,
    /// Offset of the split's class name in `job.split`, bytes.
    pub offset_bytes: i64,
    /// Length of its input by its class, bytes.
    pub length_bytes: i64,
}

const MAGIC: &str = "META-SPL";
const VERSION: i32 = 1;

/// Reads `job.splitmetainfo`; bytes after the last split are ignored, as Java does.
///
/// `limit_bytes` is that of `mapreduce.jobtracker.split.metainfo.maxsize`, `None` for the -1 that means no limit.
pub fn read_split_meta(file: &[u8], limit_bytes: Option<u64>) -> Result<Vec<SplitMeta>, WireError> {
    const WHAT: &str = "split meta information";
    let mut reader = Reader::new(file);
    let length = file.len() as u64;
    if let Some(limit) = limit_bytes.filter(|limit| length > *limit) {
        return Err(reader.error(WireErrorKind::TooLong { length, limit }, WHAT));
    }
    read_magic(&mut reader, MAGIC, WHAT)?;
    let start = reader.clone();
    check_version(&start, reader.vint(WHAT)?.into(), VERSION.into(), WHAT)?;
    let count = reader.vint("number of splits")?;
    reader.list(count, "number of splits")
}

/// The bytes of `job.splitmetainfo`.
pub fn write_split_meta(splits: &[SplitMeta]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file);
    writer.bytes(MAGIC.as_bytes());
    writer.vint(VERSION);
    writer.vint_count(splits.len());
    writer.list(splits);
    file
}

impl Decode for SplitMeta {
    const MIN_BYTES: usize = 3;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let count = reader.vint("number of locations")?;
        Ok(Self {
            locations: reader.list(count, "number of locations")?,
            offset_bytes: reader.vlong("offset of a split")?,
            length_bytes: reader.vlong("length of a split")?,
        })
    }
}

impl Encode for SplitMeta {
    fn encode(&self, writer: &mut Writer<'_>) {
        writer.vint_count(self.locations.len());
        writer.list(&self.locations);
        writer.vlong(self.offset_bytes);
        writer.vlong(self.length_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceeded_limits_and_wrong_counts_are_refused() {
        let kind = |file: &[u8], limit| read_split_meta(file, limit).unwrap_err().kind;
        let file = write_split_meta(&[SplitMeta { locations: vec!["h".into()], offset_bytes: 7, length_bytes: 34 }]);
        assert_eq!(kind(&file, Some(14)), WireErrorKind::TooLong { length: 15, limit: 14 });
        assert_eq!(read_split_meta(&file, Some(15)).unwrap().len(), 1);
        assert_eq!(kind(b"META-SPL\x02\0", None), WireErrorKind::BadVersion { found: 2, expected: 1 });
        assert_eq!(kind(b"META-SPL\x01\xff", None), WireErrorKind::NegativeLength(-1));
        assert_eq!(kind(b"META-SPL\x01\x7f\0\0\0", None), WireErrorKind::Truncated { needed: 381, left: 3 });
    }
}
