//! SHA-256, length and lines of a file, read once.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::fs::{Expected, open_behind_links};
use crate::model::hex;

/// Read at once, bytes.
const PIECE_BYTES: usize = 128 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileDigest {
    /// SHA-256, 64 lower-case hexadecimal digits.
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
    /// Its lines; the last one need not end in a line break.
    pub(crate) lines: u64,
}

impl FileDigest {
    /// Reads a regular file, whose path may lead through links. Errors: no regular file, or the system's error.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let mut file = open_file(path)?;
        let (mut digest, mut bytes, mut lines, mut last) = (Sha256::new(), 0, 0, b'\n');
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match file.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => {
                    let piece = &piece[..read];
                    digest.update(piece);
                    bytes += read as u64;
                    lines += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
                    last = piece.last().copied().unwrap_or(last);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let sha256 = hex(&digest.finalize());
        Ok(Self { sha256, bytes, lines: lines + u64::from(last != b'\n') })
    }
}

/// Opens a regular file, whose path may lead through links. Errors: no regular file, or the system's error.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    Ok(open_behind_links(path, &Expected::file_of_any_owner())?.file)
}

/// SHA-256 of a text, 64 lower-case hexadecimal digits.
pub(crate) fn sha256_of(text: &str) -> String {
    hex(&Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_line_counts_without_its_break() {
        let folder = tempfile::tempdir().unwrap();
        let lines = |text: &str| {
            let path = folder.path().join("file");
            std::fs::write(&path, text).unwrap();
            let digest = FileDigest::of(&path).unwrap();
            assert_eq!((digest.bytes, digest.sha256), (text.len() as u64, sha256_of(text)));
            digest.lines
        };
        assert_eq!([lines(""), lines("a"), lines("a\n"), lines("a\n\nb"), lines("\n")], [0, 1, 1, 3, 1]);
        assert!(FileDigest::of(folder.path()).is_err(), "a folder is no file");
        assert_eq!(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
