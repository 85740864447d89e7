//! Call frames on a connection that is open (IPC version 4).

use super::Writer;

/// What a client sends on an open connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A keep-alive of a client that waits; no answer.
    Ping,
    /// The bytes of a call, not yet decoded, without the length.
    Bytes(&'a [u8]),
}

/// An invalid length: close the connection without an answer, as 1.2.1 `Server` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Below zero, but not the -1 of a ping.
    #[error("a frame length of {0} is below zero")]
    NegativeLength(i32),
    /// Above the limit.
    #[error("a frame of {length_bytes} bytes is longer than the limit of {limit_bytes}")]
    TooLong {
        /// The announced length.
        length_bytes: usize,
        /// The limit.
        limit_bytes: usize,
    },
}

/// Sent in place of a length.
const PING: i32 = -1;

/// Bytes of the length before a frame.
pub const LENGTH_BYTES: usize = 4;

/// Appends a frame: the length of its content, and the content.
pub(super) fn encode_frame(out: &mut Vec<u8>, encode: impl FnOnce(&mut Writer<'_>)) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH_BYTES]);
    encode(&mut Writer::new(out));
    let length = (out.len() - start - LENGTH_BYTES) as i32;
    out[start..start + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
}

/// The first frame in `buffer` and its size there, or `None` while it is incomplete. A length beyond `limit_bytes` is refused as soon as it
/// is read, before memory is reserved for it.
pub fn split_frame(buffer: &[u8], limit_bytes: usize) -> Result<Option<(Frame<'_>, usize)>, FrameError> {
    let Some((length, rest)) = buffer.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let length = i32::from_be_bytes(*length);
    if length == PING {
        return Ok(Some((Frame::Ping, LENGTH_BYTES)));
    }
    let length_bytes = usize::try_from(length).map_err(|_| FrameError::NegativeLength(length))?;
    if length_bytes > limit_bytes {
        return Err(FrameError::TooLong { length_bytes, limit_bytes });
    }
    Ok(rest.get(..length_bytes).map(|bytes| (Frame::Bytes(bytes), LENGTH_BYTES + length_bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_whole_or_not_yet() {
        let bytes = [0, 0, 0, 3, 7, 8, 9, 0xff, 0xff, 0xff, 0xff, 0];
        for end in 0..7 {
            assert_eq!(split_frame(&bytes[..end], 100), Ok(None), "{end} bytes");
        }
        assert_eq!(split_frame(&bytes, 3), Ok(Some((Frame::Bytes(&[7, 8, 9]), 7))));
        assert_eq!(split_frame(&bytes[7..], 3), Ok(Some((Frame::Ping, 4))));
        assert_eq!(split_frame(&[0; 4], 0), Ok(Some((Frame::Bytes(&[]), 4))));
    }

    #[test]
    fn bad_lengths_are_refused_before_their_bytes_come() {
        assert_eq!(split_frame(&[0xff, 0xff, 0xff, 0xfb], 100), Err(FrameError::NegativeLength(-5)));
        let error = split_frame(&[0, 0, 0, 101], 100).unwrap_err();
        assert_eq!(error.to_string(), "a frame of 101 bytes is longer than the limit of 100");
    }
}
