//! Hands a job over, in the order of the stock client: staging area, id, files, queue, job.xml, submitJob (1.2.1 `JobClient`).

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::client::market::{MarketClient, Signer};
use crate::fs::{Expected, FileUri, open_behind_links};
use crate::market::signature::{job_message, sign};
use crate::model::JobId;

use super::configuration::JobConfiguration;
use super::error::JobClientError;
use super::input::{InputError, input_files};
use super::jar::write_jar;
use super::job_xml::job_xml;
use super::jobtracker::JobTrackerClient;
use super::lines::cut_lines;
use super::split::{InputFile, Split, SplitRules, cut, files_of_splits};
use super::staging::Staging;
use super::streaming::{InputFormat, Reducer, StreamingJob};

/// Who signs a submission, and whose clock counts.
#[derive(Clone, Debug)]
pub struct Signing {
    /// Who signs.
    pub signer: Signer,
    /// The market, which is asked for its time.
    pub market: MarketClient,
    /// This machine's clock, epoch ms, should the market not tell.
    pub wall_ms: fn() -> i64,
}

/// A job ready to be handed over: its input is found and cut, its output is free.
#[derive(Debug)]
pub struct Prepared {
    job: StreamingJob,
    properties: BTreeMap<String, String>,
    files: usize,
    maps: usize,
    split_file: Vec<u8>,
    split_meta_file: Vec<u8>,
}

/// A job that a JobTracker has taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submitted {
    /// Its id.
    pub job: JobId,
    /// How many files its input has.
    pub files: usize,
    /// How many maps.
    pub maps: usize,
    /// Whether it is signed.
    pub is_signed: bool,
}

/// Splits if nothing says otherwise (1.2.1 `RawLocalFileSystem.getDefaultBlockSize`), bytes.
const BLOCK_BYTES: u64 = 32 << 20;
/// Submissions signed anew because another request of the user took the millisecond.
const MOST_SIGNATURES: usize = 20;
/// How the market refuses a second request of a millisecond: an older one, and the same.
const MILLISECOND_TAKEN: [&str; 2] = ["is not after the last accepted one", "the signature has been used"];
/// For the time of the market, which this machine's clock stands in for.
const TIME_PATIENCE: Duration = Duration::from_secs(5);
/// Times that a JobTracker which fell silent is asked whether it took the job, a second apart.
const MOST_QUESTIONS: usize = 60;
const QUEUE: &str = "mapred.job.queue.name";
/// Where a job waits that names no queue.
const DEFAULT_QUEUE: &str = "default";
/// The name of the queue by the Dynamic Priority Scheduler document.
const MARKET_QUEUE: &str = "mapreduce.job.queue.name";

// === impl Prepared ===

impl Prepared {
    /// Finds and cuts the input and looks whether the output is free; `working_dir` is where the client runs.
    ///
    /// # Errors
    /// [`JobClientError`]: what is wrong with input, output or configuration.
    pub fn new(
        job: StreamingJob,
        configuration: &JobConfiguration,
        working_dir: &FileUri,
    ) -> Result<Self, JobClientError> {
        if job.output.as_path().exists() {
            return Err(JobClientError::OutputExists(job.output.to_string()));
        }
        let files = input_files(&job.inputs)?;
        let splits = splits(&files, job.input_format, configuration)?;
        let mut properties = configuration.properties();
        job.set(&mut properties);
        let (maps, files) = (splits.len(), files.len());
        let mut set = |name: &str, value: String| properties.insert(name.to_owned(), value);
        set("mapred.map.tasks", maps.to_string());
        set("mapreduce.input.num.files", files.to_string());
        set("mapred.working.dir", working_dir.to_string());
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        set("mapreduce.job.submithost", host);
        let (split_file, split_meta_file) = files_of_splits(splits);
        Ok(Self { job, properties, files, maps, split_file, split_meta_file })
    }

    /// Whether no stock TaskTracker can run it.
    pub fn needs_built_in_worker(&self) -> bool {
        self.job.streaming_jar.is_none()
    }

    /// How many reduces it will have, if the submission says so.
    pub fn reduces(&self) -> Option<u32> {
        match self.job.reducer {
            Reducer::None => Some(0),
            Reducer::Command(_) | Reducer::Identity => {
                self.properties.get("mapred.reduce.tasks").and_then(|text| text.trim().parse().ok())
            }
        }
    }

    /// Hands the job over. A JobTracker that falls silent meanwhile is asked again whether it took it.
    ///
    /// # Errors
    /// [`JobClientError`]; nothing is left behind unless the JobTracker may have taken the job.
    pub async fn submit(
        self,
        jobtracker: &mut JobTrackerClient,
        signing: Option<&Signing>,
    ) -> Result<Submitted, JobClientError> {
        let mut after_ms = 0;
        for _ in 1..MOST_SIGNATURES {
            match self.submit_once(jobtracker, signing, &mut after_ms).await {
                Err(JobClientError::Denied(text))
                    if signing.is_some() && MILLISECOND_TAKEN.iter().any(|taken| text.contains(taken)) => {}
                outcome => return outcome,
            }
        }
        self.submit_once(jobtracker, signing, &mut after_ms).await
    }

    async fn submit_once(
        &self,
        jobtracker: &mut JobTrackerClient,
        signing: Option<&Signing>,
        after_ms: &mut i64,
    ) -> Result<Submitted, JobClientError> {
        let area = jobtracker.staging_area().await?;
        let job = jobtracker.new_job_id().await?;
        let staging = Staging::create(&area, job, jobtracker.user())?;
        let mut properties = self.properties.clone();
        let mut set = |name: &str, value: String| properties.insert(name.to_owned(), value);
        let jar = "job.jar";
        write_jar(&staging.path(jar), &self.job.files, self.job.streaming_jar.as_deref())?;
        set("mapred.jar", format!("{}/{jar}", staging.uri()));
        set("mapreduce.job.dir", staging.uri().to_string());
        set("mapreduce.job.submithostaddress", jobtracker.local_address().await?.to_string());
        staging.write("job.split", &self.split_file)?;
        staging.write("job.splitmetainfo", &self.split_meta_file)?;
        if let Some(signing) = signing {
            self.sign(&mut properties, jobtracker, signing, after_ms).await?;
        }
        let queue = [MARKET_QUEUE, QUEUE].into_iter().find_map(|key| properties.get(key).cloned());
        let queue = queue.unwrap_or_else(|| DEFAULT_QUEUE.to_owned());
        let admins = jobtracker.queue_admins(&queue).await?;
        properties.insert(format!("mapred.queue.{queue}.acl-administer-jobs"), admins);
        staging.write("job.xml", &job_xml(&properties)?)?;
        let handed_over = hand_over(jobtracker, job, staging).await;
        handed_over.map(|()| Submitted { job, files: self.files, maps: self.maps, is_signed: signing.is_some() })
    }

    /// Signs it by the market's clock, and sends it to the queue of the signer's name where there is one and no other is asked for.
    async fn sign(
        &self,
        properties: &mut BTreeMap<String, String>,
        jobtracker: &mut JobTrackerClient,
        signing: &Signing,
        after_ms: &mut i64,
    ) -> Result<(), JobClientError> {
        let user = &signing.signer.user;
        let names_other = properties.get(QUEUE).is_some_and(|queue| queue != DEFAULT_QUEUE);
        let names_queue = self.job.queue.is_some() || properties.contains_key(MARKET_QUEUE) || names_other;
        if !names_queue && jobtracker.has_queue(user).await? {
            properties.insert(QUEUE.to_owned(), user.clone());
            properties.insert(MARKET_QUEUE.to_owned(), user.clone());
        }
        let told = timeout(TIME_PATIENCE, signing.market.ask("time")).await;
        let told = told.ok().and_then(Result::ok).and_then(|answer| answer.time_ms);
        let timestamp_ms = told.unwrap_or_else(signing.wall_ms).max(*after_ms + 1);
        *after_ms = timestamp_ms;
        let signature = sign(&job_message(user, &timestamp_ms.to_string()), &signing.signer.key);
        properties.insert("mapred.job.timestamp".to_owned(), timestamp_ms.to_string());
        properties.insert("mapred.job.signature".to_owned(), signature);
        Ok(())
    }
}

/// Calls submitJob until it is known whether the JobTracker took the job: it answers for a job that it knows as it did at first.
///
/// The directory stays if this is given up on the way: the JobTracker may have the job.
async fn hand_over(jobtracker: &mut JobTrackerClient, job: JobId, mut staging: Staging) -> Result<(), JobClientError> {
    let directory = staging.uri().to_string();
    staging.set_handed_over(true);
    let mut outcome = jobtracker.submit_job(job, &directory).await;
    for _ in 0..MOST_QUESTIONS {
        match &outcome {
            Err(error) if error.is_unreachable() => sleep(Duration::from_secs(1)).await,
            _ => break,
        }
        outcome = jobtracker.submit_job(job, &directory).await;
    }
    staging.set_handed_over(outcome.as_ref().map_or_else(JobClientError::is_unreachable, |()| true));
    outcome?;
    // The stock client takes a job for lost whose profile it cannot get.
    if jobtracker.has_profile(job).await? { Ok(()) } else { Err(JobClientError::UnknownJob(job)) }
}

fn splits(
    files: &[InputFile],
    format: InputFormat,
    configuration: &JobConfiguration,
) -> Result<Vec<Split>, JobClientError> {
    if format != InputFormat::Lines {
        let rules = SplitRules {
            wanted_maps: configuration.number("mapred.map.tasks", 1, 0)?,
            min_split_bytes: configuration.number("mapred.min.split.size", 1, 0)?,
            block_bytes: configuration.number("fs.local.block.size", BLOCK_BYTES, 1)?,
        };
        return Ok(cut(files, rules)?);
    }
    let lines = configuration.number("mapred.line.input.format.linespermap", 1, 1)?;
    let mut splits = Vec::new();
    for InputFile { uri, .. } in files {
        let path = FileUri::parse(uri)?.to_path_buf();
        let opened = open_behind_links(&path, &Expected::file_of_any_owner()).map_err(io::Error::from);
        let cut = opened.and_then(|input| cut_lines(uri, &mut BufReader::new(input.file), lines));
        splits.extend(cut.map_err(|source| InputError::Io { path, source })?);
    }
    Ok(splits)
}
