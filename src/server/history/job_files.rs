//! The files of one finished job, in the done folder and the copy of its user: the racks that they name, how they are written, what they
//! say for pages. Blocking: runs on the pool.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Arc;

use crate::config::settings::HistorySettings;
use crate::config::{Configuration, Settings};
use crate::fs::{Expected, FileSystems, FileUri};
use crate::mapreduce::FinishedJob;
use crate::model::JobId;
use crate::server::rack_resolver::RackResolver;
use crate::store::{FaultPoint, FinishedJobReader, StoredHistory};

use super::files::{CopyGate, HistoryFileError, HistoryFiles};
use super::lines::JobValues;
use super::lines::{HistoryFacts, host_of_tracker, write_history};
use super::names::{conf_file_name, done_folders, history_file_name};

/// Folders of a user's copy, below the output folder or the one that the job names.
const USER_FOLDERS: [&str; 2] = ["_logs", "history"];

/// Where files lie, and what they take from the configuration.
#[derive(Debug)]
pub(super) struct HistoryPlaces {
    pub(super) settings: HistorySettings,
    /// Longest job.xml.
    pub(super) max_conf_bytes: u64,
    pub(super) files: FileSystems,
    configuration: Arc<Configuration>,
    are_acls_enabled: bool,
    /// The JobTracker's host, in names of folders.
    host: String,
}

/// Where a user's copy lies.
#[derive(Debug)]
pub(super) struct CopyFolder {
    /// The output of the job, or the folder that it names for this.
    above: FileUri,
    /// Whether it is made if it is missing: an output never is.
    is_made: bool,
}

pub(super) struct JobHistoryFiles<'a> {
    places: &'a HistoryPlaces,
    facts: HistoryFacts<'a>,
}

impl HistoryPlaces {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.history.clone(),
            max_conf_bytes: settings.job_limits.job_conf_bytes,
            files: settings.files.clone(),
            configuration: settings.configuration.clone(),
            are_acls_enabled: settings.queues.acls_enabled,
            host: settings.rpc_address.host.clone(),
        }
    }

    /// What a job.xml says beside the facts.
    fn values(&self, job: JobId, user: &str, job_xml: Option<&[u8]>) -> JobValues {
        let values = job_xml.map(|job_xml| JobValues::read(job_xml, &self.configuration, user));
        values.unwrap_or_else(|| Ok(JobValues::default())).unwrap_or_else(|error| {
            // It was read when the job was submitted; the cluster's values may have changed since.
            tracing::warn!("the history of {job} lacks values of its job.xml: {error}");
            JobValues::default()
        })
    }

    /// Where the user's copy lies; none: the job wants none.
    pub(super) fn copy_folder(
        &self,
        job: &FinishedJob,
        job_xml: Option<&[u8]>,
    ) -> Result<Option<CopyFolder>, HistoryFileError> {
        let values = self.values(job.id, &job.spec.user, job_xml);
        let Some(above) = values.user_folder(job.spec.output.as_deref()) else { return Ok(None) };
        let above = self.configuration.resolve(&above)?;
        match above.namenode() {
            Some(namenode) if !self.settings.copy_namenodes.contains(namenode) => {
                Err(HistoryFileError::UnknownNameNode(namenode.to_string()))
            }
            _ => Ok(Some(CopyFolder { above, is_made: values.user_location.is_some() })),
        }
    }

    /// The files of a user in which the copy is written; none: the job has left no output to which it would belong.
    pub(super) fn files_of_copy(
        &self,
        user: &str,
        folder: &CopyFolder,
        gate: Arc<CopyGate>,
    ) -> Result<Option<HistoryFiles>, HistoryFileError> {
        let Some(files) = HistoryFiles::of_user(&self.files, user, &folder.above, gate)? else { return Ok(None) };
        let is_wanted = folder.is_made || files.has_folder(&folder.above)?;
        Ok(is_wanted.then_some(files))
    }
}

impl<'a> JobHistoryFiles<'a> {
    pub(super) fn new(
        places: &'a HistoryPlaces,
        stored: &'a StoredHistory,
        racks: &'a BTreeMap<String, String>,
    ) -> Self {
        let accepted = &stored.job.accepted;
        let values = places.values(accepted.id, &accepted.spec.user, stored.job_xml.as_deref());
        let facts = HistoryFacts { stored, values, racks, are_acls_enabled: places.are_acls_enabled };
        Self { places, facts }
    }

    /// The lines of the history file.
    pub(super) fn lines(&self) -> io::Result<Vec<u8>> {
        let mut lines = Vec::new();
        write_history(&self.facts, &mut lines)?;
        Ok(lines)
    }

    /// URI of the history file in the done folder.
    fn path(&self) -> String {
        format!("{}/{}", self.done_path().join("/"), self.file_name())
    }

    /// Writes the files in the done folder; returns the URI of the history file.
    pub(super) fn write_main(&self) -> Result<String, HistoryFileError> {
        let HistorySettings { folder: history, done, .. } = &self.places.settings;
        let files = HistoryFiles::done(self.places.files.clone());
        files.make_root(history)?;
        files.make_root(done)?;
        let folder = self.done_path().iter().skip(1).try_fold(done.clone(), |above, name| above.join(name))?;
        files.make_folder(&folder)?;
        FaultPoint::HistoryFolderMade.pass();
        // As in 1.2.1, of this file alone: neither of its job.xml nor of the user's copies.
        self.write_history(&files, &folder, Some(self.places.settings.block_bytes))?;
        FaultPoint::HistoryFileWritten.pass();
        self.write_conf(&files, &folder)?;
        FaultPoint::HistoryConfWritten.pass();
        Ok(self.path())
    }

    /// Writes the copy of the user.
    pub(super) fn write_copy(&self, files: &HistoryFiles, folder: &CopyFolder) -> Result<(), HistoryFileError> {
        let folder = USER_FOLDERS.iter().try_fold(folder.above.clone(), |above, name| above.join(name))?;
        files.make_folder(&folder)?;
        self.write_history(files, &folder, None)?;
        FaultPoint::HistoryCopied.pass();
        self.write_conf(files, &folder)
    }

    /// The done folder as a URI, then the folders below it.
    fn done_path(&self) -> Vec<String> {
        let job = self.facts.stored.job.accepted.id;
        let start_ms = self.facts.stored.run_start_ms.unwrap_or(0);
        let mut path = vec![self.places.settings.done.to_string()];
        path.extend(done_folders(&self.places.host, start_ms, job, self.facts.stored.finish_ms));
        path
    }

    fn file_name(&self) -> String {
        let accepted = &self.facts.stored.job.accepted;
        history_file_name(accepted.id, accepted.submit_ms, &accepted.spec.user, &accepted.spec.name)
    }

    fn write_history(
        &self,
        files: &HistoryFiles,
        folder: &FileUri,
        block_bytes: Option<u64>,
    ) -> Result<(), HistoryFileError> {
        files.write(folder, &self.file_name(), block_bytes, &mut |file| {
            write_history(&self.facts, &mut TornWriter { file, has_begun: false })
        })
    }

    fn write_conf(&self, files: &HistoryFiles, folder: &FileUri) -> Result<(), HistoryFileError> {
        let Some(job_xml) = &self.facts.stored.job_xml else { return Ok(()) };
        files.write(folder, &conf_file_name(self.facts.stored.job.accepted.id), None, &mut |file| {
            file.write_all(job_xml)
        })
    }
}

/// Passes a fault point when a part of the file is on its way to the disk.
struct TornWriter<'a> {
    file: &'a mut dyn Write,
    has_begun: bool,
}

impl Write for TornWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        if !std::mem::replace(&mut self.has_begun, true) {
            self.file.flush()?;
            FaultPoint::HistoryTorn.pass();
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[derive(Clone)]
pub(super) struct HistoryRacks(pub(super) Arc<RackResolver>);

impl HistoryRacks {
    /// The rack of each host of these trackers.
    pub(super) async fn of(&self, trackers: impl Iterator<Item = &str>) -> BTreeMap<String, String> {
        let hosts: BTreeSet<&str> = trackers.map(host_of_tracker).collect();
        let mut racks = BTreeMap::new();
        for host in hosts {
            racks.insert(host.to_owned(), self.0.rack_of_tracker(host).await);
        }
        racks
    }
}

/// Longest history that a page reads, bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Reads the files of jobs in the done folder, or what they will be made of.
#[derive(Clone, Debug)]
pub(crate) struct HistoryContent {
    pub(super) places: Arc<HistoryPlaces>,
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
            return Ok(Some(JobHistoryFiles::new(&self.places, &stored, &racks).lines()?));
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
