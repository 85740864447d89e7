//! `jobtracker job resubmit`: submits a job again, as it was submitted from this machine.

use std::path::Path;

use crate::cli::place::PlaceArguments;
use crate::client::job::JobId;

use super::connection::ConnectionArguments;
use super::error::{JobCommandError, Outcome};
use super::submission_record::SubmissionRecord;
use super::submit::submit;

/// Options of `job resubmit`.
#[derive(Clone, Debug, clap::Args)]
pub struct ResubmitArguments {
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
    let SubmissionRecord { directory, jobtracker, conf, server, arguments: mut wanted, .. } =
        SubmissionRecord::read(*job)?;
    // A path of now is relative to the folder of now.
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
    submit(&wanted).await
}

/// A path that does not depend on the working directory; a URI stays.
fn absolute(path: &str) -> Result<String, JobCommandError> {
    if path.is_empty() || path.contains(":/") {
        return Ok(path.to_owned());
    }
    Ok(std::path::absolute(Path::new(path))?.to_string_lossy().into_owned())
}
