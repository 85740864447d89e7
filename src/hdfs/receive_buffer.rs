//! Bytes received and not yet used.

use std::io::{self, Read};

/// Bytes received and not yet used. It grows with what is not used, so the caller that decodes it sets the limit.
#[derive(Debug, Default)]
pub(super) struct ReceiveBuffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

/// Room for one read at least.
const READ_BYTES: usize = 8 << 10;

impl ReceiveBuffer {
    /// A buffer that has room for so many bytes at once.
    pub(super) fn with_room(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes], start: 0, end: 0 }
    }

    /// What was received and not used.
    pub(super) fn unread(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Reads once; how many bytes came, 0 at the end of the stream.
    pub(super) fn fill(&mut self, source: &mut impl Read) -> io::Result<usize> {
        if self.bytes.len() - self.end < READ_BYTES {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.bytes.len() - self.end < READ_BYTES {
            self.bytes.resize((self.bytes.len() * 2).max(READ_BYTES), 0);
        }
        loop {
            match source.read(&mut self.bytes[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => {
                    let count = result?;
                    self.end += count;
                    return Ok(count);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_used_is_kept_in_order() {
        let sent: Vec<u8> = (0..100_000_u32).flat_map(|number| number.to_be_bytes()).collect();
        let mut source = &sent[..];
        let mut buffer = ReceiveBuffer::with_room(10_000);
        let mut received = Vec::new();
        while buffer.fill(&mut source).unwrap() > 0 {
            let used = buffer.unread().len() * 2 / 3;
            received.extend_from_slice(&buffer.unread()[..used]);
            buffer.consume(used);
        }
        received.extend_from_slice(buffer.unread());
        assert!(received == sent);
        assert!(buffer.bytes.len() < 100_000, "{} bytes", buffer.bytes.len());
    }
}
