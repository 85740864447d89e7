//! Splits of N lines each, as 1.2.1 `NLineInputFormat` computes them.

use std::io::{self, BufRead};
use std::sync::Arc;

use super::split::{InputSplit, MOST_SPLITS};

/// Splits a file into splits of `lines` lines, 1 or more. A line ends with LF, CR LF or CR, the last one with the file.
///
/// 1.2.1 reads one line beyond the end of a split that ends at a line end. Therefore all splits but the first begin, and the
/// first ends, a byte earlier.
///
/// # Errors
/// Read errors; `InvalidData` for more than [`MOST_SPLITS`].
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

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

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
}
