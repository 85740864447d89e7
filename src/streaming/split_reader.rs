//! The records of a split, as the command reads them (1.2.1 `LineRecordReader`, `KeyValueLineRecordReader`,
//! `NLineInputFormat`, `TextInputWriter`).

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use crate::fs::{Expected, FileSystems, FileUri, OpenFile};

use super::codec::{Codec, Decoder};
use super::line_reader::LineReader;

/// How lines become what the command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineFormat {
    /// `TextInputFormat`: the line.
    Text,
    /// `NLineInputFormat`: its place in the file, the separator, the line.
    NumberedLine,
    /// `KeyValueTextInputFormat`, `StreamInputFormat`: key, separator, value, where the line is cut at this byte.
    KeyValue {
        /// Between key and value in the file.
        separator: u8,
    },
}

#[derive(Debug)]
pub(crate) struct SplitReader {
    lines: LineReader<Decoder<Counted>>,
    /// Offset in the file, or in its decompressed content.
    position: u64,
    /// Where the current record starts.
    line_start: u64,
    /// A line that begins here or before still belongs to the split.
    end: Option<u64>,
    start_bytes: u64,
    length_bytes: u64,
    /// Lines of that many bytes and more are passed over.
    longest_line: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadRules {
    /// Lines of that many bytes and more are passed over.
    pub(crate) longest_line_bytes: u64,
    /// Bytes that a stock task reads at once. This reader reads no block more, since bytes read are counted.
    pub(crate) block_bytes: u64,
}

/// Counts what is read, and reads no further than a stock task would.
#[derive(Debug)]
struct Counted {
    file: OpenFile,
    read_bytes: u64,
    /// A stock task reads this far whatever the lines are; from there on block by block. 0 on HDFS, where each read ends with the
    /// file's block, too.
    sure_bytes: u64,
    block_bytes: u64,
}

impl Read for Counted {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let left_bytes = self.sure_bytes.checked_sub(self.read_bytes).filter(|left| *left > 0);
        let most = usize::try_from(left_bytes.unwrap_or(self.block_bytes)).unwrap_or(usize::MAX);
        let most = room.len().min(most);
        let read = self.file.read_full(&mut room[..most])?;
        self.read_bytes += read as u64;
        Ok(read)
    }
}

impl SplitReader {
    /// Opens the split; a compressed file is read as a whole.
    pub(crate) fn open(files: &FileSystems, input: &FileUri, bytes: Range<u64>, rules: ReadRules) -> io::Result<Self> {
        let opened = files.of(input).open(input, &Expected::file_of_any_owner());
        let mut file = opened.map_err(io::Error::from)?;
        let codec = input.name().and_then(Codec::of_file);
        let (start, end) = match codec {
            Some(_) => (0, None),
            None => (bytes.start, Some(bytes.end)),
        };
        file.seek(SeekFrom::Start(start))?;
        let block_bytes = rules.block_bytes.max(1);
        // The byte after the split, too: a line that begins there belongs to it.
        let sure_bytes = match end {
            _ if input.namenode().is_some() => 0,
            Some(end) => (end - start).saturating_add(1).div_ceil(block_bytes).saturating_mul(block_bytes),
            None => u64::MAX,
        };
        let counted = Counted { file, read_bytes: 0, sure_bytes, block_bytes };
        let lines = LineReader::new(Decoder::new(codec, counted));
        let longest_line = rules.longest_line_bytes;
        let (start_bytes, length_bytes) = (bytes.start, bytes.end - bytes.start);
        let mut reader =
            Self { lines, position: start, line_start: start, end, start_bytes, length_bytes, longest_line };
        if start > 0 {
            // It belongs to the split before, whose reader reads past its end.
            reader.position += reader.lines.advance()?.unwrap_or(0) as u64;
        }
        Ok(reader)
    }

    /// Advances to the next record and returns the bytes consumed, skipped lines included; `None` after the last.
    #[inline]
    pub(crate) fn advance(&mut self) -> io::Result<Option<u64>> {
        let begun_at = self.position;
        while self.end.is_none_or(|end| self.position <= end) {
            let Some(consumed_bytes) = self.lines.advance()? else { break };
            self.line_start = self.position;
            self.position += consumed_bytes as u64;
            if (consumed_bytes as u64) < self.longest_line {
                return Ok(Some(self.position - begun_at));
            }
        }
        Ok(None)
    }

    /// Writes the current record as the command reads it; `separator` goes between key and value.
    #[inline]
    pub(crate) fn write_record(&self, format: LineFormat, separator: &[u8], out: &mut impl Write) -> io::Result<()> {
        let line = self.lines.text();
        match format {
            LineFormat::Text => out.write_all(line)?,
            LineFormat::NumberedLine => {
                write!(out, "{}", self.line_start)?;
                out.write_all(separator)?;
                out.write_all(line)?;
            }
            LineFormat::KeyValue { separator: cut } => {
                let (key, value) = match memchr::memchr(cut, line) {
                    Some(at) => (&line[..at], &line[at + 1..]),
                    None => (line, &b""[..]),
                };
                out.write_all(key)?;
                out.write_all(separator)?;
                out.write_all(value)?;
            }
        }
        out.write_all(b"\n")
    }

    /// Bytes read from the file so far, what was read ahead included.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.lines.source().source().read_bytes
    }

    /// Share of the split that is read, 0 to 1000.
    pub(crate) fn read_thousandths(&self) -> u64 {
        let passed = match self.end {
            Some(_) => self.position.saturating_sub(self.start_bytes),
            None => self.read_bytes(),
        };
        passed.saturating_mul(1000).checked_div(self.length_bytes).unwrap_or(0).min(1000)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    const RULES: ReadRules = ReadRules { longest_line_bytes: i32::MAX as u64, block_bytes: 4096 };

    fn uri(path: &std::path::Path) -> FileUri {
        FileUri::parse(path.to_str().unwrap()).unwrap()
    }

    fn read(path: &std::path::Path, start: usize, length: usize, format: LineFormat) -> (String, u64) {
        let bytes = start as u64..(start + length) as u64;
        let mut reader = SplitReader::open(&FileSystems::with_defaults("alice"), &uri(path), bytes, RULES).unwrap();
        let (mut out, mut consumed) = (Vec::new(), 0);
        while let Some(bytes) = reader.advance().unwrap() {
            consumed += bytes;
            reader.write_record(format, b"=", &mut out).unwrap();
        }
        (String::from_utf8(out).unwrap(), consumed)
    }

    fn file(name: &str, bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    #[test]
    fn each_format_gives_its_records() {
        let (_folder, path) = file("a.txt", b"k\tv\tw\r\nplain\n\nlast");
        let read = |format| read(&path, 0, 20, format);
        assert_eq!(read(LineFormat::Text), ("k\tv\tw\nplain\n\nlast\n".to_owned(), 18));
        assert_eq!(read(LineFormat::KeyValue { separator: b'\t' }).0, "k=v\tw\nplain=\n=\nlast=\n");
        assert_eq!(read(LineFormat::NumberedLine).0, "0=k\tv\tw\n7=plain\n13=\n14=last\n");
    }

    #[test]
    fn a_line_that_begins_at_the_end_belongs_to_the_split_before() {
        let (_folder, path) = file("a.txt", b"aaa\nbbb\nccc\n");
        let text = |start, length| read(&path, start, length, LineFormat::Text).0;
        assert_eq!(text(0, 4), "aaa\nbbb\n");
        assert_eq!(text(4, 8), "ccc\n");
        assert_eq!(text(0, 3), "aaa\n");
        assert_eq!(text(5, 1), "");
    }

    #[test]
    fn compressed_files_are_read_as_a_whole() {
        for (codec, name) in [(Codec::Gzip, "a.gz"), (Codec::Zlib, "a.deflate")] {
            let mut encoder = super::super::codec::Encoder::new(Some(codec), Vec::new());
            encoder.write_all(b"a\nb\n").unwrap();
            let (_folder, path) = file(name, &encoder.finish().unwrap());
            assert_eq!(read(&path, 0, 3, LineFormat::Text), ("a\nb\n".to_owned(), 4));
        }
    }

    #[test]
    fn long_lines_are_passed_over_and_counted() {
        let (_folder, path) = file("a.txt", b"a\nbbbb\nc\n");
        let mut reader = SplitReader::open(
            &FileSystems::with_defaults("alice"),
            &uri(&path),
            0..9,
            ReadRules { longest_line_bytes: 5, ..RULES },
        )
        .unwrap();
        assert_eq!((reader.advance().unwrap(), reader.advance().unwrap()), (Some(2), Some(7)));
        assert_eq!(reader.read_thousandths(), 1000);
        assert_eq!(reader.advance().unwrap(), None);
    }

    #[test]
    fn no_block_is_read_that_a_stock_task_leaves() {
        // 101 lines of 10 bytes; blocks of 100.
        let (_folder, path) = file("a.txt", "123456789\n".repeat(101).as_bytes());
        for (start, length, expected) in
            [(0, 300, 400), (0, 299, 300), (0, 295, 300), (5, 304, 400), (5, 294, 300), (700, 310, 310)]
        {
            let mut reader = SplitReader::open(
                &FileSystems::with_defaults("alice"),
                &uri(&path),
                start..start + length,
                ReadRules { block_bytes: 100, ..RULES },
            )
            .unwrap();
            while reader.advance().unwrap().is_some() {}
            assert_eq!(reader.read_bytes(), expected, "{start}+{length}");
        }
        // A line that is longer than a block.
        let (_folder, path) = file("b.txt", format!("{}\nx\n", "y".repeat(250)).as_bytes());
        let mut reader = SplitReader::open(
            &FileSystems::with_defaults("alice"),
            &uri(&path),
            0..10,
            ReadRules { block_bytes: 50, ..RULES },
        )
        .unwrap();
        assert_eq!((reader.advance().unwrap(), reader.advance().unwrap()), (Some(251), None));
        assert_eq!(reader.read_bytes(), 253);
    }

    proptest! {
        #[test]
        fn any_cut_gives_each_line_once(text in "[ab\r\n]{0,30}", cuts in proptest::collection::btree_set(1_usize..30, 0..4)) {
            let (_folder, path) = file("a.txt", text.as_bytes());
            let mut borders: Vec<usize> = cuts.into_iter().filter(|cut| *cut < text.len()).collect();
            // No split begins inside a CRLF: a stock reader would take the LF for an empty line.
            borders.retain(|cut| text.as_bytes()[*cut] != b'\n' || text.as_bytes()[cut - 1] != b'\r');
            borders.insert(0, 0);
            borders.push(text.len());
            let parts = borders.windows(2).map(|pair| read(&path, pair[0], pair[1] - pair[0], LineFormat::Text).0);
            let parts: String = parts.collect();
            prop_assert_eq!(parts, read(&path, 0, text.len(), LineFormat::Text).0);
        }
    }
}
