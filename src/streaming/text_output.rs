//! Output files of text (1.2.1 `TextOutputFormat`): key, separator, value, line feed; a key without value keeps its separator.

use std::io::{self, BufWriter, Write};

use crate::fs::FileWriter;

use super::codec::{Codec, Encoder};

/// Gathered before it goes to codec and file, bytes.
const BUFFER_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(crate) struct TextOutput {
    out: BufWriter<Encoder<FileWriter>>,
    separator: Vec<u8>,
}

impl TextOutput {
    /// Writes to a file that is there now, also if nothing is ever written.
    #[must_use]
    pub(crate) fn new(file: FileWriter, codec: Option<Codec>, separator: &[u8]) -> Self {
        let encoder = Encoder::new(codec, file);
        Self { out: BufWriter::with_capacity(BUFFER_BYTES, encoder), separator: separator.to_owned() }
    }

    #[inline]
    pub(crate) fn write(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.out.write_all(key)?;
        self.out.write_all(&self.separator)?;
        self.out.write_all(value)?;
        self.out.write_all(b"\n")
    }

    /// Flushes; returns the bytes written, checksums included, as Hadoop counts them.
    pub(crate) fn finish(self) -> io::Result<u64> {
        let encoder = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        encoder.finish()?.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fs::{FileSystems, FileUri};

    #[test]
    fn records_become_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part-00000");
        let uri = FileUri::parse(path.to_str().unwrap()).unwrap();
        let create = || FileSystems::with_defaults("alice").of(&uri).create(&uri).unwrap();
        let mut output = TextOutput::new(create(), None, b"=");
        output.write(b"a", b"1").unwrap();
        output.write(b"", b"").unwrap();
        assert_eq!(output.finish().unwrap(), 6 + 12);
        assert_eq!(fs::read(&path).unwrap(), b"a=1\n=\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        let empty = TextOutput::new(create(), Some(Codec::Gzip), b"=").finish().unwrap();
        assert!(empty > 8 + 4);
    }
}
