//! `jobtracker job submit`: submits a streaming job and follows it.

use std::process::ExitCode;

use crate::cli::exit_code::INTERRUPTED;
use crate::cli::market_text::{OutputForm, json};
use crate::cli::pasted::pasted;
use crate::cli::place::PlaceArguments;
use crate::cli::signer::KEY_FILE;
use crate::cli::terminal::print_error;
use crate::cli::time_text::with_shown_times;
use crate::client::job::earlier_output::{EarlierOutput, has_parts};
use crate::client::job::streaming::{StreamingJob, shell_word};
use crate::client::job::submit::{PreparedJob, SigningOptions, Submitted};
use crate::client::job::view::{DeadlineLine, JobCounter, JobLine, JobState};
use crate::client::job::watch::JobProgress;
use crate::client::job::{JobClientError, JobId, JobTrackerClient};
use crate::fs::{FileSystems, FileUri};
use crate::model::{as_shell_word, counted};

use super::connection::{JobCommandError, JobTrackerConnection, Outcome};
use super::counters::{main_counters, render_counters};
use super::dry_run::dry_run;
use super::failures::AttemptFailures;
use super::follow::{End, exit_code_of, follow_to_end, print_detached};
use super::progress::{ProgressDisplay, no_worker};
use super::remarks::{idle_values, mistyped_properties, no_input};
use super::submission_record::SubmissionRecord;
use super::submit_arguments::{SubmitArguments, due_text};
use super::times::{add_cost, render_cost_line};

/// Where a job has its signature.
const SIGNATURE: &str = "mapred.job.signature";
/// Who submits, in Hadoop's words.
const USER_NAME: &str = "user.name";

/// Refuses a quote that is not closed, and the name of a Java class where a command is expected.
pub(super) fn check_commands(job: &StreamingJob) -> Result<(), JobCommandError> {
    if let Some((option, command, quote)) = job.unclosed_quote() {
        let text = format!("{option} {command}: the quote {quote} is not closed; expected a second one");
        return Err(JobCommandError::Argument(text));
    }
    if let Some(command) = job.misspelt_aggregate() {
        let text = format!(
            "--reducer {command}: there is no such file here; did you mean aggregate? A program of workers: --reducer 'env {command}'"
        );
        return Err(JobCommandError::Argument(text));
    }
    let Some((option, class)) = job.java_class() else { return Ok(()) };
    if class.ends_with(".IdentityMapper") {
        let text = format!("{option} {class}: a command passes records on as they are: {option} cat");
        return Err(JobCommandError::Argument(text));
    }
    let instead = match option {
        "--reducer" => ", NONE, aggregate or org.apache.hadoop.mapred.lib.IdentityReducer",
        "--combiner" => "; -D mapred.combiner.class=CLASS is for stock TaskTrackers",
        _ => "",
    };
    Err(JobCommandError::Argument(format!(
        "{option} {class}: there is no such file here, and this looks like the name of a Java class; expected a command{instead}; `hadoop jar` \
         submits jobs of other Java classes"
    )))
}

pub(super) async fn submit(arguments: &SubmitArguments) -> Outcome {
    let connection_arguments = &arguments.connection;
    let form = connection_arguments.form();
    let mut connection = connection_arguments.connection(&arguments.properties()).await?;
    let (configuration, user) = (&connection.configuration, connection.jobtracker.user());
    let files = configuration.file_systems(user);
    let working_dir = configuration.working_dir(user, &std::env::current_dir()?).map_err(JobClientError::from)?;
    let job = arguments.job(&working_dir)?;
    check_commands(&job)?;
    check_user(arguments, user)?;
    if let Some(due) = arguments.deadline.passed(crate::clock::wall_ms()).filter(|_| arguments.dry_run) {
        return Err(passed(&due));
    }
    let output = job.output.clone();
    let signing = connection_arguments.signer()?.map(|signer| SigningOptions {
        signer,
        market: connection.market.clone(),
        wall_ms: crate::clock::wall_ms,
    });
    let earlier = match arguments.overwrite {
        true => EarlierOutput::set_aside(&files, &output).map_err(JobClientError::from)?,
        false => None,
    };
    let prepared = PreparedJob::new(job, &connection.configuration, &files, &working_dir);
    let prepared = prepared.map_err(|error| arguments.explained(error))?;
    let prepared = prepared.with_web(connection.market.clone());
    if arguments.dry_run {
        let signer = connection_arguments.signer()?;
        return dry_run(&prepared, &connection.market, signer.as_ref(), &arguments.deadline, form).await;
    }
    warn_of_mistakes(arguments, &prepared, &connection).await;
    let (reduces, queue) = (prepared.reduces(), prepared.queue().to_owned());
    let submitted = tokio::select! {
        submitted = prepared.submit(&mut connection.jobtracker, signing.as_ref()) => match submitted {
            Ok(submitted) => submitted,
            Err(error) => return Err(refusal(error, &queue, arguments, signing.as_ref(), &mut connection.jobtracker).await),
        },
        _ = tokio::signal::ctrl_c() => return Ok((String::new(), ExitCode::from(INTERRUPTED))),
    };
    let job = submitted.job;
    if let Err(error) = record(arguments, job, &output) {
        print_error(&format!("jobtracker: warning: `job resubmit {job}` will not work: no record: {error}"));
    }
    if let Some(remark) = no_input(submitted.files) {
        print_error(&format!("jobtracker: warning: {remark}"));
    }
    if let Some(earlier) = earlier {
        earlier.remove().map_err(JobClientError::from)?;
    }
    if arguments.deadline.is_stated() {
        let line = connection.jobtracker.job(job).await?;
        print_error(&render_deadline(&line, arguments.deadline.passed(crate::clock::wall_ms()).as_deref()));
    }
    if arguments.detach {
        return detach(&mut connection, arguments, &submitted, &output).await;
    }
    let mut progress = ProgressDisplay::new(form == OutputForm::Json);
    progress.print(&render_submitted(&submitted, reduces));
    follow(connection, arguments, job, (&files, &output), progress).await
}

/// Refuses a `-D user.name` of somebody else than `user`, who submits.
fn check_user(arguments: &SubmitArguments, user: &str) -> Result<(), JobCommandError> {
    for property in &arguments.properties() {
        if let Some((name, other)) = property.split_once('=')
            && name.trim() == USER_NAME
            && other != user
        {
            let text = format!(
                "-D {USER_NAME}={other}: {user} submits this job, and it is of no other user; expected --as {other}"
            );
            return Err(JobCommandError::Argument(text));
        }
    }
    Ok(())
}

/// Warns of what is probably a mistake, but may be meant.
async fn warn_of_mistakes(arguments: &SubmitArguments, prepared: &PreparedJob, connection: &JobTrackerConnection) {
    for (option, command) in arguments.commands() {
        if let Some(word) = shell_word(command) {
            print_error(&format!(
                "jobtracker: warning: {option}: the command gets `{word}` as an argument, since no shell runs it; expected a \
                 script, or sh -c '...'"
            ));
        }
    }
    for fault in prepared.script_faults() {
        print_error(&format!("jobtracker: warning: {fault} on this machine; workers without it cannot run the job"));
    }
    for (option, file) in prepared.unshipped_files() {
        print_error(&format!(
            "jobtracker: warning: {option}: {file} is here but is not shipped, and workers do not find it: --file {}",
            as_shell_word(&file)
        ));
    }
    let given = arguments.properties();
    for remark in mistyped_properties(&given).into_iter().chain(idle_values(&given, |name| prepared.property(name))) {
        print_error(&format!("jobtracker: warning: {remark}"));
    }
    // Without either there are no stock TaskTrackers in sight.
    let knows_hadoop = arguments.connection.market.place.conf.is_some() || std::env::var_os("HADOOP_HOME").is_some();
    if prepared.needs_built_in_worker() && knows_hadoop && connection.market.may_have_stock_workers().await {
        print_error(
            "jobtracker: warning: stock TaskTrackers cannot run this job, built-in workers can; for stock ones give --streaming-jar FILE, or set HADOOP_HOME to a folder with contrib/streaming",
        );
    }
}

/// Why the JobTracker has not taken the job, in the words of this command line.
async fn refusal(
    error: JobClientError,
    queue: &str,
    arguments: &SubmitArguments,
    signing: Option<&SigningOptions>,
    jobtracker: &mut JobTrackerClient,
) -> JobCommandError {
    match error {
        JobClientError::Refused(text) if text.contains(" passed ") || text.contains("lies in the past") => {
            let due = arguments.deadline.passed(crate::clock::wall_ms());
            due.map_or_else(|| JobClientError::Refused(text).into(), |due| passed(&due))
        }
        // A signature is of its user's queue, whatever queues there are.
        error if is_signed_by_hand(arguments) => with_signer(error, signing, arguments).into(),
        error => with_signer(with_missing_queue(error, queue, jobtracker).await, signing, arguments).into(),
    }
}

/// Says why the submitted job waits, if it does, and leaves it to itself.
async fn detach(
    connection: &mut JobTrackerConnection,
    arguments: &SubmitArguments,
    submitted: &Submitted,
    output: &FileUri,
) -> Outcome {
    let line = connection.jobtracker.job(submitted.job).await?;
    let costs = arguments.connection.costs(&line)?;
    let why = match line.why_it_waits() {
        Some(why) => Some(why.clone()),
        None if connection.jobtracker.worker_count().await? == 0 => Some(no_worker()),
        // Unsigned jobs are of no market.
        None if submitted.is_signed => costs.why_unpaid(submitted.job).await,
        None => None,
    };
    if let Some(why) = why {
        print_error(&format!("jobtracker: warning: {}: {why}", submitted.job));
    }
    let text = match arguments.connection.form() {
        OutputForm::Json => {
            json(&serde_json::json!({ "job": submitted.job, "maps": submitted.maps, "output": output.to_string() }))
        }
        OutputForm::Table => format!("{}\n", submitted.job),
    };
    Ok((text, ExitCode::SUCCESS))
}

/// Keeps what was asked for.
fn record(arguments: &SubmitArguments, job: JobId, output: &FileUri) -> std::io::Result<()> {
    let place = arguments.connection.market.place.find(&[]).map_err(std::io::Error::other)?;
    let PlaceArguments { server, jobtracker, conf } = place.options();
    let record = SubmissionRecord {
        job,
        submitted_ms: crate::clock::wall_ms(),
        directory: std::env::current_dir()?,
        jobtracker,
        // As the paths of the options, it is relative to the directory.
        conf,
        server,
        arguments: arguments.clone(),
        output: Some(output.clone()),
    };
    record.write()
}

#[derive(Debug)]
enum OutputState<'a> {
    Complete(&'a FileUri),
    Incomplete(&'a FileUri),
    /// Nothing.
    None(&'a FileUri),
}

impl<'a> OutputState<'a> {
    fn folder(&self) -> &'a FileUri {
        let (Self::Complete(folder) | Self::Incomplete(folder) | Self::None(folder)) = self;
        folder
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Complete(_) => "complete",
            Self::Incomplete(_) => "incomplete",
            Self::None(_) => "none",
        }
    }
}

fn passed(due: &str) -> JobCommandError {
    JobCommandError::Argument(format!("--deadline {due} has passed; expected a time that is ahead"))
}

/// A denial by the market names no queue of others that there is; who submits to one that is not listed has mistyped it.
async fn with_missing_queue(error: JobClientError, queue: &str, jobtracker: &mut JobTrackerClient) -> JobClientError {
    match error {
        JobClientError::Denied(text)
            if text.contains("differs from user") && matches!(jobtracker.has_queue(queue).await, Ok(false)) =>
        {
            JobClientError::Denied(format!(
                "there is no queue {queue:?} (jobtracker queue list); the JobTracker says: {text}"
            ))
        }
        error => error,
    }
}

fn is_signed_by_hand(arguments: &SubmitArguments) -> bool {
    let sets_signature = |property: &String| property.split_once('=').is_some_and(|(name, _)| name.trim() == SIGNATURE);
    arguments.properties().iter().any(sets_signature)
}

/// A denial by the market says how the job was signed.
fn with_signer(error: JobClientError, signing: Option<&SigningOptions>, arguments: &SubmitArguments) -> JobClientError {
    let JobClientError::Denied(text) = error else { return error };
    // No signature helps a user that is not known.
    if !text.contains("ACCESS DENIED") || text.contains("the user is unknown") {
        return JobClientError::Denied(text);
    }
    JobClientError::Denied(match (signing, arguments.connection.market.signer.key_source()) {
        _ if is_signed_by_hand(arguments) => format!("{text}; signed by -D {SIGNATURE}"),
        (Some(signing), Ok(source)) => format!("{text}; signed as {} with the key in {source}", signing.signer.user),
        _ => format!(
            "the job was not signed: no key in --key-file, $HADOOP_KEY or ~/{KEY_FILE}; the JobTracker says: {text}"
        ),
    })
}

fn render_submitted(submitted: &Submitted, reduces: Option<u32>) -> String {
    let Submitted { job, files, maps, is_signed } = submitted;
    let signed = if *is_signed { "signed, " } else { "" };
    let files = counted(*files, "input file");
    let reduces = reduces.map(|reduces| format!(", reduces {reduces}")).unwrap_or_default();
    format!("{job} submitted: {signed}{files}, maps {maps}{reduces}")
}

/// Which scheduler keeps the deadline that was stated; `passed`: the deadline, if it has.
fn render_deadline(job: &JobLine, passed: Option<&str>) -> String {
    let id = job.job;
    let due = job.deadline.as_ref().map_or_else(String::new, |deadline| due_text(deadline, job.started_ms));
    match &job.deadline {
        Some(DeadlineLine { state, plan, .. }) => {
            let plan = with_shown_times(plan);
            let is_order = plan.starts_with("Order: ");
            let keeper = if is_order { "the market" } else { "the constraint scheduler" };
            let verb = match state.as_str() {
                "AT_RISK" | "SPENT" if is_order => "cannot keep",
                "AT_RISK" => "cannot promise",
                "LATE" => "has missed",
                _ => "keeps",
            };
            match is_order && verb == "keeps" {
                true => format!("{id}: {keeper} keeps its deadline of {due}, from the next tick on. {plan}"),
                false => format!("{id}: {keeper} {verb} its deadline of {due}, {state}: {plan}"),
            }
        }
        None => {
            let passed = passed.map(|due| format!("its deadline of {due} has passed, and ")).unwrap_or_default();
            format!(
                "jobtracker: warning: {id}: {passed}no scheduler keeps its deadline: the constraint scheduler does not rule, and no order bids for it (--max-rate)"
            )
        }
    }
}

async fn follow(
    mut connection: JobTrackerConnection,
    arguments: &SubmitArguments,
    job: JobId,
    (files, output): (&FileSystems, &FileUri),
    mut progress: ProgressDisplay,
) -> Outcome {
    let line = connection.jobtracker.job(job).await?;
    let costs = arguments.connection.costs(&line)?;
    let end = follow_to_end(&mut connection.jobtracker, job, &costs, &mut progress).await;
    let failures = progress.end();
    match end? {
        End::Finished(progress) => {
            let counters = connection.jobtracker.counters(job).await?;
            let form = arguments.connection.form();
            let counters =
                if arguments.counters || form == OutputForm::Json { counters } else { main_counters(counters) };
            let output = match progress.job.state {
                JobState::Succeeded => OutputState::Complete(output),
                _ if has_parts(files, output) => OutputState::Incomplete(output),
                _ => OutputState::None(output),
            };
            let text = render_end(&progress, &failures, &counters, &output, form);
            Ok((text, exit_code_of([progress.job.state])))
        }
        End::Detached => {
            print_detached(job, connection.jobtracker.address());
            Ok((String::new(), ExitCode::SUCCESS))
        }
    }
}

fn render_end(
    progress: &JobProgress,
    failures: &AttemptFailures,
    counters: &[JobCounter],
    output: &OutputState<'_>,
    form: OutputForm,
) -> String {
    let JobProgress { job, map, reduce, failed_attempts, cost } = progress;
    if form == OutputForm::Json {
        let mut object = serde_json::json!({
            "job": job.job, "state": job.state, "name": job.name, "user": job.user, "queue": job.queue,
            "started_ms": job.started_ms, "failure": job.failure, "killed_by": job.killed_by, "url": job.url, "output": output.folder().to_string(), "output_state": output.name(),
            "tasks": { "map": map, "reduce": reduce }, "failed_attempts": failed_attempts,
            "counters": counters, "deadline": job.deadline,
        });
        add_cost(&mut object, cost);
        return json(&object);
    }
    let mut text = format!("{} {}", job.job, job.state.name());
    if let Some(reason) = failures.reason(job, map, reduce) {
        text += &format!(": {reason}");
    }
    text += "\n\n";
    if let Some(late) = job.late_by() {
        text += &format!("deadline  {late}\n");
    }
    let counters = render_counters(counters);
    if !counters.is_empty() {
        text += &format!("{counters}\n");
    }
    if let Some(cost) = render_cost_line(cost) {
        text += &format!("cost    {cost}\n");
    }
    text += &match output {
        OutputState::Complete(folder) => format!("output  {folder}\n"),
        OutputState::Incomplete(folder) => format!("output  incomplete in {folder}; to run it again: --overwrite\n"),
        OutputState::None(_) => "output  none\n".to_owned(),
    };
    if job.state == JobState::Failed {
        text += &format!("logs    {}\n", pasted(&format!("jobtracker job logs {}", job.job)));
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Words {
        #[command(flatten)]
        submit: SubmitArguments,
    }

    #[test]
    fn a_denial_of_a_job_that_was_signed_by_hand_says_by_what() {
        let words = [
            "submit",
            "--input",
            "i",
            "--output",
            "o",
            "--mapper",
            "cat",
            "--reducer",
            "NONE",
            "-D",
            "mapred.job.signature=x",
        ];
        let arguments = Words::try_parse_from(words).unwrap().submit;
        let said = |text: &str| with_signer(JobClientError::Denied(text.to_owned()), None, &arguments).to_string();
        let denied = "ACCESS DENIED: the signature does not match";
        assert_eq!(said(denied), format!("{denied}; signed by -D mapred.job.signature"));
        // No signature helps a user that is not known, nor where access lists deny.
        for other in ["ACCESS DENIED: the user is unknown", "User alice cannot perform operation SUBMIT_JOB"] {
            assert_eq!(said(other), other);
        }
        let refused = with_signer(JobClientError::Refused("no".to_owned()), None, &arguments);
        assert!(matches!(refused, JobClientError::Refused(_)), "{refused}");
    }
}
