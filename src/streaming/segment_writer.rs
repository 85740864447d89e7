//! Writing a segment: the records of one partition in the form that maps and reduces exchange (1.2.1 `IFile`). A record is `vint key
//! length, vint value length, key, value`, lengths with the prefix that key and value have as `Text`; then two `vint -1`; then the CRC-32
//! of all bytes so far. A codec compresses all but the CRC, which covers the compressed bytes.

use std::io::{self, BufWriter, Write};

use flate2::Crc;

use crate::wire::Writer;

use super::codec::{Codec, Encoder};

/// Two lengths of -1.
pub(crate) const END_MARK: [u8; 2] = [0xff, 0xff];
/// Of the CRC behind a segment.
pub(crate) const TRAILER_BYTES: u64 = 4;
/// Gathered before they go to codec and file, bytes.
const BUFFER_BYTES: usize = 128 << 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SegmentLengths {
    /// Records and end mark, not compressed, bytes.
    pub(crate) raw_bytes: u64,
    /// In the file, CRC included, bytes.
    pub(crate) stored_bytes: u64,
}

#[derive(Debug)]
pub(crate) struct SegmentWriter<W: Write> {
    out: BufWriter<Encoder<CrcWriter<W>>>,
    frame: Vec<u8>,
    raw_bytes: u64,
    records: u64,
}

/// Counts the bytes that pass and computes their CRC.
#[derive(Debug)]
struct CrcWriter<W> {
    out: W,
    crc: Crc,
    bytes: u64,
}

impl<W: Write> Write for CrcWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.crc.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> SegmentWriter<W> {
    /// A segment that starts at the position of `out`.
    pub(crate) fn new(out: W, codec: Option<Codec>) -> Self {
        let checksummed = CrcWriter { out, crc: Crc::new(), bytes: 0 };
        let out = BufWriter::with_capacity(BUFFER_BYTES, Encoder::new(codec, checksummed));
        Self { out, frame: Vec::new(), raw_bytes: 0, records: 0 }
    }

    /// Appends a record that has its form already.
    #[inline]
    pub(crate) fn append_framed(&mut self, record: &[u8]) -> io::Result<()> {
        self.raw_bytes += record.len() as u64;
        self.records += 1;
        self.out.write_all(record)
    }

    pub(crate) fn append(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.frame.clear();
        frame_record(&mut self.frame, key, value);
        let record = std::mem::take(&mut self.frame);
        let appended = self.append_framed(&record);
        self.frame = record;
        appended
    }

    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Writes end mark and CRC; returns the underlying writer.
    pub(crate) fn finish(mut self) -> io::Result<(W, SegmentLengths)> {
        self.out.write_all(&END_MARK)?;
        let encoder = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let CrcWriter { mut out, crc, bytes } = encoder.finish()?;
        out.write_all(&crc.sum().to_be_bytes())?;
        let raw_bytes = self.raw_bytes + END_MARK.len() as u64;
        Ok((out, SegmentLengths { raw_bytes, stored_bytes: bytes + TRAILER_BYTES }))
    }
}

#[inline]
pub(crate) fn vint_bytes(value: usize) -> usize {
    if value <= 127 { 1 } else { 1 + 8 - (value as u64).leading_zeros() as usize / 8 }
}

/// Bytes of a text with its length before it.
#[inline]
pub(crate) fn text_bytes(text: &[u8]) -> usize {
    vint_bytes(text.len()) + text.len()
}

/// Appends a record; returns the offset of the key's text in it.
#[inline]
pub(crate) fn frame_record(out: &mut Vec<u8>, key: &[u8], value: &[u8]) -> usize {
    if key.len() < 127 && value.len() < 127 {
        // All lengths take one byte.
        out.reserve(key.len() + value.len() + 4);
        out.extend_from_slice(&[key.len() as u8 + 1, value.len() as u8 + 1, key.len() as u8]);
        out.extend_from_slice(key);
        out.push(value.len() as u8);
        out.extend_from_slice(value);
        return 3;
    }
    let start = out.len();
    let mut writer = Writer::new(out);
    writer.vint_count(text_bytes(key));
    writer.vint_count(text_bytes(value));
    writer.vint_count(key.len());
    writer.bytes(key);
    let key_ends = out.len();
    Writer::new(out).vint_bytes(value);
    key_ends - key.len() - start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_segment_is_six_bytes() {
        let (bytes, lengths) = SegmentWriter::new(Vec::new(), None).finish().unwrap();
        assert_eq!(lengths, SegmentLengths { raw_bytes: 2, stored_bytes: 6 });
        assert_eq!(bytes[..2], END_MARK);
    }

    #[test]
    fn a_record_has_hadoops_form() {
        let mut record = Vec::new();
        assert_eq!(frame_record(&mut record, b"the", b"1"), 3);
        assert_eq!(record, [4, 2, 3, b't', b'h', b'e', 1, b'1']);
        for length in [0, 127, 128, 255, 256, 65535, 65536, 1 << 24] {
            let mut encoded = Vec::new();
            Writer::new(&mut encoded).vint_count(length);
            assert_eq!(vint_bytes(length), encoded.len(), "{length}");
        }
    }
}
