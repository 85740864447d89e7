//! A file with its `.NAME.crc` beside it: a CRC-32 for each 512 bytes (1.2.1 `ChecksumFileSystem`), which Java readers verify.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Crc;

/// What a file of checksums begins with: its kind, and the bytes that each checksum is of.
const HEAD: [u8; 8] = *b"crc\0\0\0\x02\0";
/// That many bytes have a checksum.
const CHUNK_BYTES: u64 = 512;

#[derive(Debug)]
pub struct ChecksummedFile {
    file: File,
    checksums: BufWriter<File>,
    /// Of the chunk that is not full yet.
    crc: Crc,
    chunks: u64,
    written_bytes: u64,
}

/// Where the checksums of a file lie; `None` for what has no file name.
pub(crate) fn checksums_path(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy();
    Some(path.with_file_name(format!(".{name}.crc")))
}

/// Whose checksums lie under a name, if it is that of checksums.
pub(crate) fn checksummed_name(name: &str) -> Option<&str> {
    name.strip_prefix('.')?.strip_suffix(".crc").filter(|name| !name.is_empty())
}

impl ChecksummedFile {
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let checksums = checksums_path(path).ok_or(io::ErrorKind::InvalidInput)?;
        let mut checksums = BufWriter::new(File::create(checksums)?);
        checksums.write_all(&HEAD)?;
        Ok(Self { file: File::create(path)?, checksums, crc: Crc::new(), chunks: 0, written_bytes: 0 })
    }

    fn end_chunk(&mut self) -> io::Result<()> {
        self.checksums.write_all(&self.crc.sum().to_be_bytes())?;
        self.crc.reset();
        self.chunks += 1;
        Ok(())
    }

    /// Writes what is held back; gives back the length of both files.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        if !self.written_bytes.is_multiple_of(CHUNK_BYTES) {
            self.end_chunk()?;
        }
        self.checksums.flush()?;
        Ok(self.written_bytes + HEAD.len() as u64 + self.chunks * 4)
    }
}

impl Write for ChecksummedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        let mut rest = &bytes[..written];
        while !rest.is_empty() {
            let room = CHUNK_BYTES - self.written_bytes % CHUNK_BYTES;
            let (part, after) = rest.split_at(rest.len().min(usize::try_from(room).unwrap_or(usize::MAX)));
            self.crc.update(part);
            self.written_bytes += part.len() as u64;
            if part.len() as u64 == room {
                self.end_chunk()?;
            }
            rest = after;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn each_512_bytes_have_a_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part-00000");
        fs::write(folder.path().join(".part-00000.crc"), "old").unwrap();
        // `123456789` is what the checksum's definition gives 0xCBF43926 for.
        for (length, expected) in [(0, "637263000000 0200"), (9, "637263000000 0200 cbf43926")] {
            let mut file = ChecksummedFile::create(&path).unwrap();
            file.write_all(&b"123456789"[..length]).unwrap();
            let sums = fs::metadata(folder.path().join(".part-00000.crc"));
            let told_bytes = file.finish().unwrap();
            let sums = sums.and_then(|_| fs::read(folder.path().join(".part-00000.crc"))).unwrap();
            let hex: String = sums.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected.replace(' ', ""));
            assert_eq!(told_bytes, (length + sums.len()) as u64);
        }
    }

    #[test]
    fn pieces_do_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..1536_u32).map(|number| (number % 251) as u8).collect();
        let mut sums = Vec::new();
        for piece in [1, 7, 512, 600, 1536] {
            let path = folder.path().join("a");
            let mut file = ChecksummedFile::create(&path).unwrap();
            bytes.chunks(piece).for_each(|part| file.write_all(part).unwrap());
            assert_eq!(file.finish().unwrap(), 1536 + 8 + 12);
            assert_eq!(fs::read(&path).unwrap(), bytes);
            sums.push(fs::read(checksums_path(&path).unwrap()).unwrap());
        }
        sums.dedup();
        assert_eq!((sums.len(), sums[0].len()), (1, 20));
    }
}
