//! Reads files of resources piece by piece, and digests them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::model::hex;

use super::fault::ResourceFault;

/// Copied at once, bytes.
const PIECE_BYTES: usize = 128 << 10;

/// Whether the container is to end, which ends the copying.
pub(crate) type StopCheck<'a> = dyn Fn() -> bool + 'a;

/// Reads a file to its end; returns its SHA-256 in hex, and its length.
pub(crate) fn digest_of(
    file: &mut File,
    path: &Path,
    should_stop: &StopCheck<'_>,
    mut take: impl FnMut(&[u8]) -> Result<(), ResourceFault>,
) -> Result<(String, u64), ResourceFault> {
    let (mut digest, mut bytes) = (Sha256::new(), 0);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        if should_stop() {
            return Err(ResourceFault::Stopped);
        }
        let read = match file.read(&mut piece) {
            Ok(0) => return Ok((hex(digest.finalize().as_slice()), bytes)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(|source| ResourceFault::Copy { action: "read", path: path.to_owned(), source })?,
        };
        digest.update(&piece[..read]);
        bytes += read as u64;
        take(&piece[..read])?;
    }
}
