//! `jobtracker job submit`.

use std::process::ExitCode;

use crate::cli::market_text::{Form, json};
use crate::cli::terminal::print_error;
use crate::client::job::submit::{Prepared, Signing, Submitted};
use crate::client::job::view::{CounterLine, JobState};
use crate::client::job::watch::{Costs, Standing, watch};
use crate::client::job::{JobClientError, JobId, JobTrackerClient};
use crate::fs::FileUri;

use super::Outcome;
use super::counters::counters_text;
use super::error::JobCommandError;
use super::interrupt::{Choice, ask};
use super::place::{Place, PlaceArguments};
use super::progress::Progress;
use super::submit_arguments::SubmitArguments;

/// Exit code when the job failed or was killed.
const JOB_FAILED: u8 = 1;
/// Exit code after Ctrl-C before the job was taken, as of whatever a shell runs.
const INTERRUPTED: u8 = 130;

/// How a followed job was left.
enum End {
    /// It is over.
    Over(Box<Standing>),
    /// It goes on.
    Detached,
}

pub(super) async fn submit(arguments: &SubmitArguments) -> Outcome {
    let place_arguments = &arguments.place;
    let form = place_arguments.form();
    let working_dir = std::env::current_dir()?;
    let job = arguments.job(&working_dir)?;
    let output = job.output.to_string();
    let mut place = place_arguments.place(&arguments.properties)?;
    let signing = place_arguments.signer()?.map(|signer| Signing {
        signer,
        market: place_arguments.market(&place),
        wall_ms: crate::clock::wall_ms,
    });
    let working_dir = FileUri::parse(&working_dir.to_string_lossy()).map_err(JobClientError::from)?;
    let prepared = Prepared::new(job, &place.configuration, &working_dir)?;
    if prepared.needs_built_in_worker() {
        print_error(
            "jobtracker: no --streaming-jar and none in $HADOOP_HOME/contrib/streaming: only built-in workers can run this job",
        );
    }
    let reduces = prepared.reduces();
    let submitted = tokio::select! {
        submitted = prepared.submit(&mut place.jobtracker, signing.as_ref()) => submitted?,
        _ = tokio::signal::ctrl_c() => return Ok((String::new(), ExitCode::from(INTERRUPTED))),
    };
    if arguments.detach {
        let text = match form {
            Form::Json => json(&serde_json::json!({ "job": submitted.job, "maps": submitted.maps, "output": output })),
            Form::Table => format!("{}\n", submitted.job),
        };
        return Ok((text, ExitCode::SUCCESS));
    }
    let mut progress = Progress::new(form == Form::Json);
    progress.say(&taken_text(&submitted, reduces));
    follow(place, place_arguments, submitted.job, &output, progress).await
}

fn taken_text(submitted: &Submitted, reduces: Option<u32>) -> String {
    let Submitted { job, files, maps, is_signed } = submitted;
    let signed = if *is_signed { "signed, " } else { "" };
    let files = if *files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    let reduces = reduces.map(|reduces| format!(", reduces {reduces}")).unwrap_or_default();
    format!("{job} is taken: {signed}{files} of input, maps {maps}{reduces}")
}

async fn follow(
    mut place: Place,
    arguments: &PlaceArguments,
    job: JobId,
    output: &str,
    mut progress: Progress,
) -> Outcome {
    let line = place.jobtracker.job(job).await?;
    let costs = arguments.costs(&line)?;
    let end = to_the_end(&mut place.jobtracker, job, &costs, &mut progress).await;
    progress.end();
    match end? {
        End::Over(standing) => {
            let counters = place.jobtracker.counters(job).await?;
            let code = if standing.job.state == JobState::Succeeded { 0 } else { JOB_FAILED };
            Ok((end_text(&standing, &counters, output, arguments.form()), ExitCode::from(code)))
        }
        End::Detached => {
            let at = place.jobtracker.address();
            let text = format!(
                "{job} goes on; look at it with `jobtracker job status {job} --jobtracker {at}`, end it with `jobtracker job kill {job} --jobtracker {at}`"
            );
            // For people, who pressed Ctrl-C.
            print_error(&text);
            Ok((String::new(), ExitCode::SUCCESS))
        }
    }
}

async fn to_the_end(
    jobtracker: &mut JobTrackerClient,
    job: JobId,
    costs: &Costs,
    progress: &mut Progress,
) -> Result<End, JobCommandError> {
    loop {
        let mut told = |news| progress.tell(news);
        tokio::select! {
            standing = watch(jobtracker, job, Some(costs), &mut told) => return Ok(End::Over(Box::new(standing?))),
            _ = tokio::signal::ctrl_c() => {}
        }
        match ask().await {
            Choice::Detach => return Ok(End::Detached),
            Choice::Kill => jobtracker.kill(job).await?,
            Choice::GoOn => {}
        }
    }
}

fn end_text(standing: &Standing, counters: &[CounterLine], output: &str, form: Form) -> String {
    let Standing { job, map, reduce, failed_attempts, cost } = standing;
    if form == Form::Json {
        return json(&serde_json::json!({
            "job": job.job, "state": job.state, "name": job.name, "user": job.user, "queue": job.queue,
            "started_ms": job.started_ms, "failure": job.failure, "url": job.url, "output": output,
            "tasks": { "map": map, "reduce": reduce }, "failed_attempts": failed_attempts, "cost": cost,
            "counters": counters,
        }));
    }
    let mut text = format!("{} {}", job.job, job.state.name());
    if let Some(failure) = &job.failure {
        text += &format!(": {}", failure.trim_end());
    }
    text += "\n\n";
    text += &counters_text(counters);
    text += "\n";
    if let Some(cost) = cost {
        text += &format!("cost    {cost} up to the last tick\n");
    }
    text += &match job.state {
        JobState::Succeeded => format!("output  {output}\n"),
        JobState::Failed => format!("output  none; what went wrong: jobtracker job logs {}\n", job.job),
        _ => "output  none\n".to_owned(),
    };
    text
}
