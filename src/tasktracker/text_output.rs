//! Output files of text (1.2.1 `TextOutputFormat`): key, separator, value, line feed; a key without value keeps its separator.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::codec::{Codec, Encoder};

/// Gathered before it goes to codec and file, bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes one output file.
#[derive(Debug)]
pub struct TextOutput {
    out: BufWriter<Encoder<File>>,
    separator: Vec<u8>,
}

// === impl TextOutput ===

impl TextOutput {
    /// Makes the file, also if nothing is ever written. A checksum that Java left under this name is removed.
    ///
    /// # Errors
    /// Those of the system.
    pub fn create(path: &Path, codec: Option<Codec>, separator: &[u8]) -> io::Result<Self> {
        if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
            match fs::remove_file(path.with_file_name(format!(".{name}.crc"))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        let encoder = Encoder::new(codec, File::create(path)?);
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

    /// Writes what is held back; gives back the length of the file.
    ///
    /// # Errors
    /// Those of writing.
    pub fn finish(self) -> io::Result<u64> {
        let encoder = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(encoder.finish()?.metadata()?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_become_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part-00000");
        fs::write(folder.path().join(".part-00000.crc"), "old").unwrap();
        let mut output = TextOutput::create(&path, None, b"=").unwrap();
        output.write(b"a", b"1").unwrap();
        output.write(b"", b"").unwrap();
        assert_eq!(output.finish().unwrap(), 6);
        assert_eq!(fs::read(&path).unwrap(), b"a=1\n=\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let empty = TextOutput::create(&path, Some(Codec::Gzip), b"=").unwrap().finish().unwrap();
        assert!(empty > 0);
    }
}
