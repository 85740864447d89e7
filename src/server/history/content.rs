//! What history files say, for pages: the job is known by its id, and its files by what the database says of them. Blocking.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fs::{Expected, FileUri};
use crate::model::JobId;
use crate::store::FinishedJobReader;

use super::job_files::{JobFiles, Places};
use super::names::conf_file_name;

/// Longest history that a page reads, bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Reads the files of jobs in the done folder, or what they will be made of.
#[derive(Clone, Debug)]
pub(crate) struct HistoryContent {
    pub(super) places: Arc<Places>,
}

/// Why there is nothing to read: of the database, or of a file. It becomes a line of the log.
pub(in crate::server) type HistoryUnreadable = Box<dyn std::error::Error + Send + Sync>;

impl HistoryContent {
    /// The lines of a job's history; none: it is not over, or the database has lost it.
    pub(in crate::server) fn lines(
        &self,
        reader: &FinishedJobReader,
        id: JobId,
    ) -> Result<Option<Vec<u8>>, HistoryUnreadable> {
        if let Some(stored) = reader.history(id, self.places.max_conf_bytes)? {
            // The racks of its hosts are asked for when the file is written.
            let racks = BTreeMap::new();
            return Ok(Some(JobFiles::new(&self.places, &stored, &racks).lines()?));
        }
        let path = reader.past_place(id)?.and_then(|place| place.history_path);
        path.map(|path| self.read(&path, MOST_BYTES)).transpose()
    }

    /// The job.xml of a job; none: the database has lost the job, or it had none.
    pub(in crate::server) fn job_xml(
        &self,
        reader: &FinishedJobReader,
        id: JobId,
    ) -> Result<Option<Vec<u8>>, HistoryUnreadable> {
        if let Some(kept) = reader.job_xml(id, self.places.max_conf_bytes)? {
            return Ok(Some(kept));
        }
        let path = reader.past_place(id)?.and_then(|place| place.history_path);
        let Some((folder, _)) = path.as_deref().and_then(|path| path.rsplit_once('/')) else { return Ok(None) };
        let conf = format!("{folder}/{}", conf_file_name(id));
        self.read(&conf, self.places.max_conf_bytes).map(Some)
    }

    /// A file that the database names, below the done folder.
    fn read(&self, path: &str, max_bytes: u64) -> Result<Vec<u8>, HistoryUnreadable> {
        let path = FileUri::parse(path)?;
        let expected = Expected::file_of_any_owner().at_most(max_bytes);
        let opened = self.places.files.of(&path).open_below(&self.places.settings.done, &path, &expected);
        Ok(opened.and_then(|file| file.read_limited(max_bytes))?)
    }
}
