//! The files of a submission: read, checked and typed. Blocking: runs on the pool.

use std::sync::Arc;

use crate::config::settings::JobLimits;
use crate::config::{Configuration, JobConf, Settings, excerpt};
use crate::fs::FsError;
use crate::mapreduce::{JobSpec, SplitTable, SplitTableBuilder};
use crate::market::JobSignature;
use crate::model::{DEFAULT_RACK, JobId};
use crate::server::acl_file::AclFile;
use crate::server::topology::{Asking, Topology};
use crate::streaming::map_split::find_unsupported_split;
use crate::streaming::plan::StreamingPlan;
use crate::wire::Credentials;
use crate::wire::file::{SplitMeta, read_split_meta};

use super::error::SubmissionError;
use super::spec::job_spec;
use super::staging::{JobDirectory, StagingRoot};

/// The files of a job in its directory (1.2.1 `JobSubmissionFiles`).
const JOB_CONF: &str = "job.xml";
const SPLIT_META: &str = "job.splitmetainfo";
const SPLITS: &str = "job.split";
/// Longest `job.split` that is looked through, bytes: it has some 150 for each map.
const LONGEST_SPLITS_BYTES: u64 = 64 << 20;

/// What a client asked for with submitJob.
#[derive(Debug)]
pub struct Asked {
    /// The id it was given.
    pub id: JobId,
    /// Who it is.
    pub caller: crate::engine::Caller,
    /// URI of the job's staging directory, as the client wrote it.
    pub submit_dir: String,
    /// Tokens and keys of the job.
    pub credentials: Credentials,
}

/// What a submission's job.xml says.
pub(super) struct ReadConf {
    pub(super) directory: JobDirectory,
    pub(super) spec: JobSpec,
    pub(super) signature: JobSignature,
}

/// What the splits of a submission say.
pub(super) struct ReadSplits {
    pub(super) splits: SplitTableBuilder,
    /// Why only stock TaskTrackers can run the job, as far as its splits tell.
    pub(super) only_stock: Option<String>,
}

/// The splits of a submission, some of whose hosts' racks may still be asked for.
pub(super) enum Splits {
    Built(SplitTable),
    WaitForRacks(SplitTableBuilder, Asking),
}

// === impl Splits ===

impl Splits {
    /// Takes time with the number of hosts.
    pub(super) fn of(builder: SplitTableBuilder, asking: Option<Asking>, topology: &Topology) -> Self {
        match asking {
            Some(asking) => Splits::WaitForRacks(builder, asking),
            None => Splits::Built(Splits::build(builder, topology)),
        }
    }

    /// The splits with the racks that are known by now.
    pub(super) fn build(builder: SplitTableBuilder, topology: &Topology) -> SplitTable {
        let mut racks = topology.known(builder.hosts()).into_iter();
        builder.build(|_| racks.next().unwrap_or_else(|| DEFAULT_RACK.to_owned()))
    }
}

/// What a submission is read by.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    configuration: Arc<Configuration>,
    limits: JobLimits,
    /// Who may sign; none where the scheduler asks for no signature.
    acl: Option<Arc<AclFile>>,
    staging: StagingRoot,
}

// === impl Reading ===

impl Reading {
    pub(super) fn new(settings: &Settings, acl: Option<Arc<AclFile>>, staging: StagingRoot) -> Self {
        Self { configuration: settings.configuration.clone(), limits: settings.job_limits, acl, staging }
    }

    /// Has the list of those who may sign be that of this moment.
    pub(super) async fn look_at_keys(&self) {
        if let Some(acl) = &self.acl {
            acl.latest().await;
        }
    }

    /// Reads job.xml, by which a job is judged before anything else of it is read. Nothing is written.
    pub(super) fn read_conf(&self, id: JobId, user: &str, submit_dir: &str) -> Result<ReadConf, SubmissionError> {
        let directory = self.staging.open(user, id, submit_dir)?;
        let (conf, only_stock) = self.job_conf(&directory, user)?;
        let signature = self.signature(user, &conf);
        let spec = JobSpec { only_stock, ..job_spec(user, directory.uri(), conf) };
        Ok(ReadConf { directory, spec, signature })
    }

    /// Reads job.splitmetainfo, and job.split where that is still open, of a job with `maps` maps.
    pub(super) fn read_splits(
        &self,
        id: JobId,
        directory: &JobDirectory,
        maps: u32,
        is_only_stock: bool,
    ) -> Result<ReadSplits, SubmissionError> {
        let metas = self.split_metas(id, directory, maps)?;
        let only_stock = if is_only_stock { None } else { only_stock_splits(directory, &metas) };
        let mut splits = SplitTable::builder();
        for meta in &metas {
            splits.push(meta.offset_bytes, meta.length_bytes, meta.locations.iter().map(|host| &**host));
        }
        Ok(ReadSplits { splits, only_stock })
    }

    /// The password of a job's token.
    pub(super) fn token_secret(id: JobId) -> Result<[u8; 20], SubmissionError> {
        let mut token_secret = [0; 20];
        getrandom::fill(&mut token_secret).map_err(|_| SubmissionError::NoRandomness(id))?;
        Ok(token_secret)
    }

    /// The job's values, and why only stock TaskTrackers can run it.
    fn job_conf(&self, directory: &JobDirectory, user: &str) -> Result<(JobConf, Option<String>), SubmissionError> {
        let limit_bytes = self.limits.job_conf_bytes;
        let path = directory.path_of(JOB_CONF);
        let bytes = directory.read(JOB_CONF, limit_bytes).map_err(|error| match error {
            FsError::TooLong { path, bytes, .. } => SubmissionError::JobConfLength { path, bytes, limit_bytes },
            error => error.into(),
        })?;
        let bad = |source| SubmissionError::JobConf { path: path.clone(), source: Box::new(source) };
        let configuration = JobConf::configuration(&bytes, limit_bytes, &self.configuration, user).map_err(bad)?;
        let conf = JobConf::from_configuration(&configuration).map_err(bad)?;
        let only_stock = StreamingPlan::read(&configuration).err().map(|error| error.to_string());
        match &conf.user_name {
            Some(found) if found != user => {
                Err(SubmissionError::OtherUser { path: path.clone(), found: excerpt(found), expected: excerpt(user) })
            }
            _ => Ok((conf, only_stock)),
        }
    }

    fn split_metas(&self, id: JobId, directory: &JobDirectory, maps: u32) -> Result<Vec<SplitMeta>, SubmissionError> {
        let limit_bytes = self.limits.split_meta_bytes;
        let path = directory.path_of(SPLIT_META);
        let read = directory.read(SPLIT_META, limit_bytes.unwrap_or(u64::MAX));
        let bytes = read.map_err(|error| match error {
            FsError::TooLong { path, bytes, max_bytes } => {
                SubmissionError::SplitMetaLength { job: id, path, bytes, limit_bytes: max_bytes }
            }
            error => error.into(),
        })?;
        let metas = read_split_meta(&bytes, limit_bytes)
            .map_err(|source| SubmissionError::Splits { path: path.clone(), source })?;
        if u32::try_from(metas.len()) != Ok(maps) {
            return Err(SubmissionError::SplitCount { path: path.clone(), found: metas.len(), expected: maps });
        }
        if let Some(limit) = self.limits.max_split_locations {
            let found = metas.iter().map(|meta| meta.locations.len());
            if let Some((split, found)) = found.enumerate().find(|(_, found)| *found > limit as usize) {
                return Err(SubmissionError::SplitLocations { path: path.clone(), split, found, limit });
            }
        }
        Ok(metas)
    }

    fn signature(&self, user: &str, conf: &JobConf) -> JobSignature {
        let Some(acl) = &self.acl else { return JobSignature::Missing };
        let signed = &conf.signature;
        crate::market::job_signature(&acl.current(), user, signed.timestamp.as_deref(), signed.signature.as_deref())
    }
}

/// Why only stock TaskTrackers can read the job's splits, if it is so. A file that cannot be read says nothing: neither a stock
/// JobTracker nor the rest of ours ever looks at it, and the tasks say what is wrong with it.
fn only_stock_splits(directory: &JobDirectory, metas: &[SplitMeta]) -> Option<String> {
    match directory.read(SPLITS, LONGEST_SPLITS_BYTES) {
        Ok(splits) => {
            find_unsupported_split(&splits, metas.iter().map(|meta| meta.offset_bytes)).map(|reason| reason.to_string())
        }
        Err(FsError::TooLong { bytes, .. }) => {
            Some(format!("job.split of {bytes} bytes is too long to be looked through: a stock TaskTracker runs it"))
        }
        Err(_) => None,
    }
}
