//! Lines as Hadoop reads them: LF, CRLF or a lone CR ends one (1.2.1 `LineReader`); bytes are not decoded.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

/// Read at once, bytes.
const BUFFER_BYTES: usize = 128 << 10;
/// The longest line that is taken of a file, as a `Text` may not be longer. Bytes.
const LONGEST_LINE_BYTES: usize = i32::MAX as usize - 16;
/// The longest line that is taken of a command, which may write one without end. Bytes.
const LONGEST_OUTPUT_LINE_BYTES: usize = 128 << 20;

#[derive(Debug)]
pub(crate) struct LineReader<R> {
    source: R,
    buffer: Vec<u8>,
    text: Range<usize>,
    /// Of `buffer`: what is read and not yet passed.
    at: usize,
    end: usize,
    /// A line that is longer is cut, if there is such a length.
    cut_at_bytes: Option<usize>,
    /// A line that is longer is an error.
    most_bytes: usize,
}

impl<R: Read> LineReader<R> {
    pub(crate) fn new(source: R) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            text: 0..0,
            at: 0,
            end: 0,
            cut_at_bytes: None,
            most_bytes: LONGEST_LINE_BYTES,
        }
    }

    /// Records that a command writes.
    pub(crate) fn of_command(source: R) -> Self {
        Self { most_bytes: LONGEST_OUTPUT_LINE_BYTES, ..Self::new(source) }
    }

    /// Lines of an untrusted source: longer ones come in pieces of about `at_bytes`.
    pub(crate) fn cutting(source: R, at_bytes: usize) -> Self {
        Self { cut_at_bytes: Some(at_bytes), ..Self::new(source) }
    }

    pub(crate) fn source(&self) -> &R {
        &self.source
    }

    /// The current line, without its terminator.
    #[inline]
    pub(crate) fn text(&self) -> &[u8] {
        &self.buffer[self.text.clone()]
    }

    /// Advances to the next line and returns its length with its terminator; `None` at the end. A last line needs no terminator.
    /// Errors: those of reading; a line over 2 GB, of a command over 128 MiB.
    #[inline]
    pub(crate) fn advance(&mut self) -> io::Result<Option<usize>> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.at..self.end];
            if let Some(found) = memchr::memchr2(b'\n', b'\r', &unread[searched..]) {
                let length = searched + found;
                let terminator = match (unread[length], unread.get(length + 1)) {
                    (b'\n', _) => 1,
                    (_, Some(b'\n')) => 2,
                    (_, Some(_)) => 1,
                    // What follows the CR is not read yet.
                    (_, None) => {
                        if self.fill()? {
                            searched = length;
                            continue;
                        }
                        1
                    }
                };
                return Ok(Some(self.pass(length, length + terminator)));
            }
            searched = unread.len();
            if self.cut_at_bytes.is_some_and(|most| searched >= most) {
                return Ok(Some(self.pass(searched, searched)));
            }
            if searched > self.most_bytes {
                let why = format!("a line of more than {} MiB", self.most_bytes.div_ceil(1 << 20));
                return Err(io::Error::new(ErrorKind::InvalidData, why));
            }
            if !self.fill()? {
                let length = self.end - self.at;
                return Ok((length > 0).then(|| self.pass(length, length)));
            }
        }
    }

    fn pass(&mut self, length: usize, consumed_bytes: usize) -> usize {
        self.text = self.at..self.at + length;
        self.at += consumed_bytes;
        consumed_bytes
    }

    /// Reads more behind what is there; `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.at > 0 {
            self.buffer.copy_within(self.at..self.end, 0);
            (self.at, self.end) = (0, self.end - self.at);
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(BUFFER_BYTES.max(self.buffer.len() * 2), 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives one byte at a time.
    struct Slowly<'a>(&'a [u8]);

    impl Read for Slowly<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let most = room.len().min(1);
            self.0.read(&mut room[..most])
        }
    }

    fn lines(source: impl Read) -> Vec<(String, usize)> {
        let mut reader = LineReader::new(source);
        let mut lines = Vec::new();
        while let Some(consumed_bytes) = reader.advance().unwrap() {
            lines.push((String::from_utf8(reader.text().to_vec()).unwrap(), consumed_bytes));
        }
        lines
    }

    #[test]
    fn all_three_ends_end_a_line() {
        let expected = |lines: &[(&str, usize)]| -> Vec<_> {
            lines.iter().map(|(text, bytes)| ((*text).to_owned(), *bytes)).collect()
        };
        assert_eq!(
            lines(&b"a\nb\r\nc\r\r\n\nd"[..]),
            expected(&[("a", 2), ("b", 3), ("c", 2), ("", 2), ("", 1), ("d", 1)])
        );
        assert_eq!(lines(&b"x\r"[..]), expected(&[("x", 2)]));
        assert_eq!(lines(&b""[..]), []);
        let long = "y".repeat(400_000);
        assert_eq!(lines(format!("{long}\nz").as_bytes()), [(long, 400_001), ("z".to_owned(), 1)]);
    }

    #[test]
    fn a_long_line_of_an_untrusted_source_comes_in_pieces() {
        let source = [&[b'x'; 700_000][..], b"\nshort\n"].concat();
        let mut reader = LineReader::cutting(&source[..], 1000);
        let mut bytes = 0;
        while reader.advance().unwrap().is_some() {
            bytes += reader.text().len();
            assert!(reader.buffer.len() == BUFFER_BYTES, "{}", reader.buffer.len());
        }
        assert_eq!((bytes, reader.text()), (700_005, &b"short"[..]));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in "[ab\r\n]{0,40}") {
            let whole = lines(text.as_bytes());
            prop_assert_eq!(&lines(Slowly(text.as_bytes())), &whole);
            prop_assert_eq!(whole.iter().map(|(_, bytes)| bytes).sum::<usize>(), text.len());
        }
    }
}
