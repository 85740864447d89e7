//! `/mapOutput`: from a request to what is sent back, as a value (1.2.1 `TaskTracker.MapOutputServlet`).
//!
//! Two answers differ from the stock ones on purpose: a reduce that does not exist is the asker's mistake and costs no map its
//! output, and only a file of our own that cannot be read makes an output lost.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use super::super::map_output::{INDEX_FILE, OUTPUT_FILE};
use super::super::spill_index::{IndexEntry, read_index};
use super::signature::{ShuffleSecret, is_same_hash};
use crate::wire::{AttemptId, JobId};

/// The path that is served.
pub const PATH: &str = "/mapOutput";

/// What this tracker knows of jobs and outputs.
pub trait ServedOutputs {
    /// The secret of a job that runs here.
    fn secret(&self, job: JobId) -> Option<ShuffleSecret>;

    /// The folder with `file.out` and `file.out.index` of a map that succeeded here.
    fn output_folder(&self, attempt: AttemptId) -> Option<PathBuf>;
}

/// A request, as far as it matters.
#[derive(Clone, Copy, Debug)]
pub struct ServletRequest<'a> {
    /// As it was sent: this is what is signed.
    pub path_and_query: &'a str,
    /// The header `UrlHash`.
    pub url_hash: Option<&'a str>,
    /// The port of ours that it came to.
    pub local_port: u16,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRange {
    /// The file.
    pub path: PathBuf,
    /// First byte.
    pub start_bytes: u64,
    /// Number of bytes.
    pub length_bytes: u64,
}

/// What is sent back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServletAnswer {
    /// The HTTP status.
    pub status: u16,
    /// For people: the reason phrase, or the body of a refusal.
    pub reason: String,
    /// Headers.
    pub headers: Vec<(&'static str, String)>,
    /// The body, for status 200.
    pub body: Option<FileRange>,
    /// An output of ours that cannot be read any more: its map must run again.
    pub lost: Option<AttemptId>,
}

/// Answers a request. Reads the index, not the output: whoever sends the body tells if that fails ([`unreadable`]).
#[must_use]
pub fn answer(request: &ServletRequest<'_>, outputs: &dyn ServedOutputs) -> ServletAnswer {
    let query = request.path_and_query.split_once('?').map_or("", |(_, query)| query);
    let parameter = |name: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut values = pairs.filter(|(key, _)| *key == name);
        values.next().map(|(_, value)| percent_decode_str(value).decode_utf8_lossy().into_owned())
    };
    let (Some(job), Some(map), Some(reduce)) = (parameter("job"), parameter("map"), parameter("reduce")) else {
        return refusal(500, "job, map and reduce parameters are required");
    };
    let secret = job.parse().ok().and_then(|job: JobId| outputs.secret(job));
    let Some(secret) = secret else { return refusal(500, &format!("Can't find job token for job {job}")) };
    let expected = secret.url_hash(request.local_port, request.path_and_query);
    let Some(url_hash) = request.url_hash.filter(|given| is_same_hash(given, &expected)) else {
        return refusal(401, "Verification of the hashReply failed");
    };
    // Only who knows the secret learns more.
    let mut answer = find(&map, &reduce, &job, outputs);
    answer.headers.push(("ReplyHash", secret.reply_hash(url_hash)));
    answer
}

fn find(map: &str, reduce: &str, job: &str, outputs: &dyn ServedOutputs) -> ServletAnswer {
    let attempt: Option<AttemptId> = map.parse().ok();
    let attempt = attempt.filter(|attempt| attempt.task.job.to_string() == job);
    let Some((attempt, folder)) = attempt.and_then(|attempt| Some((attempt, outputs.output_folder(attempt)?))) else {
        return refusal(410, &format!("no output of {map} here"));
    };
    let index = folder.join(INDEX_FILE);
    let entries = std::fs::read(&index)
        .map_err(|error| error.to_string())
        .and_then(|bytes| read_index(&bytes).map_err(|error| error.to_string()));
    let entries = match entries {
        Ok(entries) => entries,
        Err(error) => return unreadable(attempt, reduce, &format!("{}: {error}", index.display())),
    };
    let Some(entry) = reduce.parse().ok().and_then(|reduce: usize| entries.get(reduce)) else {
        return refusal(400, &format!("{map} has output for {} reduces; none for {reduce}", entries.len()));
    };
    found(map, reduce, entry, folder.join(OUTPUT_FILE))
}

fn found(map: &str, reduce: &str, entry: &IndexEntry, path: PathBuf) -> ServletAnswer {
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
        body: Some(FileRange { path, start_bytes: entry.start_bytes, length_bytes: lengths.stored_bytes }),
        lost: None,
    }
}

fn refusal(status: u16, reason: &str) -> ServletAnswer {
    let reason = reason.replace(|c: char| c.is_control() || !c.is_ascii(), "?");
    ServletAnswer { status, reason, headers: Vec::new(), body: None, lost: None }
}

/// An output that ought to be here cannot be read.
#[must_use]
pub fn unreadable(attempt: AttemptId, reduce: &str, error: &str) -> ServletAnswer {
    let reason = format!("getMapOutput({attempt},{reduce}) failed : {error}");
    ServletAnswer { lost: Some(attempt), ..refusal(410, &reason) }
}

#[cfg(test)]
#[path = "../tests/servlet.rs"]
mod tests;
