//! Submits a job, in the order of the stock client: staging area, id, files, queue, job.xml, submitJob (1.2.1 `JobClient`).

use std::collections::BTreeMap;
use std::io;
use std::io::BufReader;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::client::market::{MarketClient, Signer};
use crate::config::{JobConf, keys};
use crate::fs::{Expected, FileSystems, FileUri, ScriptFault};
use crate::market::signature::{job_message, sign};
use crate::model::JobId;
use crate::streaming::plan::check_values;

use super::cache::stamp;
use super::classes::check_classes;
use super::computed::check_kept;
use super::configuration::{JobConfiguration, job_xml};
use super::error::JobClientError;
use super::input::{InputError, find_input_files};
use super::jar::write_jar;
use super::jobtracker::JobTrackerClient;
use super::split::{InputFile, InputSplit, SplitRules, encode_splits, split_files, split_lines};
use super::staging::Staging;
use super::streaming::{InputFormat, Reducer, StreamingJob};

/// Signer and clock of a signed submission.
#[derive(Clone, Debug)]
pub struct SigningOptions {
    pub(crate) signer: Signer,
    /// The market, which provides the time.
    pub(crate) market: MarketClient,
    /// This machine's clock, epoch ms, used if the market does not answer.
    pub(crate) wall_ms: fn() -> i64,
}

/// A job ready for submission: its splits are computed, its output does not exist.
#[derive(Debug)]
pub struct PreparedJob {
    job: StreamingJob,
    properties: BTreeMap<String, String>,
    file_systems: FileSystems,
    replication: u16,
    files: usize,
    input: Input,
    split_file: Vec<u8>,
    split_meta_file: Vec<u8>,
    web: Option<MarketClient>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    /// Number of maps.
    pub(crate) maps: usize,
    pub(crate) bytes: u64,
    /// Length of the largest split.
    pub(crate) largest_bytes: u64,
}

/// A job that a JobTracker has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// Its id.
    pub job: JobId,
    /// Number of input files.
    pub files: usize,
    /// Number of maps.
    pub maps: usize,
    /// Whether it is signed.
    pub is_signed: bool,
}

/// Default block size (1.2.1 `RawLocalFileSystem.getDefaultBlockSize`), bytes.
const BLOCK_BYTES: u64 = 32 << 20;
/// Maximum number of signatures for one submission: another request of the user may have used the same millisecond.
const MOST_SIGNATURES: usize = 20;
const MILLISECOND_TAKEN: &str = "the signature has been used";
const TIME_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of retries, a second apart, if the JobTracker does not answer.
const MOST_RETRIES: usize = 60;
/// How many copies of a job's files are kept: every TaskTracker reads them (1.2.1 `JobClient`).
const SUBMIT_REPLICATION: &str = "mapred.submit.replication";
const DEFAULT_SUBMIT_REPLICATION: u64 = 10;
const SIGNATURE: &str = "mapred.job.signature";
const QUEUE: &str = "mapred.job.queue.name";
const DEFAULT_QUEUE: &str = "default";
/// The queue's key in the Dynamic Priority Scheduler document.
const MARKET_QUEUE: &str = "mapreduce.job.queue.name";

impl PreparedJob {
    /// Computes the splits and checks that the output does not exist; `working_dir` is the client's working directory.
    ///
    /// # Errors
    /// [`JobClientError`] for input, output or configuration.
    pub fn new(
        job: StreamingJob,
        configuration: &JobConfiguration,
        file_systems: &FileSystems,
        working_dir: &FileUri,
    ) -> Result<Self, JobClientError> {
        // No worker can start them, whatever it has.
        if let Some(fault) = job.script_faults().into_iter().find(ScriptFault::is_of_file) {
            return Err(JobClientError::Script(fault));
        }
        match file_systems.of(&job.output).status(&job.output) {
            Ok(None) => {}
            Ok(Some(_)) => return Err(JobClientError::OutputExists(job.output.to_string())),
            Err(error) => {
                return Err(JobClientError::Output { path: job.output.to_string(), source: error.into() });
            }
        }
        let given: BTreeMap<&str, &str> = configuration.overrides().collect();
        let mut properties = configuration.properties();
        job.set(&given, &mut properties);
        let complete = configuration.with(&properties)?;
        check_values(&complete).map_err(Box::new)?;
        JobConf::from_configuration(&complete).map_err(Box::new)?;
        check_classes(configuration.overrides(), job.partitioner.as_deref())?;
        stamp(&mut properties, &complete, file_systems, &job.archives)?;
        let files = find_input_files(file_systems, &job.inputs)?;
        let format = job.input_format_or(given.get("mapred.input.format.class").copied());
        let splits = splits(file_systems, &files, &format, configuration)?;
        let input = Input {
            maps: splits.len(),
            bytes: splits.iter().map(|split| split.length_bytes).sum(),
            largest_bytes: splits.iter().map(|split| split.length_bytes).max().unwrap_or(0),
        };
        let files = files.len();
        let mut set = |name: &str, value: String| properties.insert(name.to_owned(), value);
        set("mapred.map.tasks", input.maps.to_string());
        set("mapreduce.input.num.files", files.to_string());
        if configuration.overridden("mapred.working.dir").is_none() {
            set("mapred.working.dir", working_dir.to_string());
        }
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        set("mapreduce.job.submithost", host);
        check_kept(configuration.overrides(), &properties)?;
        let (split_file, split_meta_file) = encode_splits(splits);
        let file_systems = file_systems.clone();
        let replication = configuration.number(SUBMIT_REPLICATION, DEFAULT_SUBMIT_REPLICATION, 1)?;
        let replication = u16::try_from(replication).unwrap_or(u16::MAX);
        Ok(Self { job, properties, file_systems, replication, files, input, split_file, split_meta_file, web: None })
    }

    /// Hands the files over to this web address of the JobTracker where it cannot read them in the staging directory.
    #[must_use]
    pub(crate) fn with_web(self, web: MarketClient) -> Self {
        Self { web: Some(web), ..self }
    }

    pub(crate) fn needs_built_in_worker(&self) -> bool {
        self.job.streaming_jar.is_none()
    }

    /// What keeps scripts that it brings from starting on a machine like this one.
    pub(crate) fn script_faults(&self) -> Vec<ScriptFault> {
        self.job.script_faults()
    }

    /// Files that its commands name and that are here, but are not shipped with it: each with the option of its command.
    pub(crate) fn unshipped_files(&self) -> Vec<(&'static str, String)> {
        let is_cached =
            [keys::CACHE_FILES, keys::CACHE_ARCHIVES].iter().any(|key| self.properties.contains_key(key.name));
        if is_cached { Vec::new() } else { self.job.unshipped_files() }
    }

    pub(crate) fn input(&self) -> Input {
        self.input
    }

    pub(crate) fn property(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }

    /// The queue that it names.
    pub(crate) fn queue(&self) -> &str {
        queue_of(&self.properties)
    }

    pub(crate) fn reduces(&self) -> Option<u32> {
        match self.job.reducer {
            Reducer::None => Some(0),
            Reducer::Command(_) | Reducer::Identity | Reducer::Aggregate => {
                self.properties.get("mapred.reduce.tasks").and_then(|text| text.trim().parse().ok())
            }
        }
    }

    /// Submits the job. If the JobTracker stops answering meanwhile, the call is repeated.
    ///
    /// # Errors
    /// [`JobClientError`]; the staging directory is removed unless the JobTracker may have accepted the job.
    pub async fn submit(
        self,
        jobtracker: &mut JobTrackerClient,
        signing: Option<&SigningOptions>,
    ) -> Result<Submitted, JobClientError> {
        let mut after_ms = 0;
        for _ in 1..MOST_SIGNATURES {
            match self.submit_once(jobtracker, signing, &mut after_ms).await {
                Err(JobClientError::Denied(text)) if signing.is_some() && text.contains(MILLISECOND_TAKEN) => {}
                outcome => return outcome,
            }
        }
        self.submit_once(jobtracker, signing, &mut after_ms).await
    }

    async fn submit_once(
        &self,
        jobtracker: &mut JobTrackerClient,
        signing: Option<&SigningOptions>,
        after_ms: &mut i64,
    ) -> Result<Submitted, JobClientError> {
        let area = jobtracker.staging_area().await?;
        let job = jobtracker.new_job_id().await?;
        let staging = Staging::create(&self.file_systems, &area, job, self.web.as_ref()).await?;
        let mut properties = self.properties.clone();
        let mut set = |name: &str, value: String| properties.insert(name.to_owned(), value);
        let jar = "job.jar";
        write_jar(&staging.path(jar), &self.job.files, self.job.streaming_jar.as_deref())?;
        set("mapred.jar", format!("{}/{jar}", staging.uri()));
        set("mapreduce.job.dir", staging.uri().to_string());
        set("mapreduce.job.submithostaddress", jobtracker.local_address().await?.to_string());
        staging.write("job.split", &self.split_file)?;
        staging.write("job.splitmetainfo", &self.split_meta_file)?;
        // What is signed by -D stays as it is.
        let is_signed_by_hand = self.properties.contains_key(SIGNATURE);
        if let Some(signing) = signing.filter(|_| !is_signed_by_hand) {
            self.sign(&mut properties, jobtracker, signing, after_ms).await?;
        }
        let queue = queue_of(&properties).to_owned();
        let admins = jobtracker.queue_admins(&queue).await?;
        properties.insert(format!("mapred.queue.{queue}.acl-administer-jobs"), admins);
        staging.write("job.xml", &job_xml(&properties)?)?;
        let signer = signing.map(|signing| &signing.signer);
        staging.hand_over(job, self.replication, jobtracker.user(), signer).await?;
        let outcome = call_submit_job(jobtracker, job, staging).await;
        let is_signed = is_signed_by_hand || signing.is_some();
        outcome.map(|()| Submitted { job, files: self.files, maps: self.input.maps, is_signed })
    }

    /// Signs the job with the market's time, and selects the queue of the signer's name if it exists and no other is set.
    async fn sign(
        &self,
        properties: &mut BTreeMap<String, String>,
        jobtracker: &mut JobTrackerClient,
        signing: &SigningOptions,
        after_ms: &mut i64,
    ) -> Result<(), JobClientError> {
        let user = &signing.signer.user;
        let names_other = properties.get(QUEUE).is_some_and(|queue| queue != DEFAULT_QUEUE);
        let names_queue = self.job.queue.is_some() || properties.contains_key(MARKET_QUEUE) || names_other;
        if !names_queue && jobtracker.has_queue(user).await? {
            properties.insert(QUEUE.to_owned(), user.clone());
            properties.insert(MARKET_QUEUE.to_owned(), user.clone());
        }
        let answer = timeout(TIME_TIMEOUT, signing.market.request("time")).await;
        let time_ms = answer.ok().and_then(Result::ok).and_then(|answer| answer.time_ms);
        let timestamp_ms = time_ms.unwrap_or_else(signing.wall_ms).max(*after_ms + 1);
        *after_ms = timestamp_ms;
        let signature = sign(&job_message(user, &timestamp_ms.to_string()), &signing.signer.key);
        properties.insert("mapred.job.timestamp".to_owned(), timestamp_ms.to_string());
        properties.insert(SIGNATURE.to_owned(), signature);
        Ok(())
    }
}

fn queue_of(properties: &BTreeMap<String, String>) -> &str {
    [MARKET_QUEUE, QUEUE].into_iter().find_map(|key| properties.get(key)).map_or(DEFAULT_QUEUE, String::as_str)
}

/// Calls submitJob until the outcome is known. The call is idempotent: for a known job the JobTracker repeats its first answer. If the
/// future is dropped meanwhile, the directory stays: the JobTracker may have accepted the job.
async fn call_submit_job(
    jobtracker: &mut JobTrackerClient,
    job: JobId,
    mut staging: Staging,
) -> Result<(), JobClientError> {
    let directory = staging.uri().to_string();
    staging.set_submitted(true);
    let mut outcome = jobtracker.submit_job(job, &directory).await;
    for _ in 0..MOST_RETRIES {
        match &outcome {
            Err(error) if error.is_unreachable() => sleep(Duration::from_secs(1)).await,
            _ => break,
        }
        outcome = jobtracker.submit_job(job, &directory).await;
    }
    staging.set_submitted(outcome.as_ref().map_or_else(JobClientError::is_unreachable, |()| true));
    outcome.map_err(|error| match error {
        JobClientError::Refused(text) => staging.explain_refusal(text),
        error => error,
    })?;
    // As in the stock client, a job without a profile counts as lost.
    if jobtracker.has_profile(job).await? { Ok(()) } else { Err(JobClientError::UnknownJob(job)) }
}

fn splits(
    file_systems: &FileSystems,
    files: &[InputFile],
    format: &InputFormat,
    configuration: &JobConfiguration,
) -> Result<Vec<InputSplit>, JobClientError> {
    if *format != InputFormat::Lines {
        let rules = SplitRules {
            wanted_maps: configuration.number("mapred.map.tasks", 1, 0)?,
            min_split_bytes: configuration.number("mapred.min.split.size", 1, 0)?,
            block_bytes: configuration.number("fs.local.block.size", BLOCK_BYTES, 1)?,
        };
        return Ok(split_files(files, rules)?);
    }
    let lines = configuration.number("mapred.line.input.format.linespermap", 1, 1)?;
    let mut splits = Vec::new();
    for InputFile { uri, .. } in files {
        let file = FileUri::parse(uri)?;
        let opened = file_systems.of(&file).open(&file, &Expected::file_of_any_owner()).map_err(io::Error::from);
        let cut = opened.and_then(|input| split_lines(uri, &mut BufReader::new(input), lines));
        splits.extend(cut.map_err(|source| InputError::Io { path: file.shown_path(), source })?);
    }
    Ok(splits)
}

/// Properties of a job that say the same as a field of a question.
const FIELDS: [(&str, &str); 7] = [
    ("mapred.job.deadline.map.ms.per.mb", "mapMsPerMb"),
    ("mapred.job.deadline.reduce.ms.per.mb", "reduceMsPerMb"),
    ("mapred.job.deadline.copy.ms.per.mb", "copyMsPerMb"),
    ("mapred.job.deadline.map.task.ms", "mapTaskMs"),
    ("mapred.job.deadline.reduce.task.ms", "reduceTaskMs"),
    ("mapred.job.deadline.filter.ratio", "filterRatio"),
    ("mapred.job.deadline.keys", "keys"),
];
/// Reduces of a job that does not say.
const REDUCES: u32 = 1;

impl PreparedJob {
    /// Names and values of a question's fields, for a job with a deadline that would be submitted at `now_ms`, epoch ms.
    pub(crate) fn question(&self, now_ms: i64) -> Vec<(&'static str, String)> {
        let property = |name: &str| self.property(name).map(str::trim).filter(|value| !value.is_empty());
        let code =
            |is_new: &str, new: &str, old: &str| property(if property(is_new) == Some("true") { new } else { old });
        let deadline = match property("mapred.job.deadline.at.ms").and_then(|text| text.parse::<i64>().ok()) {
            Some(at_ms) => at_ms.saturating_sub(now_ms).to_string(),
            None => property("mapred.job.deadline.ms").unwrap_or_default().to_owned(),
        };
        let input = self.input();
        let mut fields = vec![
            ("volumeMb", megabytes(input.bytes)),
            ("largestMb", megabytes(input.largest_bytes)),
            ("reduces", self.reduces().unwrap_or(REDUCES).to_string()),
            ("deadlineMs", deadline),
            ("jobName", property("mapred.job.name").unwrap_or_default().to_owned()),
        ];
        // Without input there is no map.
        let maps = (input.maps > 0).then(|| input.maps.to_string());
        let of_code = [
            ("mapClass", code("mapred.mapper.new-api", "mapreduce.map.class", "mapred.mapper.class")),
            ("reduceClass", code("mapred.reducer.new-api", "mapreduce.reduce.class", "mapred.reducer.class")),
        ];
        let stated = FIELDS.into_iter().map(|(key, field)| (field, property(key)));
        let given = of_code.into_iter().chain(stated);
        fields.extend(given.filter_map(|(field, value)| Some((field, value?.to_owned()))));
        fields.extend(maps.map(|maps| ("maps", maps)));
        fields
    }
}

/// Bytes in MB of 2^20, rounded up to millionths.
fn megabytes(bytes: u64) -> String {
    let millionths = (u128::from(bytes) * 1_000_000).div_ceil(1 << 20);
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_up_to_millionths_of_a_megabyte() {
        for (bytes, text) in [(0, "0.000000"), (1, "0.000001"), (1 << 20, "1.000000"), (3 << 19, "1.500000")] {
            assert_eq!(megabytes(bytes), text);
        }
    }
}
