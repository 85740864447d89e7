//! `jobtracker job resubmit`: submits a job again, as it was submitted from this machine.

use std::path::Path;

use crate::cli::place::PlaceArguments;
use crate::cli::terminal::print_error;
use crate::client::job::JobId;
use crate::client::job::earlier_output::is_left_over;
use crate::client::job::view::JobState;
use crate::fs::FileUri;

use super::connection::{ConnectionArguments, JobCommandError, Outcome};
use super::submission_record::SubmissionRecord;
use super::submit::submit;

/// Options of `job resubmit`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ResubmitArguments {
    /// Job id, such as job_202611211200_0001
    #[arg(value_name = "JOB")]
    job: JobId,
    /// Replace the output directory if it holds what a job of yours wrote
    #[arg(long)]
    overwrite: bool,
    /// Another output directory; must not exist
    #[arg(long, value_name = "PATH")]
    output: Option<String>,
    /// Another name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Another queue
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// Set one more property of the job, or change one
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    properties: Vec<String>,
    /// Exit as soon as the job is accepted
    #[arg(long)]
    detach: bool,
    /// JobTracker, signer, output form; addresses not given are those of the first submission.
    #[command(flatten)]
    connection: ConnectionArguments,
}

pub(super) async fn resubmit(arguments: &ResubmitArguments) -> Outcome {
    let ResubmitArguments { job, overwrite, output, name, queue, properties, detach, connection } = arguments;
    let SubmissionRecord { directory, jobtracker, conf, server, arguments: mut wanted, output: earlier_output, .. } =
        SubmissionRecord::read(*job)?;
    // A path of now is relative to the folder of now.
    let is_same_output = output.is_none();
    let output = output.as_ref().map(|output| absolute(output)).transpose()?;
    wanted.change(output, name.as_ref(), queue.as_ref(), properties);
    wanted.overwrite = *overwrite;
    wanted.detach = *detach;
    wanted.counters &= !detach;
    wanted.connection = connection.clone();
    let place = &mut wanted.connection.market.place;
    if place.jobtracker.is_none() && place.conf.is_none() {
        let server = place.server.take().or(server);
        *place = PlaceArguments { server, jobtracker, conf };
    }
    std::env::set_current_dir(&directory).map_err(|error| {
        let folder = directory.display();
        JobCommandError::Argument(format!("{job} was submitted from {folder}, which cannot be entered: {error}"))
    })?;
    if !*overwrite && is_same_output {
        wanted.overwrite = left_its_output(*job, earlier_output.as_ref(), &wanted.connection).await;
    }
    submit(&wanted).await
}

/// Whether the job was killed or failed, and what stands where it wrote is what it left: neither a whole output nor that of a
/// job that runs.
async fn left_its_output(job: JobId, output: Option<&FileUri>, connection: &ConnectionArguments) -> bool {
    let found = async {
        let mut connected = connection.connection(&[]).await.ok()?;
        let state = connected.jobtracker.job(job).await.ok()?.state;
        let files = connected.configuration.file_systems(connected.jobtracker.user());
        let is_left = output.is_some_and(|output| is_left_over(&files, output));
        Some(matches!(state, JobState::Killed | JobState::Failed) && is_left)
    };
    let is_left = found.await.unwrap_or(false);
    if let Some(output) = output.filter(|_| is_left) {
        print_error(&format!("jobtracker: replacing what {job} left in {output}"));
    }
    is_left
}

/// A path that does not depend on the working directory; a URI stays.
fn absolute(path: &str) -> Result<String, JobCommandError> {
    if path.is_empty() || path.contains(":/") {
        return Ok(path.to_owned());
    }
    Ok(std::path::absolute(Path::new(path))?.to_string_lossy().into_owned())
}
