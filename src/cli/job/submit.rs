//! `jobtracker job submit`: submits a streaming job and follows it.

use std::process::ExitCode;

use crate::cli::exit_code::INTERRUPTED;
use crate::cli::market_text::{Form, json};
use crate::cli::signer::{KEY_FILE, SignerArguments};
use crate::cli::terminal::print_error;
use crate::client::job::deadline_line::DeadlineLine;
use crate::client::job::streaming::shell_word;
use crate::client::job::submit::{PreparedJob, SigningOptions, Submitted};
use crate::client::job::view::{CounterLine, JobLine, JobState};
use crate::client::job::watch::JobProgress;
use crate::client::job::{JobClientError, JobId};
use crate::fs::FileUri;

use super::connection::{Connection, ConnectionArguments};
use super::counters::render_counters;
use super::dry_run::dry_run;
use super::error::Outcome;
use super::follow::{End, exit_code_of, follow_to_end, print_detached};
use super::progress::Progress;
use super::submit_arguments::SubmitArguments;

pub(super) async fn submit(arguments: &SubmitArguments) -> Outcome {
    let connection_arguments = &arguments.connection;
    let form = connection_arguments.form();
    let working_dir = std::env::current_dir()?;
    let job = arguments.job(&working_dir)?;
    let output = job.output.to_string();
    let mut connection = connection_arguments.connection(&arguments.properties())?;
    let signing = connection_arguments.signer()?.map(|signer| SigningOptions {
        signer,
        market: connection_arguments.market(&connection),
        wall_ms: crate::clock::wall_ms,
    });
    let working_dir = FileUri::parse(&working_dir.to_string_lossy()).map_err(JobClientError::from)?;
    let prepared = PreparedJob::new(job, &connection.configuration, &working_dir)?;
    if arguments.dry_run {
        let market = connection_arguments.market(&connection);
        return dry_run(&prepared, &market, connection_arguments.signer()?.as_ref(), &arguments.deadline, form).await;
    }
    for (option, command) in arguments.commands() {
        if let Some(word) = shell_word(command) {
            print_error(&format!(
                "jobtracker: warning: {option}: the command gets `{word}` as an argument, since no shell runs it; expected a \
                 script, or sh -c '...'"
            ));
        }
    }
    if prepared.needs_built_in_worker() {
        print_error(
            "jobtracker: warning: no --streaming-jar and none in $HADOOP_HOME/contrib/streaming: only built-in workers can run this job",
        );
    }
    let reduces = prepared.reduces();
    let submitted = tokio::select! {
        submitted = prepared.submit(&mut connection.jobtracker, signing.as_ref()) => {
            submitted.map_err(|error| with_signer(error, signing.as_ref(), &connection_arguments.market.signer))?
        }
        _ = tokio::signal::ctrl_c() => return Ok((String::new(), ExitCode::from(INTERRUPTED))),
    };
    if arguments.deadline.is_stated() {
        let line = connection.jobtracker.job(submitted.job).await?;
        print_error(&render_deadline(&line));
    }
    if arguments.detach {
        let text = match form {
            Form::Json => json(&serde_json::json!({ "job": submitted.job, "maps": submitted.maps, "output": output })),
            Form::Table => format!("{}\n", submitted.job),
        };
        return Ok((text, ExitCode::SUCCESS));
    }
    let mut progress = Progress::new(form == Form::Json);
    progress.print(&render_submitted(&submitted, reduces));
    follow(connection, connection_arguments, submitted.job, &output, progress).await
}

/// A denial by the market says with which key the job was signed.
fn with_signer(error: JobClientError, signing: Option<&SigningOptions>, arguments: &SignerArguments) -> JobClientError {
    let JobClientError::Denied(text) = error else { return error };
    if !text.starts_with("ACCESS DENIED") {
        return JobClientError::Denied(text);
    }
    JobClientError::Denied(match (signing, arguments.key_source()) {
        (Some(signing), Ok(source)) => format!("{text}; signed as {} with the key in {source}", signing.signer.user),
        _ => format!("{text}; the job was not signed: no key in --key-file, $HADOOP_KEY or ~/{KEY_FILE}"),
    })
}

fn render_submitted(submitted: &Submitted, reduces: Option<u32>) -> String {
    let Submitted { job, files, maps, is_signed } = submitted;
    let signed = if *is_signed { "signed, " } else { "" };
    let files = if *files == 1 { "1 input file".to_owned() } else { format!("{files} input files") };
    let reduces = reduces.map(|reduces| format!(", reduces {reduces}")).unwrap_or_default();
    format!("{job} submitted: {signed}{files}, maps {maps}{reduces}")
}

/// Which scheduler keeps the deadline that was stated.
fn render_deadline(job: &JobLine) -> String {
    let id = job.job;
    match &job.deadline {
        Some(DeadlineLine { after_s, plan, .. }) if plan.starts_with("Order: ") => {
            format!("{id}: the market keeps its deadline of {after_s} s, from the next tick on. {plan}")
        }
        Some(DeadlineLine { after_s, state, plan, .. }) => {
            format!("{id}: the constraint scheduler keeps its deadline of {after_s} s, {state}: {plan}")
        }
        None => format!(
            "jobtracker: warning: {id}: no scheduler keeps its deadline: the constraint scheduler does not rule, and no order bids for it (--max-rate)"
        ),
    }
}

async fn follow(
    mut connection: Connection,
    arguments: &ConnectionArguments,
    job: JobId,
    output: &str,
    mut progress: Progress,
) -> Outcome {
    let line = connection.jobtracker.job(job).await?;
    let costs = arguments.costs(&line)?;
    let end = follow_to_end(&mut connection.jobtracker, job, &costs, &mut progress).await;
    progress.end();
    match end? {
        End::Finished(progress) => {
            let counters = connection.jobtracker.counters(job).await?;
            let text = render_end(&progress, &counters, output, arguments.form());
            Ok((text, exit_code_of([progress.job.state])))
        }
        End::Detached => {
            print_detached(job, connection.jobtracker.address());
            Ok((String::new(), ExitCode::SUCCESS))
        }
    }
}

fn render_end(progress: &JobProgress, counters: &[CounterLine], output: &str, form: Form) -> String {
    let JobProgress { job, map, reduce, failed_attempts, cost } = progress;
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
    text += &render_counters(counters);
    text += "\n";
    if let Some(cost) = cost {
        text += &format!("cost    {cost} up to the last tick\n");
    }
    text += &match job.state {
        JobState::Succeeded => format!("output  {output}\n"),
        JobState::Failed => format!("output  none; for the reason, run: jobtracker job logs {}\n", job.job),
        _ => "output  none\n".to_owned(),
    };
    text
}
