//! Computes splits and their hosts as 1.2.1 `FileInputFormat` and `NLineInputFormat` of the old API do, to the byte. Does not access files.

use std::collections::BTreeSet;
use std::io;
use std::io::BufRead;
use std::sync::Arc;

use crate::fs::{BlockHost, BlockPlace};
use crate::wire::Text;
use crate::wire::file::{FileSplit, SplitApi, SplitMeta, SplitsWriter, write_split_meta};

/// Maximum number of splits of one job: about ten times as many as the default limit of `job.splitmetainfo` allows.
const MOST_SPLITS: usize = 5_000_000;
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
fn is_splittable(uri: &str) -> bool {
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

/// Splits a file into splits of `lines` lines, 1 or more. A line ends with LF, CR LF or CR, the last one with the file. 1.2.1 reads one
/// line beyond the end of a split that ends at a line end. Therefore all splits but the first begin, and the first ends, a byte earlier.
/// Errors: read errors; `InvalidData` for more than [`MOST_SPLITS`].
pub(crate) fn split_lines(uri: &str, file: &mut impl BufRead, lines: u64) -> io::Result<Vec<InputSplit>> {
    let mut splits = Vec::new();
    let (mut begin_bytes, mut length_bytes, mut counted) = (0_u64, 0_u64, 0_u64);
    let mut cut = |length_bytes: u64, begin_bytes: &mut u64| {
        let (start_bytes, part_bytes) = match *begin_bytes {
            0 => (0, length_bytes - 1),
            begin_bytes => (begin_bytes - 1, length_bytes),
        };
        *begin_bytes += length_bytes;
        splits.push(InputSplit { uri: uri.to_owned(), start_bytes, length_bytes: part_bytes, hosts: Arc::default() });
        if splits.len() > MOST_SPLITS {
            Err(io::Error::new(io::ErrorKind::InvalidData, "too many lines"))
        } else {
            Ok(())
        }
    };
    loop {
        let line_bytes = skip_line(file)?;
        if line_bytes == 0 {
            break;
        }
        length_bytes += line_bytes;
        counted += 1;
        if counted == lines {
            cut(std::mem::take(&mut length_bytes), &mut begin_bytes)?;
            counted = 0;
        }
    }
    if counted > 0 {
        cut(length_bytes, &mut begin_bytes)?;
    }
    Ok(splits)
}

/// The length of the next line with its terminator; 0 at the end of the file.
fn skip_line(file: &mut impl BufRead) -> io::Result<u64> {
    let mut line_bytes = 0_u64;
    loop {
        let buffer = file.fill_buf()?;
        if buffer.is_empty() {
            return Ok(line_bytes);
        }
        let Some(end) = buffer.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            let taken = buffer.len();
            file.consume(taken);
            line_bytes += taken as u64;
            continue;
        };
        let is_return = buffer[end] == b'\r';
        file.consume(end + 1);
        line_bytes += end as u64 + 1;
        if is_return && file.fill_buf()?.first() == Some(&b'\n') {
            file.consume(1);
            line_bytes += 1;
        }
        return Ok(line_bytes);
    }
}

/// The rack of a machine whose place is not known (1.2.1 `NetworkTopology.DEFAULT_RACK`).
const DEFAULT_RACK: &str = "/default-rack";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileBlocks {
    blocks: Vec<FileBlock>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FileBlock {
    place: BlockPlace,
    /// Shared by the splits in it.
    hosts: Arc<[String]>,
}

/// How many bytes of a split a machine or a rack has.
struct HostShare<'a> {
    name: &'a str,
    bytes: u64,
    blocks: BTreeSet<usize>,
    /// Of a rack.
    hosts: Vec<HostShare<'a>>,
}

impl FileBlocks {
    pub(crate) fn new(places: Vec<BlockPlace>) -> Self {
        let block = |place: BlockPlace| {
            let hosts = place.hosts.iter().map(|host| host.host.clone()).collect();
            FileBlock { place, hosts }
        };
        Self { blocks: places.into_iter().map(block).collect() }
    }

    /// The machines of a split: of a part of one block those that have it, else as many as the last block has, those with the most
    /// bytes first, rack by rack; called by their addresses then, as the original does.
    pub(crate) fn hosts(&self, start_bytes: u64, length_bytes: u64) -> Arc<[String]> {
        let end_of = |block: &FileBlock| block.place.offset_bytes.saturating_add(block.place.length_bytes);
        let Some(first) = self.blocks.iter().position(|block| start_bytes < end_of(block)) else {
            return Arc::default();
        };
        let blocks = &self.blocks[first..];
        let Some(block) = blocks.first().filter(|_| length_bytes > 0) else { return Arc::default() };
        let end_bytes = start_bytes.saturating_add(length_bytes);
        if end_bytes <= end_of(block) {
            return block.hosts.clone();
        }
        let mut racks: Vec<HostShare<'_>> = Vec::new();
        let mut most = 0;
        for (number, block) in blocks.iter().enumerate() {
            if block.place.offset_bytes >= end_bytes {
                break;
            }
            let bytes = end_of(block).min(end_bytes) - block.place.offset_bytes.max(start_bytes);
            most = block.place.hosts.len();
            for host in &block.place.hosts {
                let (rack, name) = place_of(host);
                let rack = share_of(&mut racks, rack);
                rack.add(number, bytes);
                share_of(&mut rack.hosts, name).add(number, bytes);
            }
        }
        let by_bytes = |shares: &mut Vec<HostShare<'_>>| shares.sort_by_key(|share| std::cmp::Reverse(share.bytes));
        by_bytes(&mut racks);
        racks.iter_mut().for_each(|rack| by_bytes(&mut rack.hosts));
        let names = racks.iter().flat_map(|rack| &rack.hosts).map(|host| without_port(host.name).to_owned());
        names.take(most).collect()
    }
}

impl HostShare<'_> {
    /// Counts a block once, however often it is named.
    fn add(&mut self, block: usize, bytes: u64) {
        if self.blocks.insert(block) {
            self.bytes += bytes;
        }
    }
}

fn share_of<'a, 'b>(shares: &'b mut Vec<HostShare<'a>>, name: &'a str) -> &'b mut HostShare<'a> {
    let at = shares.iter().position(|share| share.name == name).unwrap_or_else(|| {
        shares.push(HostShare { name, bytes: 0, blocks: BTreeSet::new(), hosts: Vec::new() });
        shares.len() - 1
    });
    &mut shares[at]
}

/// The rack of a machine and its name in it.
fn place_of(host: &BlockHost) -> (&str, &str) {
    match host.topology.rsplit_once('/') {
        Some((rack, name)) => (rack, name),
        None => (DEFAULT_RACK, &host.host),
    }
}

fn without_port(name: &str) -> &str {
    name.split(':').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use crate::fs::{BlockHost, BlockPlace};

    use super::*;

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

    fn parts(text: &[u8], lines: u64) -> Vec<(u64, u64)> {
        // A buffer of two bytes, so that ends of lines lie across its ends.
        let splits = split_lines("a", &mut BufReader::with_capacity(2, text), lines).unwrap();
        splits.iter().map(|split| (split.start_bytes, split.length_bytes)).collect()
    }

    #[test]
    fn lines_end_as_java_reads_them() {
        assert_eq!(parts(b"one\ntwo\r\nthree\rfour", 1), [(0, 3), (3, 5), (8, 6), (14, 4)]);
        assert_eq!(parts(b"a\nb\nc\n", 2), [(0, 3), (3, 2)]);
        assert_eq!(parts(b"", 1), []);
        assert_eq!(parts(b"\n\n", 1), [(0, 0), (0, 1)]);
    }

    proptest! {
        #[test]
        fn all_bytes_are_in_one_part(text in prop::collection::vec(prop::sample::select(b"ab\r\n".to_vec()), 0..60), lines in 1_u64..4) {
            let parts = parts(&text, lines);
            let sum: u64 = parts.iter().map(|(_, length)| length).sum();
            // The first part is a byte short, by the original's way of reading.
            prop_assert_eq!(sum + u64::from(!parts.is_empty()), text.len() as u64);
        }
    }

    fn block(offset_bytes: u64, length_bytes: u64, nodes: &[(&str, &str)]) -> BlockPlace {
        let host = |(rack, number): &(&str, &str)| BlockHost {
            host: format!("h{number}"),
            topology: format!("{rack}/10.0.0.{number}:50010"),
        };
        BlockPlace { offset_bytes, length_bytes, hosts: nodes.iter().map(host).collect() }
    }

    fn hosts(blocks: &FileBlocks, start_bytes: u64, length_bytes: u64) -> Vec<String> {
        blocks.hosts(start_bytes, length_bytes).to_vec()
    }

    #[test]
    fn a_part_of_one_block_has_its_machines() {
        let blocks = FileBlocks::new(vec![block(0, 100, &[("/r", "1"), ("/r", "2")]), block(100, 50, &[("/r", "3")])]);
        assert_eq!(hosts(&blocks, 0, 100), ["h1", "h2"]);
        assert_eq!(hosts(&blocks, 40, 60), ["h1", "h2"]);
        assert_eq!(hosts(&blocks, 100, 50), ["h3"]);
        assert_eq!(hosts(&blocks, 150, 10), [""; 0]);
        assert_eq!(hosts(&FileBlocks::default(), 0, 0), [""; 0]);
    }

    /// As 1.2.1 `TestGetSplitHosts`: racks by what they have of the split, then their machines, by address.
    #[test]
    fn of_several_blocks_the_machines_with_most_bytes_come_first() {
        let blocks = FileBlocks::new(vec![
            block(0, 100, &[("/rack1", "4"), ("/rack1", "5"), ("/rack2", "6")]),
            block(100, 100, &[("/rack1", "4"), ("/rack2", "6"), ("/rack2", "7")]),
            block(200, 100, &[("/rack2", "7"), ("/rack3", "8"), ("/rack2", "6")]),
        ]);
        assert_eq!(hosts(&blocks, 50, 225), ["10.0.0.6", "10.0.0.7", "10.0.0.4"]);
        assert_eq!(hosts(&blocks, 0, 101), ["10.0.0.4", "10.0.0.5", "10.0.0.6"]);
    }
}
