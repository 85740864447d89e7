//! The file about a step that panicked.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use crate::fs::{FsError, ListBound, LocalFileSystem};

use super::source::StepSource;

/// One sender whose steps stopped the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StopRecord {
    #[serde(flatten)]
    pub(super) source: StepSource,
    /// How often.
    pub(super) times: u32,
    /// The first and last time, epoch ms.
    pub(super) first_ms: i64,
    pub(super) last_ms: i64,
    pub(super) program: String,
    /// What the panic said; the log has its place.
    pub(super) panic: String,
    /// The bytes of the last call, in Base64, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) frame: Option<String>,
    /// Its file; not stored.
    #[serde(skip)]
    pub(super) path: PathBuf,
}

/// Most records kept; beyond it the oldest goes.
pub(super) const MAX_RECORDS: usize = 64;
const MAX_FILE_BYTES: u64 = 128 << 10;
pub(super) const MAX_FRAME_BYTES: usize = 64 << 10;
const MAX_PANIC_BYTES: usize = 2 << 10;
const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

impl StopRecord {
    /// Counts one more panic of `source` in the file of `folder`, which is made if it is missing.
    pub(super) fn count(
        folder: &Path,
        source: &StepSource,
        program: &str,
        panic: &str,
        frame: &[u8],
        now_ms: i64,
    ) -> Result<Self, FsError> {
        let path = folder.join(source.file_name());
        let before = Self::read(&path).ok().filter(|before| before.source == *source && before.program == program);
        let record = Self {
            source: source.clone(),
            times: before.as_ref().map_or(0, |before| before.times).saturating_add(1),
            first_ms: before.map_or(now_ms, |before| before.first_ms),
            last_ms: now_ms,
            program: program.to_owned(),
            panic: panic[..panic.floor_char_boundary(MAX_PANIC_BYTES)].to_owned(),
            frame: (!frame.is_empty()).then(|| BASE64_STANDARD.encode(frame)),
            path,
        };
        let files = LocalFileSystem;
        files.make_dir_all(folder, FOLDER_MODE)?;
        let json = serde_json::to_vec_pretty(&record).unwrap_or_default();
        files.write_new(&record.path, &json, FILE_MODE)?;
        Ok(record)
    }

    /// The records in a folder, the newest first; with lines about files that are none. No folder: no record.
    pub(super) fn read_all(folder: &Path) -> (Vec<Self>, Vec<String>) {
        let (mut records, mut problems) = (Vec::new(), Vec::new());
        if !matches!(LocalFileSystem.kind_of(folder), Ok(Some(_))) {
            return (records, problems);
        }
        match LocalFileSystem.names_in(folder, ListBound::OWN) {
            Ok(names) => {
                // A file under a hidden name was not completed.
                let names = names.iter().filter(|name| !name.as_encoded_bytes().starts_with(b"."));
                for name in names {
                    match Self::read(&folder.join(name)) {
                        Ok(record) => records.push(record),
                        Err(problem) => problems.push(problem),
                    }
                }
            }
            Err(error) => problems.push(error.to_string()),
        }
        records.sort_by_key(|record: &StopRecord| std::cmp::Reverse(record.last_ms));
        (records, problems)
    }

    fn read(path: &Path) -> Result<Self, String> {
        let bytes = LocalFileSystem.read_limited(path, MAX_FILE_BYTES).map_err(|error| error.to_string())?;
        let record: StopRecord = serde_json::from_slice(&bytes)
            .map_err(|error| format!("{}: {error}; expected a file that the daemon wrote", path.display()))?;
        Ok(Self { path: path.to_owned(), ..record })
    }

    /// Removes its file; one that is gone already is no error.
    pub(super) fn remove_file(&self) {
        if let Err(error) = std::fs::remove_file(&self.path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!("cannot remove {}: {error}", self.path.display());
        }
    }
}
