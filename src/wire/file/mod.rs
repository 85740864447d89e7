//! Files that job clients, JobTracker and TaskTrackers exchange.

mod split;
mod system_directory;

pub use split::{FileSplit, SplitApi, SplitMeta, SplitsWriter, read_file_split, read_split_meta, write_split_meta};
pub(crate) use system_directory::job_token_password;
pub use system_directory::{JOB_TOKEN_ALIAS, JobInfo, read_token_storage, write_token_storage};

use super::{Reader, WireError, WireErrorKind};

/// Reads the magic of a kind of file.
fn read_magic(reader: &mut Reader<'_>, magic: &'static str, what: &'static str) -> Result<(), WireError> {
    let start = reader.clone();
    match reader.take(magic.len(), what) {
        Ok(found) if found == magic.as_bytes() => Ok(()),
        _ => Err(start.error(WireErrorKind::BadMagic(magic), what)),
    }
}

/// Fails unless the version just read is supported.
fn check_version(reader: &Reader<'_>, found: i64, expected: i64, what: &'static str) -> Result<(), WireError> {
    if found == expected { Ok(()) } else { Err(reader.error(WireErrorKind::BadVersion { found, expected }, what)) }
}
