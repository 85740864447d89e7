//! Computes splits as 1.2.1 `FileInputFormat` of the old API does, to the byte. Does not access files.

use std::sync::Arc;

use crate::wire::Text;
use crate::wire::file::{FileSplit, SplitApi, SplitMeta, SplitsWriter, write_split_meta};

use super::split_hosts::FileBlocks;

/// Maximum number of splits of one job: about ten times as many as the default limit of `job.splitmetainfo` allows.
pub(crate) const MOST_SPLITS: usize = 5_000_000;
/// Suffixes with a codec in 1.2.1 that cannot be split.
const COMPRESSED: &[&str] = &[".deflate", ".gz", ".snappy"];

/// One file of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputFile {
    /// Its URI, such as `file:/data/a.txt`.
    pub(crate) uri: String,
    /// Its length, bytes.
    pub(crate) length_bytes: u64,
    /// The block size that its file system keeps for it, bytes; `None`: that of the rules.
    pub(crate) block_bytes: Option<u64>,
    /// Where it lies.
    pub(crate) blocks: FileBlocks,
}

/// Parameters of the split size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SplitRules {
    /// `mapred.map.tasks`, a hint.
    pub(crate) wanted_maps: u64,
    /// `mapred.min.split.size`.
    pub(crate) min_split_bytes: u64,
    /// `fs.local.block.size`.
    pub(crate) block_bytes: u64,
}

/// A part of a file (1.2.1 `FileSplit`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputSplit {
    /// The file.
    pub(crate) uri: String,
    /// Offset of the first byte.
    pub(crate) start_bytes: u64,
    /// Number of bytes.
    pub(crate) length_bytes: u64,
    /// The machines that have it.
    pub(crate) hosts: Arc<[String]>,
}

/// More than [`MOST_SPLITS`] splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the input has more than {MOST_SPLITS} splits; set a larger mapred.min.split.size")]
pub struct TooManySplits;

/// Splits files, in the order of the files.
///
/// # Errors
/// [`TooManySplits`]
pub(crate) fn split_files(files: &[InputFile], rules: SplitRules) -> Result<Vec<InputSplit>, TooManySplits> {
    let total_bytes: u64 = files.iter().fold(0, |sum, file| sum.saturating_add(file.length_bytes));
    let goal_bytes = total_bytes / rules.wanted_maps.max(1);
    let mut splits = Vec::new();
    for file in files {
        let block_bytes = file.block_bytes.unwrap_or(rules.block_bytes);
        let split_bytes = goal_bytes.min(block_bytes).max(rules.min_split_bytes).max(1);
        let mut left_bytes = file.length_bytes;
        if is_splittable(&file.uri) {
            // The last part may be a tenth longer than the others: 10 x left > 11 x split, in integers.
            while 10 * u128::from(left_bytes) > 11 * u128::from(split_bytes) {
                splits.push(part(file, left_bytes, split_bytes));
                left_bytes -= split_bytes;
                if splits.len() > MOST_SPLITS {
                    return Err(TooManySplits);
                }
            }
        }
        if left_bytes > 0 || file.length_bytes == 0 {
            splits.push(part(file, left_bytes, left_bytes));
        }
    }
    if splits.len() > MOST_SPLITS { Err(TooManySplits) } else { Ok(splits) }
}

/// The split of `length_bytes` that starts `left_bytes` before the end. An empty file has no host.
fn part(file: &InputFile, left_bytes: u64, length_bytes: u64) -> InputSplit {
    let start_bytes = file.length_bytes - left_bytes;
    let hosts = file.blocks.hosts(start_bytes, length_bytes);
    InputSplit { uri: file.uri.clone(), start_bytes, length_bytes, hosts }
}

/// Whether a file can be split, by its name, as in 1.2.1 `TextInputFormat`. bzip2 can.
pub(crate) fn is_splittable(uri: &str) -> bool {
    !COMPRESSED.iter().any(|ending| uri.ends_with(ending))
}

/// Encodes `job.split` and `job.splitmetainfo`, the longest splits first (1.2.1 `JobClient.writeOldSplits`).
pub(crate) fn encode_splits(mut splits: Vec<InputSplit>) -> (Vec<u8>, Vec<u8>) {
    splits.sort_by_key(|split| std::cmp::Reverse(split.length_bytes));
    let mut writer = SplitsWriter::default();
    for InputSplit { uri, start_bytes, length_bytes, hosts } in splits {
        // File lengths fit into i64.
        let (start_bytes, length_bytes) = (start_bytes as i64, length_bytes as i64);
        let locations = hosts.iter().map(|host| Text::from(host.as_str())).collect();
        writer.add(&FileSplit { api: SplitApi::Old, path: uri, start_bytes, length_bytes }, locations);
    }
    let (file, metas): (Vec<u8>, Vec<SplitMeta>) = writer.finish();
    (file, write_split_meta(&metas))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fs::{BlockHost, BlockPlace};

    const DEFAULTS: SplitRules = SplitRules { wanted_maps: 1, min_split_bytes: 0, block_bytes: 32 << 20 };

    fn file(uri: &str, length_bytes: u64) -> InputFile {
        let hosts = vec![BlockHost { host: "localhost".to_owned(), topology: String::new() }];
        let blocks = FileBlocks::new(vec![BlockPlace { offset_bytes: 0, length_bytes, hosts }]);
        InputFile { uri: uri.to_owned(), length_bytes, block_bytes: None, blocks }
    }

    fn fixture(name: &str) -> Vec<u8> {
        let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn is_as_recorded(folder: &str, files: &[(&str, u64)]) {
        let files: Vec<_> = files.iter().map(|(uri, length)| file(uri, *length)).collect();
        let (split, meta) = encode_splits(split_files(&files, DEFAULTS).unwrap());
        assert_eq!(split, fixture(&format!("{folder}/job.split")), "{folder}/job.split");
        assert_eq!(meta, fixture(&format!("{folder}/job.splitmetainfo")), "{folder}/job.splitmetainfo");
    }

    #[test]
    fn splits_are_those_of_recorded_submissions() {
        is_as_recorded(
            "hadoop1/files/staging-old-api",
            &[("file:/data/h1/in/b.txt", 12), ("file:/data/h1/in/a.txt", 34)],
        );
        let wd = |name: &str| format!("file:/data/lab/wd/{name}");
        is_as_recorded("worker/plain", &[(&wd("in/a.txt"), 52), (&wd("in/b.txt"), 27), (&wd("in/c.txt"), 8)]);
        is_as_recorded("worker/keyfields", &[(&wd("in3/s.txt"), 8), (&wd("in3/k.txt"), 30)]);
    }

    #[test]
    fn the_hint_divides_all_input_and_the_last_part_may_be_a_tenth_longer() {
        let rules = SplitRules { wanted_maps: 10, ..DEFAULTS };
        let lengths = |length| {
            let splits = split_files(&[file("a", length), file("b.gz", 1000 - length)], rules).unwrap();
            splits.iter().map(|split| split.length_bytes).collect::<Vec<_>>()
        };
        assert_eq!(lengths(310), [100, 100, 110, 690]);
        assert_eq!(lengths(311), [100, 100, 100, 11, 689]);
        assert_eq!(lengths(0), [0, 1000]);
    }

    #[test]
    fn a_block_bounds_a_split_and_the_least_size_beats_both() {
        let count = |rules| split_files(&[file("a", 1000)], rules).unwrap().len();
        assert_eq!(count(SplitRules { block_bytes: 100, ..DEFAULTS }), 10);
        assert_eq!(count(SplitRules { block_bytes: 100, min_split_bytes: 500, ..DEFAULTS }), 2);
        assert_eq!(count(SplitRules { wanted_maps: 5000, ..DEFAULTS }), 1000);
    }

    #[test]
    fn millions_of_splits_are_refused() {
        let rules = SplitRules { block_bytes: 1, ..DEFAULTS };
        assert_eq!(split_files(&[file("a", 1 << 40)], rules), Err(TooManySplits));
    }

    #[test]
    fn an_empty_file_has_no_host() {
        let splits = split_files(&[file("a", 0)], DEFAULTS).unwrap();
        assert_eq!(splits, [InputSplit { uri: "a".into(), start_bytes: 0, length_bytes: 0, hosts: Arc::default() }]);
        assert_eq!(encode_splits(splits).1, b"META-SPL\x01\x01\x00\x07\x00");
    }

    proptest! {
        #[test]
        fn the_parts_of_a_file_are_the_file(
            lengths in prop::collection::vec(0_u64..5000, 1..6),
            wanted_maps in 0_u64..50,
            min_split_bytes in 0_u64..300,
            block_bytes in 1_u64..3000,
        ) {
            let files: Vec<_> = lengths.iter().enumerate().map(|(n, length)| file(&n.to_string(), *length)).collect();
            let splits = split_files(&files, SplitRules { wanted_maps, min_split_bytes, block_bytes }).unwrap();
            for file in &files {
                let parts: Vec<_> = splits.iter().filter(|split| split.uri == file.uri).collect();
                let mut at_bytes = 0;
                for part in &parts {
                    prop_assert_eq!(part.start_bytes, at_bytes);
                    at_bytes += part.length_bytes;
                }
                prop_assert_eq!(at_bytes, file.length_bytes);
                prop_assert!(parts.len() == 1 || parts.iter().all(|part| part.length_bytes > 0));
            }
        }

        /// The original divides floating point numbers; integers give the same parts.
        #[test]
        fn the_last_part_is_the_originals(left in 1_u64..1 << 50, split in 1_u64..1 << 40) {
            prop_assert_eq!(10 * u128::from(left) > 11 * u128::from(split), left as f64 / split as f64 > 1.1);
        }
    }
}
