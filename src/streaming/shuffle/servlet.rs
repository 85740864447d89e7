//! `/mapOutput`: from a request to what is sent back, as a value (1.2.1 `TaskTracker.MapOutputServlet`). Two answers differ from the stock
//! ones on purpose: a reduce that does not exist is the asker's mistake and costs no map its output, and only a file of our own that cannot
//! be read makes an output lost.

use std::io;
use std::path::PathBuf;

use crate::fs::{CheckedFile, Expected, FsError, open_below};
use crate::model::{AttemptId, JobId};
use crate::supervisor::shortage::is_shortage;
use percent_encoding::percent_decode_str;

use super::super::map_output::{INDEX_FILE, OUTPUT_FILE};
use super::super::spill_index::{IndexEntry, read_index};
use super::signature::{ShuffleSecret, is_same_hash};

pub(crate) const PATH: &str = "/mapOutput";
/// The status of an answer to a request that may succeed when it is repeated.
pub(crate) const LATER: u16 = 503;
/// The longest index that is read: of more reduces than a job may have. Bytes.
const MAX_INDEX_BYTES: u64 = 64 << 20;
/// Most characters of a request that a refusal repeats.
const MAX_REPEATED_CHARS: usize = 64;

/// What this tracker knows of jobs and outputs.
pub(crate) trait ServedOutputs {
    /// The secret of a job that runs here.
    fn secret(&self, job: JobId) -> Option<ShuffleSecret>;

    /// The folder with `file.out` and `file.out.index` of a map that succeeded here.
    fn output_folder(&self, attempt: AttemptId) -> Option<OutputFolder>;
}

/// The folder of a map's output. Commands of the job could have put links and pipes there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputFolder {
    /// The tracker's own folder around it: below it no link is followed.
    pub(crate) root: PathBuf,
    pub(crate) path: PathBuf,
    /// The user id of the user that ran the map.
    pub(crate) owner: u32,
}

/// A request, as far as it matters.
#[derive(Clone, Debug)]
pub(crate) struct MapOutputRequest {
    /// As it was sent: this is what is signed.
    pub(crate) path_and_query: String,
    /// The header `UrlHash`.
    pub(crate) url_hash: Option<String>,
    /// The port that received it.
    pub(crate) local_port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileRange {
    pub(crate) folder: OutputFolder,
    pub(crate) start_bytes: u64,
    pub(crate) length_bytes: u64,
}

/// What is sent back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServletAnswer {
    pub(crate) status: u16,
    /// For people: the reason phrase, or the body of a refusal.
    pub(crate) reason: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The body, for status 200.
    pub(crate) body: Option<FileRange>,
    /// An output of this tracker that can no longer be read: its map must run again.
    pub(crate) lost: Option<AttemptId>,
}

impl OutputFolder {
    /// Opens a file in it, which must belong to the user that ran the map and have one link only.
    /// Errors: a link, no regular file, another's file, or longer than `max_bytes`.
    pub(crate) fn open(&self, name: &str, max_bytes: u64) -> Result<CheckedFile, FsError> {
        let expected = Expected::file_of([self.owner]).with_one_link().at_most(max_bytes);
        open_below(&self.root, &self.path.join(name), &expected)
    }
}

impl FileRange {
    pub(crate) fn open(&self) -> Result<CheckedFile, FsError> {
        self.folder.open(OUTPUT_FILE, u64::MAX)
    }
}

/// The job that a request is for, if its signature is right. Reads no file.
pub(crate) fn verified_job(
    request: &MapOutputRequest,
    outputs: &dyn ServedOutputs,
) -> Result<JobId, Box<ServletAnswer>> {
    VerifiedRequest::of(request, outputs).map(|verified| verified.job)
}

/// Answers a request. Reads the index, not the output: the sender of the body reports a failed read ([`unreadable`]).
pub(crate) fn answer(request: &MapOutputRequest, outputs: &dyn ServedOutputs) -> ServletAnswer {
    match VerifiedRequest::of(request, outputs) {
        Ok(verified) => {
            let mut answer = find(&verified, outputs);
            answer.headers.push(("ReplyHash", verified.reply_hash));
            answer
        }
        Err(refusal) => *refusal,
    }
}

struct VerifiedRequest {
    job: JobId,
    map: String,
    reduce: String,
    reply_hash: String,
}

impl VerifiedRequest {
    fn of(request: &MapOutputRequest, outputs: &dyn ServedOutputs) -> Result<Self, Box<ServletAnswer>> {
        let query = request.path_and_query.split_once('?').map_or("", |(_, query)| query);
        let parameter = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let mut values = pairs.filter(|(key, _)| *key == name);
            values.next().map(|(_, value)| percent_decode_str(value).decode_utf8_lossy().into_owned())
        };
        let (Some(job), Some(map), Some(reduce)) = (parameter("job"), parameter("map"), parameter("reduce")) else {
            return Err(Box::new(refusal(500, "job, map and reduce parameters are required")));
        };
        let known = job.parse().ok().and_then(|job: JobId| Some((job, outputs.secret(job)?)));
        let Some((job, secret)) = known else {
            return Err(Box::new(refusal(500, &format!("Can't find job token for job {}", shortened(&job)))));
        };
        let expected = secret.url_hash(request.local_port, &request.path_and_query);
        let Some(url_hash) = request.url_hash.as_deref().filter(|given| is_same_hash(given, &expected)) else {
            return Err(Box::new(refusal(401, "Verification of the hashReply failed")));
        };
        // Only a client that knows the secret learns more.
        Ok(Self { job, map, reduce, reply_hash: secret.reply_hash(url_hash) })
    }
}

/// As much of a text as a refusal repeats.
fn shortened(text: &str) -> String {
    text.chars().take(MAX_REPEATED_CHARS).collect()
}

fn find(verified: &VerifiedRequest, outputs: &dyn ServedOutputs) -> ServletAnswer {
    let VerifiedRequest { job, map, reduce, .. } = verified;
    let attempt: Option<AttemptId> = map.parse().ok();
    let attempt = attempt.filter(|attempt| attempt.task.job == *job);
    let Some((attempt, folder)) = attempt.and_then(|attempt| Some((attempt, outputs.output_folder(attempt)?))) else {
        return refusal(410, &format!("no output of {} here", shortened(map)));
    };
    let read = folder.open(INDEX_FILE, MAX_INDEX_BYTES).and_then(|index| index.read_limited(MAX_INDEX_BYTES));
    let entries = read.map_err(io::Error::other).and_then(|bytes| {
        let shown = folder.path.join(INDEX_FILE);
        read_index(&bytes).map_err(|error| io::Error::other(format!("{}: {error}", shown.display())))
    });
    let entries = match entries {
        Ok(entries) => entries,
        Err(error) => return unreadable(attempt, reduce, &error),
    };
    let Some(entry) = reduce.parse().ok().and_then(|reduce: usize| entries.get(reduce)) else {
        return refusal(
            400,
            &format!("{map} has output for {} reduces; none for {}", entries.len(), shortened(reduce)),
        );
    };
    found(map, reduce, entry, folder)
}

fn found(map: &str, reduce: &str, entry: &IndexEntry, folder: OutputFolder) -> ServletAnswer {
    let lengths = entry.lengths;
    ServletAnswer {
        status: 200,
        reason: "OK".to_owned(),
        headers: vec![
            ("from-map-task", map.to_owned()),
            ("Raw-Map-Output-Length", lengths.raw_bytes.to_string()),
            ("Map-Output-Length", lengths.stored_bytes.to_string()),
            ("for-reduce-task", reduce.to_owned()),
        ],
        body: Some(FileRange { folder, start_bytes: entry.start_bytes, length_bytes: lengths.stored_bytes }),
        lost: None,
    }
}

fn refusal(status: u16, reason: &str) -> ServletAnswer {
    let reason = reason.replace(|c: char| c.is_control() || !c.is_ascii(), "?");
    ServletAnswer { status, reason, headers: Vec::new(), body: None, lost: None }
}

/// The answer when an output of this tracker cannot be read: not now ([`LATER`]) where the tracker lacks descriptors or memory, else
/// never again.
pub(crate) fn unreadable(attempt: AttemptId, reduce: &str, error: &io::Error) -> ServletAnswer {
    let reason = format!("getMapOutput({attempt},{}) failed : {error}", shortened(reduce));
    match is_shortage(error) {
        true => refusal(LATER, &reason),
        false => ServletAnswer { lost: Some(attempt), ..refusal(410, &reason) },
    }
}

#[cfg(test)]
#[path = "../tests/servlet.rs"]
mod tests;
