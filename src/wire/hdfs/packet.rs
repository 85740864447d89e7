//! Packets of block data: the same in both directions.

use flate2::Crc;

use crate::wire::limits::DATA_PACKET_BYTES;
use crate::wire::{Reader, WireError, WireErrorKind, Writer};

use super::Checksums;

/// The number of a packet that says only that the writer is there; it carries no data.
pub const HEARTBEAT_SEQUENCE: i64 = -1;

/// Bytes between the length of a packet and the length of its data: offset, number, last flag.
const HEADER_BYTES: usize = 17;

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Where its data begins in the block, bytes.
    pub offset_bytes: i64,
    /// Its number, from 0; [`HEARTBEAT_SEQUENCE`].
    pub sequence: i64,
    /// Whether no packet follows.
    pub is_last: bool,
    /// Checksums of the data, as sent.
    pub checksums: &'a [u8],
    /// Data; chunks, of which only the last may be short.
    pub data: &'a [u8],
}

/// What stands in a stream of block data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFrame<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// The end, behind the last packet.
    End,
}

/// The first packet or the end in `buffer`, and its size there; `None` while bytes are missing.
///
/// # Errors
/// Lengths that do not fit each other, or are longer than [`DATA_PACKET_BYTES`].
pub fn split_data_frame(buffer: &[u8], checksums: Checksums) -> Result<Option<(DataFrame<'_>, usize)>, WireError> {
    const WHAT: &str = "length of a packet";
    let mut reader = Reader::new(buffer);
    let Ok(length) = reader.clone().i32(WHAT) else { return Ok(None) };
    if length == 0 {
        return Ok(Some((DataFrame::End, 4)));
    }
    let length = reader.length(length, WHAT)?;
    reader.check_limit(length, DATA_PACKET_BYTES, WHAT)?;
    reader.take(4, WHAT)?;
    if reader.left() < HEADER_BYTES + 4 {
        return Ok(None);
    }
    let offset_bytes = reader.i64("offset of a packet")?;
    let sequence = reader.i64("number of a packet")?;
    let is_last = reader.bool("last flag of a packet")?;
    let data_bytes = reader.i32("length of a packet's data")?;
    let data_bytes = reader.length(data_bytes, "length of a packet's data")?;
    reader.check_limit(data_bytes, DATA_PACKET_BYTES, "length of a packet's data")?;
    let checksum_bytes = checksums.bytes_of(data_bytes);
    let expected = 4 + checksum_bytes + data_bytes;
    if length != expected {
        let kind = WireErrorKind::WrongNumber { found: length as i64, expected: expected as i64 };
        return Err(reader.error(kind, WHAT));
    }
    if reader.left() < checksum_bytes + data_bytes {
        return Ok(None);
    }
    let checksums = reader.take(checksum_bytes, "checksums")?;
    let data = reader.take(data_bytes, "data of a packet")?;
    Ok(Some((DataFrame::Packet(Packet { offset_bytes, sequence, is_last, checksums, data }), reader.position())))
}

/// The first chunk of data whose checksum is wrong, counted from 0.
pub fn first_bad_chunk(packet: &Packet<'_>, checksums: Checksums) -> Option<usize> {
    if !checksums.are_sent {
        return None;
    }
    let sent = packet.checksums.chunks_exact(4);
    let chunks = packet.data.chunks(checksums.chunk_bytes);
    chunks.zip(sent).position(|(chunk, sent)| crc32(chunk).to_be_bytes() != *sent)
}

fn crc32(chunk: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(chunk);
    crc.sum()
}

/// Appends a packet with the checksums of its data.
pub fn encode_packet(
    out: &mut Vec<u8>,
    offset_bytes: i64,
    sequence: i64,
    is_last: bool,
    data: &[u8],
    checksums: Checksums,
) {
    let checksum_bytes = checksums.bytes_of(data.len());
    out.reserve(4 + HEADER_BYTES + 4 + checksum_bytes + data.len());
    let mut writer = Writer::new(out);
    writer.count(4 + checksum_bytes + data.len());
    writer.i64(offset_bytes);
    writer.i64(sequence);
    writer.bool(is_last);
    writer.count(data.len());
    if checksums.are_sent {
        for chunk in data.chunks(checksums.chunk_bytes) {
            writer.bytes(&crc32(chunk).to_be_bytes());
        }
    }
    writer.bytes(data);
}

/// Appends the end, which follows the last packet.
pub fn encode_end(out: &mut Vec<u8>) {
    out.extend_from_slice(&0_i32.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode_packet(&mut out, 512, 3, true, data, Checksums::crc32(4));
        out
    }

    #[test]
    fn packets_come_whole_or_not_yet_and_wrong_chunks_are_found() {
        let mut bytes = packet(b"abcdefghij");
        for end in 0..bytes.len() {
            assert_eq!(split_data_frame(&bytes[..end], Checksums::crc32(4)), Ok(None), "{end} bytes");
        }
        let bad_chunk = |bytes: &[u8]| {
            let Ok(Some((DataFrame::Packet(packet), used))) = split_data_frame(bytes, Checksums::crc32(4)) else {
                panic!("no packet");
            };
            assert_eq!((packet.offset_bytes, packet.sequence, packet.is_last, used), (512, 3, true, bytes.len()));
            first_bad_chunk(&packet, Checksums::crc32(4))
        };
        assert_eq!(bad_chunk(&bytes), None);
        *bytes.last_mut().unwrap() ^= 1;
        assert_eq!(bad_chunk(&bytes), Some(2));
        bytes[25] ^= 1;
        assert_eq!(bad_chunk(&bytes), Some(0));
        assert_eq!(split_data_frame(&[0; 4], Checksums::crc32(4)), Ok(Some((DataFrame::End, 4))));
    }

    #[test]
    fn hostile_lengths_are_refused_before_their_bytes_come() {
        let refused = |bytes: &[u8]| split_data_frame(bytes, Checksums::crc32(512)).unwrap_err().to_string();
        assert_eq!(refused(&[0xff; 4]), "length of a packet at byte 0: a length of -1 is below zero");
        assert_eq!(
            refused(&[0x7f, 0xff, 0xff, 0xff]),
            "length of a packet at byte 0: 2147483647 is more than the limit of 16777216"
        );
        let mut bytes = packet(b"abc");
        bytes[3] += 1;
        assert_eq!(refused(&bytes[..25]), "length of a packet at byte 25: 12 is not 11");
        bytes[21] = 0x80;
        assert!(refused(&bytes).contains("below zero"));
    }
}
