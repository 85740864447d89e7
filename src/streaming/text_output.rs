//! Output files of text (1.2.1 `TextOutputFormat`): key, separator, value, line feed; a key without value keeps its separator.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::fs::checksummed::ChecksummedFile;

use super::codec::{Codec, Encoder};

/// Gathered before it goes to codec and file, bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes one output file.
#[derive(Debug)]
pub struct TextOutput {
    out: BufWriter<Encoder<ChecksummedFile>>,
    separator: Vec<u8>,
}

// === impl TextOutput ===

impl TextOutput {
    /// Makes the file, also if nothing is ever written, and its checksums.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create(path: &Path, codec: Option<Codec>, separator: &[u8]) -> io::Result<Self> {
        let encoder = Encoder::new(codec, ChecksummedFile::create(path)?);
        Ok(Self { out: BufWriter::with_capacity(BUFFER_BYTES, encoder), separator: separator.to_owned() })
    }

    /// One record.
    ///
    /// # Errors
    /// Those of writing.
    #[inline]
    pub fn write(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.out.write_all(key)?;
        self.out.write_all(&self.separator)?;
        self.out.write_all(value)?;
        self.out.write_all(b"\n")
    }

    /// Flushes; returns the bytes written, checksums included, as Hadoop counts them.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> io::Result<u64> {
        let encoder = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        encoder.finish()?.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn records_become_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part-00000");
        let mut output = TextOutput::create(&path, None, b"=").unwrap();
        output.write(b"a", b"1").unwrap();
        output.write(b"", b"").unwrap();
        assert_eq!(output.finish().unwrap(), 6 + 12);
        assert_eq!(fs::read(&path).unwrap(), b"a=1\n=\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        let empty = TextOutput::create(&path, Some(Codec::Gzip), b"=").unwrap().finish().unwrap();
        assert!(empty > 8 + 4);
    }
}
