//! The files of a job, as a stock client leaves them in its staging directory.

use std::fs;
use std::io::Write;

use anyhow::Context;

use crate::steady_tracker::host_of;

use jobtracker::fs::{FileSystems, FileUri};
use jobtracker::market::Key;
use jobtracker::market::signature::{job_message, sign};
use jobtracker::model::JobId;
use jobtracker::wire::file::{FileSplit, SplitApi, SplitsWriter, write_split_meta};

/// What a job is like.
#[derive(Clone, Copy, Debug)]
pub struct JobShape {
    /// Its maps.
    pub maps: u32,
    /// Its reduces.
    pub reduces: u32,
    /// Whether reduces start before all maps are done.
    pub reduces_start_early: bool,
    /// Trackers 0 to this hold its input, three each split; 0: nobody does.
    pub holders: u32,
}

/// What a job is made of.
#[derive(Clone, Debug, Default)]
pub struct JobFiles {
    /// The hosts that hold the input of each map.
    pub splits: Vec<Vec<String>>,
    /// Its reduces.
    pub reduces: u32,
    /// Properties beside those that every job has.
    pub properties: Vec<(String, String)>,
}

/// The properties of a job that `user` signs at `timestamp`, for the queue of the same name.
pub fn signed(user: &str, key: &Key, timestamp: &str) -> Vec<(String, String)> {
    let properties = [
        ("mapred.job.timestamp", timestamp.to_owned()),
        ("mapred.job.signature", sign(&job_message(user, timestamp), key)),
        ("mapreduce.job.queue.name", user.to_owned()),
    ];
    properties.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// The job.xml that a stock client wrote for the word count example.
const JOB_XML: &str = include_str!("../../tests/fixtures/hadoop1/files/staging-new-api/job.xml");
const SPLIT_BYTES: i64 = 64 << 20;
const REPLICAS: u32 = 3;

// === impl JobShape ===

impl JobShape {
    /// A job like this.
    pub fn files(&self) -> JobFiles {
        let replicas = if self.holders == 0 { 0 } else { REPLICAS.min(self.holders) };
        let holders = |map: u32| {
            (0..replicas).map(|replica| host_of((map.wrapping_mul(REPLICAS) + replica) % self.holders)).collect()
        };
        let slowstart = if self.reduces_start_early { "0.05" } else { "1.0" };
        JobFiles {
            splits: (0..self.maps).map(holders).collect(),
            reduces: self.reduces,
            properties: vec![("mapred.reduce.slowstart.completed.maps".to_owned(), slowstart.to_owned())],
        }
    }
}

/// Permission bits of a staging folder of HDFS (1.2.1 `JobSubmissionFiles.JOB_DIR_PERMISSION`).
const FOLDER_MODE: u32 = 0o700;

/// Writes the files of a job of the user that `systems` belong to into the directory, which is made.
pub fn write(systems: &FileSystems, directory: &FileUri, id: JobId, files: &JobFiles) -> anyhow::Result<()> {
    match directory.local_path() {
        Some(path) => fs::create_dir_all(path).with_context(|| path.display().to_string())?,
        None => systems.of(directory).make_dir_all(directory, FOLDER_MODE)?,
    }
    let write = |name: &str, bytes: &[u8]| -> anyhow::Result<()> {
        let path = directory.join(name)?;
        match path.local_path() {
            // Without the checksums that a Hadoop client would add.
            Some(path) => fs::write(path, bytes).with_context(|| path.display().to_string()),
            None => {
                let mut file = systems.of(&path).create(&path)?;
                file.write_all(bytes)?;
                file.finish()?;
                Ok(())
            }
        }
    };
    let mut splits = SplitsWriter::default();
    for (map, holders) in (0_i64..).zip(&files.splits) {
        let split = FileSplit {
            api: SplitApi::New,
            path: "file:/load/input".to_owned(),
            start_bytes: map * SPLIT_BYTES,
            length_bytes: SPLIT_BYTES,
        };
        splits.add(&split, holders.iter().map(|host| host.as_str().into()).collect());
    }
    let (splits, metas) = splits.finish();
    write("job.split", &splits)?;
    write("job.splitmetainfo", &write_split_meta(&metas))?;
    write("job.xml", job_xml(&directory.to_string(), id, systems.user(), files).as_bytes())
}

/// The recorded file; what is written last holds.
fn job_xml(uri: &str, id: JobId, user: &str, files: &JobFiles) -> String {
    let [maps, reduces] = [files.splits.len().to_string(), files.reduces.to_string()];
    let name = format!("load {id}");
    let jar = format!("{uri}/job.jar");
    let usual = [
        ("user.name", user),
        ("mapred.job.name", &name),
        ("mapred.job.queue.name", "default"),
        ("mapred.map.tasks", &maps),
        ("mapred.reduce.tasks", &reduces),
        ("mapred.map.tasks.speculative.execution", "false"),
        ("mapred.reduce.tasks.speculative.execution", "false"),
        ("mapreduce.job.dir", uri),
        ("mapred.jar", &jar),
        // The output directory of the recording is none of ours.
        ("hadoop.job.history.user.location", "none"),
    ];
    let own = files.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let body = JOB_XML.trim_end().strip_suffix("</configuration>").unwrap_or(JOB_XML);
    let mut text = body.to_owned();
    for (name, value) in usual.into_iter().chain(own) {
        text.push_str(&format!("<property><name>{name}</name><value>{value}</value></property>\n"));
    }
    text.push_str("</configuration>\n");
    text
}
