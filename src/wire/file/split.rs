//! `job.split`: the splits themselves, of which only those of files are supported; `job.splitmetainfo`: hosts, offset and length of each
//! split, all that a JobTracker needs.

use crate::wire::error::{WireErrorKind, excerpt};
use crate::wire::fields::fields;
use crate::wire::{Reader, Text, WireError, Writer};

use super::{check_version, read_magic};

/// Which of Hadoop's two programming interfaces a split belongs to; they differ in class and encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitApi {
    /// `org.apache.hadoop.mapred`
    Old,
    /// `org.apache.hadoop.mapreduce`
    New,
}

/// A part of a file (1.2.1 `FileSplit` of either interface).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSplit {
    /// The interface.
    pub api: SplitApi,
    /// URI of the file.
    pub path: String,
    /// First byte.
    pub start_bytes: i64,
    /// Number of bytes.
    pub length_bytes: i64,
}

/// Builds `job.split` and the entries of `job.splitmetainfo`.
#[derive(Clone, Debug)]
pub struct SplitsWriter {
    file: Vec<u8>,
    meta: Vec<SplitMeta>,
}

const MAGIC: &str = "SPL";
const VERSION: i32 = 1;

/// Reads the split whose class name is at `offset_bytes` of `job.split`. Fails with the class name when that is not a file split.
pub fn read_file_split(file: &[u8], offset_bytes: usize) -> Result<FileSplit, WireError> {
    const WHAT: &str = "split file";
    let mut reader = Reader::new(file);
    read_magic(&mut reader, MAGIC, WHAT)?;
    let start = reader.clone();
    check_version(&start, reader.i32(WHAT)?.into(), VERSION.into(), WHAT)?;
    reader.take(offset_bytes.saturating_sub(reader.position()), "offset of the split")?;
    let start = reader.clone();
    let class = reader.vint_bytes("class of the split")?;
    let api = [SplitApi::Old, SplitApi::New].into_iter().find(|api| api.class_name().as_bytes() == class);
    let unknown = || start.error(WireErrorKind::UnknownClass(excerpt(class)), "class of the split");
    let api = api.ok_or_else(unknown)?;
    let path = match api {
        SplitApi::Old => reader.utf8("path of the split")?,
        SplitApi::New => reader.text("path of the split")?.0,
    };
    let start_bytes = reader.i64("start of the split")?;
    Ok(FileSplit { api, path, start_bytes, length_bytes: reader.i64("length of the split")? })
}

impl SplitApi {
    pub(crate) const fn class_name(self) -> &'static str {
        match self {
            Self::Old => "org.apache.hadoop.mapred.FileSplit",
            Self::New => "org.apache.hadoop.mapreduce.lib.input.FileSplit",
        }
    }
}

impl Default for SplitsWriter {
    fn default() -> Self {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file);
        writer.bytes(MAGIC.as_bytes());
        writer.i32(VERSION);
        Self { file, meta: Vec::new() }
    }
}

impl SplitsWriter {
    /// Adds a split with its data on `locations`.
    pub fn add(&mut self, split: &FileSplit, locations: Vec<Text>) {
        let offset_bytes = self.file.len() as i64;
        self.meta.push(SplitMeta { locations, offset_bytes, length_bytes: split.length_bytes });
        let mut writer = Writer::new(&mut self.file);
        writer.text(split.api.class_name());
        match split.api {
            SplitApi::Old => writer.utf8(&split.path),
            SplitApi::New => writer.text(&split.path),
        }
        writer.i64(split.start_bytes);
        writer.i64(split.length_bytes);
    }

    /// The bytes of `job.split`, and the entries for `job.splitmetainfo`.
    pub fn finish(self) -> (Vec<u8>, Vec<SplitMeta>) {
        (self.file, self.meta)
    }
}

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

const META_MAGIC: &str = "META-SPL";
const META_VERSION: i32 = 1;

/// Reads `job.splitmetainfo`; bytes after the last split are ignored, as Java does. `limit_bytes` is that of
/// `mapreduce.jobtracker.split.metainfo.maxsize`, `None` for the -1 that means no limit.
pub fn read_split_meta(file: &[u8], limit_bytes: Option<u64>) -> Result<Vec<SplitMeta>, WireError> {
    const WHAT: &str = "split meta information";
    let mut reader = Reader::new(file);
    let length = file.len() as u64;
    if let Some(limit) = limit_bytes.filter(|limit| length > *limit) {
        return Err(reader.error(WireErrorKind::TooLong { length, limit }, WHAT));
    }
    read_magic(&mut reader, META_MAGIC, WHAT)?;
    let start = reader.clone();
    check_version(&start, reader.vint(WHAT)?.into(), META_VERSION.into(), WHAT)?;
    reader.vint_list("number of splits")
}

/// The bytes of `job.splitmetainfo`.
pub fn write_split_meta(splits: &[SplitMeta]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file);
    writer.bytes(META_MAGIC.as_bytes());
    writer.vint(META_VERSION);
    writer.vint_list(splits);
    file
}

fields! {
    SplitMeta, 3;
    locations: &vint_list "number of locations",
    offset_bytes: vlong "offset of a split",
    length_bytes: vlong "length of a split",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_found_by_their_offsets() {
        let split = |api, path: &str| FileSplit { api, path: path.to_owned(), start_bytes: 5, length_bytes: 9 };
        let splits = [split(SplitApi::Old, "file:/a"), split(SplitApi::New, "file:/\u{1f600}")];
        let mut writer = SplitsWriter::default();
        for split in &splits {
            writer.add(split, vec!["host".into()]);
        }
        let (file, meta) = writer.finish();
        assert_eq!(meta[0].offset_bytes, 7);
        for (split, meta) in splits.iter().zip(meta) {
            assert_eq!(&read_file_split(&file, meta.offset_bytes as usize).unwrap(), split);
        }
    }

    #[test]
    fn other_splits_and_offsets_are_refused() {
        let kind = |file: &[u8], offset| read_file_split(file, offset).unwrap_err().kind;
        assert_eq!(kind(b"SPL\0\0\0\x01\x01X", 7), WireErrorKind::UnknownClass("X".to_owned()));
        assert_eq!(
            kind(b"SPL\0\0\0\x01\x01X", usize::MAX),
            WireErrorKind::Truncated { needed: usize::MAX - 7, left: 2 }
        );
        assert_eq!(kind(b"SEQ\x06", 7), WireErrorKind::BadMagic("SPL"));
    }

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
