//! The end of the log of this process, where its stderr is a file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write as _};

use rustix::fs::FileType;

/// What stderr leads to, as the kernel names it to this process.
const STDERR: &str = "/proc/self/fd/2";

/// At most so many bytes of the end of the log, from the start of a line on; none: it is no file, or may not be read.
pub(crate) fn end_of_log(max_bytes: u64) -> Option<Vec<u8>> {
    let stderr = io::stderr();
    stderr.lock().flush().ok()?;
    // To open a pipe or a terminal could wait, or take what others would read.
    let mode = rustix::fs::fstat(&stderr).ok()?.st_mode;
    if FileType::from_raw_mode(mode) != FileType::RegularFile {
        return None;
    }
    end_of(File::open(STDERR).ok()?, max_bytes).ok()
}

fn end_of(mut file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(max_bytes);
    file.seek(SeekFrom::Start(from))?;
    let mut end = Vec::new();
    file.take(max_bytes).read_to_end(&mut end)?;
    let is_within_line = from > 0;
    let begin = end.iter().position(|byte| *byte == b'\n').filter(|_| is_within_line).map_or(0, |newline| newline + 1);
    Ok(end.split_off(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_begins_with_a_whole_line() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one\ntwo\nthree\n").unwrap();
        let end = |max_bytes| String::from_utf8(end_of(file.try_clone().unwrap(), max_bytes).unwrap()).unwrap();
        assert_eq!((end(100).as_str(), end(14).as_str()), ("one\ntwo\nthree\n", "one\ntwo\nthree\n"));
        assert_eq!((end(12).as_str(), end(8).as_str(), end(3).as_str()), ("two\nthree\n", "three\n", ""));
    }
}
