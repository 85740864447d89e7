//! Reading a segment record by record, from memory or from a file, without a copy of any record.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::Crc;

use crate::wire::Reader;

use super::codec::{Codec, Decoder};
use super::segment_writer::{SegmentLengths, TRAILER_BYTES};

/// Read from a file at once, bytes.
const BUFFER_BYTES: usize = 64 << 10;
/// Two lengths and a text's length at most.
const LONGEST_HEAD: usize = 15;

/// Records one after the other, sorted or not; a record is valid until the next call of `advance`.
pub(crate) trait Records {
    /// Advances to the next record; `false` after the last.
    /// Errors: those of reading; bytes that are no records are [`ErrorKind::InvalidData`].
    fn advance(&mut self) -> io::Result<bool>;

    fn key(&self) -> &[u8];

    fn value(&self) -> &[u8];

    /// The record in its stored form.
    fn framed(&self) -> &[u8];
}

#[derive(Debug)]
pub(crate) struct SegmentReader<R: Read = File> {
    source: Option<Decoder<CrcReader<R>>>,
    buffer: Vec<u8>,
    /// Of `buffer`: what is read and not yet passed.
    at: usize,
    end: usize,
    record: FramedRecord,
    raw_bytes: u64,
    consumed_bytes: u64,
    is_finished: bool,
}

/// The current record, as offsets in the buffer.
#[derive(Clone, Copy, Debug, Default)]
struct FramedRecord {
    start: usize,
    key: usize,
    key_end: usize,
    value: usize,
    end: usize,
}

/// The bytes of a segment before its CRC, which is verified at their end.
#[derive(Debug)]
pub(crate) struct CrcReader<R> {
    source: R,
    left_bytes: u64,
    crc: Crc,
    is_verified: bool,
}

impl<R: Read> CrcReader<R> {
    /// A segment of `stored_bytes`, CRC included.
    pub(crate) fn new(source: R, stored_bytes: u64) -> Self {
        let left_bytes = stored_bytes.saturating_sub(TRAILER_BYTES);
        Self { source, left_bytes, crc: Crc::new(), is_verified: false }
    }

    pub(crate) fn source(&self) -> &R {
        &self.source
    }

    fn verify(&mut self) -> io::Result<()> {
        let mut trailer = [0; TRAILER_BYTES as usize];
        self.source.read_exact(&mut trailer)?;
        self.is_verified = true;
        if u32::from_be_bytes(trailer) == self.crc.sum() {
            return Ok(());
        }
        Err(io::Error::new(ErrorKind::InvalidData, "the checksum of a map output does not fit its bytes"))
    }
}

impl<R: Read> Read for CrcReader<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.left_bytes == 0 {
            if !self.is_verified {
                self.verify()?;
            }
            return Ok(0);
        }
        let most = room.len().min(usize::try_from(self.left_bytes).unwrap_or(usize::MAX));
        let read = self.source.read(&mut room[..most])?;
        if read == 0 && most > 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.crc.update(&room[..read]);
        self.left_bytes -= read as u64;
        Ok(read)
    }
}

impl SegmentReader<File> {
    /// The segment of a file that begins at `start_bytes`.
    pub(crate) fn open(
        path: &Path,
        start_bytes: u64,
        lengths: SegmentLengths,
        codec: Option<Codec>,
    ) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(start_bytes))?;
        Ok(Self::new(file, lengths, codec))
    }
}

impl<R: Read> SegmentReader<R> {
    /// A segment of these lengths, read from the position of `source`.
    pub(crate) fn new(source: R, lengths: SegmentLengths, codec: Option<Codec>) -> Self {
        let source = Decoder::new(codec, CrcReader::new(source, lengths.stored_bytes));
        Self { source: Some(source), raw_bytes: lengths.raw_bytes, ..Self::in_memory(Vec::new()) }
    }

    /// The records of a segment, end mark included, that are in memory, decompressed and verified.
    pub(crate) fn in_memory(raw: Vec<u8>) -> Self {
        Self {
            source: None,
            at: 0,
            end: raw.len(),
            record: FramedRecord::default(),
            raw_bytes: raw.len() as u64,
            consumed_bytes: 0,
            is_finished: false,
            buffer: raw,
        }
    }

    /// Whether it lay in memory from the start.
    #[inline]
    pub(crate) fn is_in_memory(&self) -> bool {
        self.source.is_none()
    }

    /// Its length, not compressed.
    pub(crate) fn raw_bytes(&self) -> u64 {
        self.raw_bytes
    }

    /// How much of that has been passed.
    pub(crate) fn consumed_bytes(&self) -> u64 {
        self.consumed_bytes
    }

    /// Reads until the buffer has `wanted` unread bytes or the source ends.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        if self.at > 0 {
            self.buffer.copy_within(self.at..self.end, 0);
            (self.at, self.end) = (0, self.end - self.at);
        }
        while self.end < wanted {
            // The buffer grows as bytes arrive: a false length cannot allocate more.
            if self.end == self.buffer.len() {
                self.buffer.resize(BUFFER_BYTES.max(self.buffer.len() * 2), 0);
            }
            match source.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Both lengths, and the bytes they take.
    fn lengths(&self) -> io::Result<(i32, i32, usize)> {
        let bytes = &self.buffer[self.at..self.end];
        if let [key, value, ..] = *bytes
            && key <= 127
            && value <= 127
        {
            return Ok((i32::from(key), i32::from(value), 2));
        }
        let mut reader = Reader::new(bytes);
        let mut read = || reader.vint("length of a record").map_err(io::Error::other);
        let lengths = (read()?, read()?);
        Ok((lengths.0, lengths.1, reader.position()))
    }

    /// Verifies that nothing but the CRC follows.
    fn close(&mut self) -> io::Result<()> {
        self.is_finished = true;
        if let Some(source) = &mut self.source {
            if source.read(&mut [0])? != 0 {
                return Err(ErrorKind::InvalidData.into());
            }
            // A codec may end before the bytes it reads from do.
            io::copy(source.source_mut(), &mut io::sink())?;
        }
        Ok(())
    }
}

fn bad(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

impl<R: Read> Records for SegmentReader<R> {
    #[inline]
    fn advance(&mut self) -> io::Result<bool> {
        if self.is_finished {
            return Ok(false);
        }
        if self.end - self.at < LONGEST_HEAD {
            self.fill(LONGEST_HEAD)?;
        }
        let (key_length, value_length, head) = self.lengths()?;
        if (key_length, value_length) == (-1, -1) {
            self.at += head;
            self.consumed_bytes += head as u64;
            if self.at != self.end {
                return Err(bad("bytes behind the end of a map output"));
            }
            self.close()?;
            return Ok(false);
        }
        let (Ok(key_length), Ok(value_length)) = (usize::try_from(key_length), usize::try_from(value_length)) else {
            return Err(bad("a record of a length below 0"));
        };
        let whole = head + key_length + value_length;
        if self.end - self.at < whole {
            self.fill(whole)?;
            if self.end - self.at < whole {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        let start = self.at;
        let (key_at, end) = (start + head, start + whole);
        let value_at = key_at + key_length;
        let text = |from: usize, to: usize| {
            let bytes = &self.buffer[from..to];
            match bytes.first() {
                Some(first) if *first <= 127 => Some((from + 1, usize::from(*first))),
                _ => {
                    let mut reader = Reader::new(bytes);
                    let length = reader.vint("length of a text").ok()?;
                    Some((from + reader.position(), usize::try_from(length).ok()?))
                }
            }
            .filter(|(at, length)| at + length == to)
            .map(|(at, _)| at)
        };
        let (Some(key), Some(value)) = (text(key_at, value_at), text(value_at, end)) else {
            return Err(bad("a record whose key or value is no text"));
        };
        self.record = FramedRecord { start, key, key_end: value_at, value, end };
        self.at = end;
        self.consumed_bytes += whole as u64;
        Ok(true)
    }

    #[inline]
    fn key(&self) -> &[u8] {
        &self.buffer[self.record.key..self.record.key_end]
    }

    #[inline]
    fn value(&self) -> &[u8] {
        &self.buffer[self.record.value..self.record.end]
    }

    #[inline]
    fn framed(&self) -> &[u8] {
        &self.buffer[self.record.start..self.record.end]
    }
}

#[cfg(test)]
#[path = "tests/segment_reader.rs"]
mod tests;
