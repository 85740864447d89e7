//! The part of the input that a map reads, and whether the built-in tasktracker can read it.

use std::fmt;

use crate::fs::{FileUri, FileUriError};
use crate::wire::file::{FileSplit, SplitApi, read_file_split};
use crate::wire::{WireError, WireErrorKind};

use super::codec::Codec;
use super::failure::TaskFailure;
use super::plan::UnsupportedJob;

/// Characters of a path in a message, from its end.
const MAX_PATH_CHARS: usize = 200;

/// The part of the input that a map reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MapSplit {
    /// The file, as the split has it.
    pub(crate) uri: String,
    pub(crate) file: FileUri,
    pub(crate) start_bytes: u64,
    pub(crate) length_bytes: u64,
    /// Bytes of the split in `job.split`.
    pub(crate) raw_bytes: u64,
}

impl fmt::Display for MapSplit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end_bytes = self.start_bytes.saturating_add(self.length_bytes);
        write!(out, "{}, bytes {} to {end_bytes}", self.uri, self.start_bytes)
    }
}

/// A split by what can read it.
enum SplitKind {
    /// A part of a file that the built-in tasktracker reads.
    Readable(FileSplit, FileUri),
    /// Only a stock TaskTracker can read it.
    OnlyStock(UnsupportedJob),
    /// No tracker can read it.
    Damaged(WireError),
}

/// The reason why only a stock TaskTracker can read the splits at these offsets of a `job.split`, if there is one. A
/// damaged file gives none: its tasks fail on every tracker. `default`: the file system of paths without a scheme.
pub(crate) fn find_unsupported_split(
    job_split: &[u8],
    offsets_bytes: impl Iterator<Item = i64>,
    default: &FileUri,
) -> Option<UnsupportedJob> {
    let classify = |offset| classify_split(job_split, usize::try_from(offset).unwrap_or(usize::MAX), default);
    offsets_bytes.map(classify).find_map(|kind| match kind {
        SplitKind::OnlyStock(reason) => Some(reason),
        SplitKind::Readable(..) | SplitKind::Damaged(_) => None,
    })
}

fn classify_split(job_split: &[u8], offset: usize, default: &FileUri) -> SplitKind {
    const CLASS: &str = "the class of a split";
    const EXPECTED: &str = SplitApi::Old.class_name();
    let of_class = |class| SplitKind::OnlyStock(UnsupportedJob::Class { key: CLASS, class, expected: EXPECTED });
    let split = match read_file_split(job_split, offset) {
        Ok(split) if split.api == SplitApi::Old => split,
        Ok(split) => return of_class(split.api.class_name().to_owned()),
        Err(WireError { kind: WireErrorKind::UnknownClass(class), .. }) => return of_class(class),
        Err(error) => return SplitKind::Damaged(error),
    };
    let of_path = |why| {
        let skipped = split.path.chars().count().saturating_sub(MAX_PATH_CHARS);
        let value: String = split.path.chars().skip(skipped).collect();
        SplitKind::OnlyStock(UnsupportedJob::Option { key: "the path of a split", value, why })
    };
    if Codec::is_foreign_file(&split.path) {
        return of_path("of compressed files only gzip and zlib are read");
    }
    match default.resolve(&split.path) {
        Ok(file) => SplitKind::Readable(split, file),
        Err(FileUriError::UnknownScheme { .. }) => of_path("only files under file: and hdfs: are read"),
        Err(_) => of_path("no absolute path"),
    }
}

impl MapSplit {
    /// Reads the split at the offset that the task names, from the content of `job.split`. `default`: the file system of paths without a
    /// scheme. Errors: [`TaskFailure::Unusable`]: another kind of split, or a file that cannot be reached.
    pub(crate) fn read(job_split: &[u8], offset_bytes: u64, default: &FileUri) -> Result<Self, TaskFailure> {
        let unusable = |reason: String| TaskFailure::Unusable { what: "the map's split".to_owned(), reason };
        let offset = usize::try_from(offset_bytes).unwrap_or(usize::MAX);
        let (split, file) = match classify_split(job_split, offset, default) {
            SplitKind::Readable(split, file) => (split, file),
            SplitKind::OnlyStock(reason) => return Err(unusable(reason.to_string())),
            SplitKind::Damaged(error) => return Err(unusable(error.to_string())),
        };
        let number = |number: i64| u64::try_from(number).map_err(|_| unusable(format!("{number} is below 0")));
        // Class name behind a length of one byte, path behind one of two, two numbers.
        let raw_bytes = SplitApi::Old.class_name().len() + 1 + split.path.len() + 2 + 16;
        let (start_bytes, length_bytes) = (number(split.start_bytes)?, number(split.length_bytes)?);
        Ok(Self { uri: split.path, file, start_bytes, length_bytes, raw_bytes: raw_bytes as u64 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::file::SplitsWriter;

    fn job_split(splits: &[(SplitApi, &str)]) -> (Vec<u8>, Vec<i64>) {
        let mut writer = SplitsWriter::default();
        for (api, path) in splits {
            let split = FileSplit { api: *api, path: (*path).to_owned(), start_bytes: 0, length_bytes: 9 };
            writer.add(&split, Vec::new());
        }
        let (file, metas) = writer.finish();
        (file, metas.iter().map(|meta| meta.offset_bytes).collect())
    }

    fn reason_of(splits: &[(SplitApi, &str)]) -> String {
        let (file, offsets) = job_split(splits);
        find_unsupported_split(&file, offsets.into_iter(), &FileUri::local_root())
            .map_or_else(|| "-".to_owned(), |reason| reason.to_string())
    }

    #[test]
    fn one_split_that_we_cannot_read_is_enough() {
        use SplitApi::{New, Old};
        let long = format!("file:/{}/in.bz2", "d".repeat(1_000));
        let reasons = [
            reason_of(&[]),
            reason_of(&[(Old, "file:/in/a"), (Old, "file:/in/b.gz"), (Old, "file:/in/c.deflate"), (Old, "/in/bz2")]),
            reason_of(&[(Old, "file:/in/a"), (Old, "file:/in/b.bz2")]),
            reason_of(&[(Old, "file:/in/b.snappy")]),
            reason_of(&[(New, "file:/in/a")]),
            reason_of(&[(Old, "hdfs://n:8020/in/a"), (Old, "s3://b/in/a")]),
            reason_of(&[(Old, "in/a")]),
        ];
        insta::assert_snapshot!(reasons.join("\n"), @r#"
        -
        -
        the path of a split = "file:/in/b.bz2": of compressed files only gzip and zlib are read: a stock TaskTracker runs it
        the path of a split = "file:/in/b.snappy": of compressed files only gzip and zlib are read: a stock TaskTracker runs it
        the class of a split is "org.apache.hadoop.mapreduce.lib.input.FileSplit"; a built-in tasktracker knows org.apache.hadoop.mapred.FileSplit: a stock TaskTracker runs it
        the path of a split = "s3://b/in/a": only files under file: and hdfs: are read: a stock TaskTracker runs it
        the path of a split = "in/a": no absolute path: a stock TaskTracker runs it
        "#);
        assert!(reason_of(&[(Old, &long)]).len() < 400, "no path of a client's choice fills the state");
        let other = [b"SPL\0\0\0\x01\x16".as_slice(), b"a.CombineFileSplitBeta"].concat();
        let other = find_unsupported_split(&other, [7].into_iter(), &FileUri::local_root()).unwrap().to_string();
        insta::assert_snapshot!(other, @r#"the class of a split is "a.CombineFileSplitBeta"; a built-in tasktracker knows org.apache.hadoop.mapred.FileSplit: a stock TaskTracker runs it"#);
    }

    #[test]
    fn a_damaged_file_fails_only_when_a_task_reads_it() {
        let (file, offsets) = job_split(&[(SplitApi::Old, "file:/in/b.bz2")]);
        assert_eq!(find_unsupported_split(&file[..30], offsets.into_iter(), &FileUri::local_root()), None);
        assert_eq!(find_unsupported_split(&file, [-1, i64::MAX].into_iter(), &FileUri::local_root()), None);
        assert!(
            MapSplit::read(&file, u64::MAX, &FileUri::local_root())
                .unwrap_err()
                .to_string()
                .contains("the map's split")
        );
    }

    #[test]
    fn a_map_whose_split_only_java_reads_fails_with_the_reason() {
        let (file, offsets) = job_split(&[(SplitApi::Old, "file:/in/b.bz2")]);
        let failure = MapSplit::read(&file, offsets[0].unsigned_abs(), &FileUri::local_root()).unwrap_err();
        insta::assert_snapshot!(failure.to_string(), @r#"the map's split: the path of a split = "file:/in/b.bz2": of compressed files only gzip and zlib are read: a stock TaskTracker runs it"#);
    }
}
