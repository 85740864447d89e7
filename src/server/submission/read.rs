//! Reads, checks and parses the files of a submission. Blocking: runs on the pool.

use std::io::Write as _;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::config::settings::JobLimits;
use crate::config::{Configuration, JobConf, Settings, excerpt};
use crate::fs::{FileUri, FsError};
use crate::mapreduce::{JobSpec, SplitTable, SplitTableBuilder};
use crate::market::JobSignature;
use crate::model::{DEFAULT_RACK, JobId};
use crate::server::acl_file::AclFile;
use crate::server::rack_resolver::{RackRequest, RackResolver};
use crate::streaming::map_split::find_unsupported_split;
use crate::streaming::plan::StreamingPlan;
use crate::wire::Credentials;
use crate::wire::file::{SplitMeta, read_split_meta};

use super::error::SubmissionError;
use super::spec::{job_spec, pool_properties};
use super::staging::{JobDirectory, StagingRoot};

/// The files of a job in its directory (1.2.1 `JobSubmissionFiles`).
const JOB_CONF: &str = "job.xml";
const SPLIT_META: &str = "job.splitmetainfo";
const SPLITS: &str = "job.split";
/// The output folder of a job (1.2.1 `FileOutputFormat.setOutputPath`).
const OUTPUT_DIR: &str = "mapred.output.dir";
/// Longest that is kept, bytes: as paths of this system.
const MAX_OUTPUT_BYTES: usize = 4 << 10;
/// Maximum size of a `job.split` that is checked, bytes: about 150 per map.
const MAX_SPLITS_BYTES: u64 = 64 << 20;

/// A submitJob call.
#[derive(Debug)]
pub(crate) struct SubmissionRequest {
    /// The id issued by getNewJobId.
    pub(crate) id: JobId,
    pub(crate) caller: crate::engine::Caller,
    /// URI of the job's staging directory, as the client sent it.
    pub(crate) submit_dir: String,
    /// Tokens and keys of the job.
    pub(crate) credentials: Credentials,
}

/// The content of a submission's job.xml.
pub(super) struct ReadConf {
    pub(super) directory: JobDirectory,
    pub(super) spec: JobSpec,
    pub(super) signature: JobSignature,
    /// job.xml itself, deflated.
    pub(super) job_xml: Arc<[u8]>,
    /// Why the owner cannot be notified of the end as the job asks.
    pub(super) uncallable: Option<SubmissionError>,
    /// Its properties that nothing reads.
    pub(super) unread: Option<String>,
}

pub(super) struct ReadSplits {
    pub(super) splits: SplitTableBuilder,
    /// Why only stock TaskTrackers can run the job, if the splits show that.
    pub(super) only_stock: Option<String>,
}

/// The splits of a submission, whose racks may still be pending.
pub(super) enum Splits {
    Built(SplitTable),
    WaitForRacks(SplitTableBuilder, RackRequest),
}

impl Splits {
    /// Time grows with the number of hosts.
    pub(super) fn of(builder: SplitTableBuilder, rack_request: Option<RackRequest>, resolver: &RackResolver) -> Self {
        match rack_request {
            Some(rack_request) => Splits::WaitForRacks(builder, rack_request),
            None => Splits::Built(Splits::build(builder, resolver)),
        }
    }

    /// The splits with the racks known so far.
    pub(super) fn build(builder: SplitTableBuilder, resolver: &RackResolver) -> SplitTable {
        let mut racks = resolver.known(builder.hosts()).into_iter();
        builder.build(|_| racks.next().unwrap_or_else(|| DEFAULT_RACK.to_owned()))
    }
}

#[derive(Clone, Debug)]
pub(super) struct SubmissionReader {
    configuration: Arc<Configuration>,
    limits: JobLimits,
    /// Users that may sign; `None` without a market.
    acl: Option<Arc<AclFile>>,
    staging: StagingRoot,
    daemon_user: String,
}

impl SubmissionReader {
    pub(super) fn new(settings: &Settings, acl: Option<Arc<AclFile>>, staging: StagingRoot) -> Self {
        let (configuration, daemon_user) = (settings.configuration.clone(), settings.daemon_user.clone());
        Self { configuration, limits: settings.job_limits, acl, staging, daemon_user }
    }

    /// Refreshes the list of users that may sign.
    pub(super) async fn refresh_keys(&self) {
        if let Some(acl) = &self.acl {
            acl.latest().await;
        }
    }

    /// Reads job.xml, which is checked before anything else of the job is read. Writes nothing. `pool_property`: the one
    /// that the ruling scheduler takes pools from.
    pub(super) fn read_conf(
        &self,
        id: JobId,
        user: &str,
        submit_dir: &str,
        pool_property: Option<&str>,
    ) -> Result<ReadConf, SubmissionError> {
        let closed = |error| self.closed_directory(user, id, error);
        let directory = self.staging.open(user, id, submit_dir).map_err(closed)?;
        let (configuration, job_xml) = self.configuration(&directory, user).map_err(closed)?;
        let bad = |source| SubmissionError::JobConf { path: directory.path_of(JOB_CONF), source: Box::new(source) };
        let (conf, only_stock) = self.job_conf(&directory, user, &configuration)?;
        let pools = pool_properties(&configuration, pool_property).map_err(|error| bad(error.into()))?;
        let signature = self.signature(user, &conf);
        let uncallable = JobConf::check_end_notification(&configuration).err().map(|error| bad(error.into()));
        let output = configuration.named(OUTPUT_DIR).ok().flatten().map(|setting| setting.value);
        let output = output.filter(|output| !output.is_empty() && output.len() <= MAX_OUTPUT_BYTES);
        let spec = JobSpec { only_stock, output, ..job_spec(user, directory.uri(), conf, pools) };
        let unread = configuration.unread_in_job_xml();
        Ok(ReadConf { directory, spec, signature, job_xml, uncallable, unread })
    }

    /// Names the folder that is closed to the daemon, if that is the error.
    fn closed_directory(&self, user: &str, job: JobId, error: SubmissionError) -> SubmissionError {
        let SubmissionError::File(refused) = &error else { return error };
        match self.staging.closed_folder(user, job).filter(|_| refused.is_denied()) {
            Some((folder, mode)) => {
                SubmissionError::ClosedDirectory { daemon_user: self.daemon_user.clone(), folder, mode }
            }
            None => error,
        }
    }

    /// Reads job.splitmetainfo, and job.split unless `is_only_stock`, of a job with `maps` maps.
    pub(super) fn read_splits(
        &self,
        id: JobId,
        directory: &JobDirectory,
        maps: u32,
        is_only_stock: bool,
    ) -> Result<ReadSplits, SubmissionError> {
        let metas = self.split_metas(id, directory, maps)?;
        let default = self.configuration.default_file_system();
        let only_stock = if is_only_stock { None } else { only_stock_splits(directory, &metas, &default) };
        let mut splits = SplitTable::builder();
        for meta in &metas {
            splits.push(meta.offset_bytes, meta.length_bytes, meta.locations.iter().map(|host| &**host));
        }
        Ok(ReadSplits { splits, only_stock })
    }

    pub(super) fn token_secret(id: JobId) -> Result<[u8; 20], SubmissionError> {
        let mut token_secret = [0; 20];
        getrandom::fill(&mut token_secret).map_err(|_| SubmissionError::NoRandomness(id))?;
        Ok(token_secret)
    }

    /// The content of job.xml over the cluster's values, and by itself, deflated.
    fn configuration(
        &self,
        directory: &JobDirectory,
        user: &str,
    ) -> Result<(Configuration, Arc<[u8]>), SubmissionError> {
        let limit_bytes = self.limits.job_conf_bytes;
        let path = directory.path_of(JOB_CONF);
        let bytes = directory.read(JOB_CONF, limit_bytes).map_err(|error| match error {
            FsError::TooLong { path, bytes, .. } => SubmissionError::JobConfLength { path, bytes, limit_bytes },
            error => error.into(),
        })?;
        let configuration = JobConf::configuration(&bytes, limit_bytes, &self.configuration, user);
        let configuration =
            configuration.map_err(|source| SubmissionError::JobConf { path, source: Box::new(source) })?;
        Ok((configuration, deflated(&bytes)))
    }

    /// The job's values, and the reason if only stock TaskTrackers can run it.
    fn job_conf(
        &self,
        directory: &JobDirectory,
        user: &str,
        configuration: &Configuration,
    ) -> Result<(JobConf, Option<String>), SubmissionError> {
        let path = directory.path_of(JOB_CONF);
        let bad = |source| SubmissionError::JobConf { path: path.clone(), source: Box::new(source) };
        let conf = JobConf::from_configuration(configuration).map_err(bad)?;
        let only_stock = StreamingPlan::read(configuration).err().map(|error| error.to_string());
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

/// Deflates a file that is kept until the history of its job is written.
fn deflated(bytes: &[u8]) -> Arc<[u8]> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let deflated = encoder.write_all(bytes).and_then(|()| encoder.finish());
    deflated.unwrap_or_default().into()
}

/// Why only stock TaskTrackers can read the job's splits, if so. An unreadable file gives no reason: neither a stock
/// JobTracker nor the rest of this one reads it, and the tasks report the error.
fn only_stock_splits(directory: &JobDirectory, metas: &[SplitMeta], default: &FileUri) -> Option<String> {
    match directory.read(SPLITS, MAX_SPLITS_BYTES) {
        Ok(splits) => {
            let offsets = metas.iter().map(|meta| meta.offset_bytes);
            find_unsupported_split(&splits, offsets, default).map(|reason| reason.to_string())
        }
        Err(FsError::TooLong { bytes, .. }) => {
            Some(format!("job.split of {bytes} bytes is too long to be checked: a stock TaskTracker runs it"))
        }
        Err(_) => None,
    }
}
