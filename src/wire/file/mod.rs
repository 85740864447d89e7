//! Files that job clients, JobTracker and TaskTrackers exchange.

mod job_info;
mod split;
mod split_meta;
mod token_storage;

pub use job_info::JobInfo;
pub use split::{FileSplit, SplitApi, SplitsWriter, read_file_split};
pub use split_meta::{SplitMeta, read_split_meta, write_split_meta};
pub(crate) use token_storage::job_token_password;
pub use token_storage::{JOB_TOKEN_ALIAS, read_token_storage, write_token_storage};

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
