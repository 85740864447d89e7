//! `jobtracker scheduler`: shows which scheduler rules, plans a switch, switches.

use std::fmt::Write as _;

use crate::api::{SchedulerStatus, SwitchPlan, group_sentences, room_sentence};
use crate::config::settings::{SchedulerName, UnknownScheduler};
use crate::lifecycle::{SchedulerAnswer, SchedulerRequest, request_scheduler};

use super::exit_code::{Failure, WRONG_USAGE};
use super::market_text;
use super::serve::ConfigurationArguments;
use super::terminal;
use super::time_text::format_time;

/// Subcommands of `scheduler`.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum SchedulerCommand {
    /// Show the scheduler that rules, since when, by whose choice, and its queues, pools or accounts
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// The daemon's configuration, which sets the state directory with the control socket.
        #[command(flatten)]
        configuration: ConfigurationArguments,
    },
    /// Show what a switch would do now, by the daemon's conf folder as it is now; changes nothing
    Plan(SwitchArguments),
    /// Switch: all of the plan or nothing, between two heartbeats; of the ruling scheduler, read its files again
    Use(SwitchArguments),
}

/// Options of `plan` and `use`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SwitchArguments {
    /// Scheduler: fifo, capacity, fair, constraint, dynamic, or a class name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Move jobs to this queue whose own queue the scheduler lacks
    #[arg(long, value_name = "QUEUE")]
    pub(crate) move_to: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// The daemon's configuration, which sets the state directory with the control socket.
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArguments,
}

/// Runs the command; returns the text to print and the exit code: 2 where the switch is refused. Fails with 2 for wrong usage
/// or configuration, or refused; 4 if no daemon is reached; 1 for any other failure.
pub(crate) fn run(command: &SchedulerCommand) -> Result<(String, u8), Failure> {
    match command {
        SchedulerCommand::Show { json, configuration } => match ask(configuration, SchedulerRequest::Show, false)? {
            SchedulerAnswer::Status(status) if *json => Ok((market_text::json(&status), 0)),
            SchedulerAnswer::Status(status) => Ok((render_status(&status), 0)),
            other => Err(unexpected(other)),
        },
        SchedulerCommand::Plan(arguments) => {
            let (class, move_to) = arguments.wish()?;
            let request = SchedulerRequest::Plan { class, move_to };
            match ask(&arguments.configuration, request, arguments.json)? {
                SchedulerAnswer::Plan(plan) => shown(&plan, arguments.json, render_plan),
                other => Err(unexpected(other)),
            }
        }
        SchedulerCommand::Use(arguments) => {
            let (class, move_to) = arguments.wish()?;
            let request = SchedulerRequest::Use { class, move_to };
            match ask(&arguments.configuration, request, arguments.json)? {
                SchedulerAnswer::Done(plan) => shown(&plan, arguments.json, render_done),
                // Refused; the plan says why.
                SchedulerAnswer::Plan(plan) => shown(&plan, arguments.json, render_plan),
                other => Err(unexpected(other)),
            }
        }
    }
}

impl SwitchArguments {
    fn wish(&self) -> Result<(String, Option<String>), UnknownScheduler> {
        let scheduler: SchedulerName = self.name.parse()?;
        Ok((scheduler.class.to_owned(), self.move_to.clone()))
    }
}

/// Says on stderr until when a switch waits, if it does; with `is_silent` nothing.
fn ask(
    configuration: &ConfigurationArguments,
    request: SchedulerRequest,
    is_silent: bool,
) -> Result<SchedulerAnswer, Failure> {
    let state_dir = configuration.load_options().state_dir()?;
    let say = |plan: &SwitchPlan| {
        if !is_silent {
            terminal::print_error(&render_wait(plan));
        }
    };
    Ok(request_scheduler(&state_dir, request, say)?)
}

fn shown(plan: &SwitchPlan, is_json: bool, render: impl Fn(&SwitchPlan) -> String) -> Result<(String, u8), Failure> {
    let text = if is_json { market_text::json(plan) } else { render(plan) };
    Ok((text, if plan.is_permitted() { 0 } else { WRONG_USAGE }))
}

fn unexpected(answer: SchedulerAnswer) -> Failure {
    match answer {
        SchedulerAnswer::Refused { why } => Failure::usage(format_args!("refused, nothing is changed: {why}")),
        _ => Failure::other("the daemon answered another request"),
    }
}

/// Which scheduler rules, since when, by whose choice; and its groups.
pub(super) fn render_status(status: &SchedulerStatus) -> String {
    let by = match &status.by {
        Some(user) => format!("chosen by {user}"),
        None => "as configured".to_owned(),
    };
    let mut text = format!("{}\nsince {}, {by}\n", status.scheduler, format_time(status.since_ms));
    if status.configured != status.scheduler {
        push(&mut text, format_args!("mapred.jobtracker.taskScheduler named {} then", status.configured));
    }
    if let Some(waiting) = &status.waiting {
        let until = format_time(waiting.until_ms);
        push(&mut text, format_args!("{} wants {}: it begins at {until}", waiting.by, waiting.scheduler));
    }
    for sentence in room_sentence(status.slots).into_iter().chain(group_sentences(&status.groups)) {
        push(&mut text, format_args!("{sentence}"));
    }
    text
}

fn render_plan(plan: &SwitchPlan) -> String {
    plan.sentences(format_time).into_iter().map(|sentence| sentence + "\n").collect()
}

fn render_done(plan: &SwitchPlan) -> String {
    let mut text = match plan.is_reread() {
        true => format!("{} rules as before, by its files as they are now\n", plan.to),
        false => format!("{} rules now\n", plan.to),
    };
    for moved in &plan.moves {
        push(&mut text, format_args!("{} moved from queue {} to {}", moved.job, moved.from, moved.to));
    }
    for warning in &plan.warnings {
        push(&mut text, format_args!("warning: {warning}"));
    }
    text
}

/// Until when a switch waits.
fn render_wait(plan: &SwitchPlan) -> String {
    let until = plan.waits_until_ms.map_or_else(|| "the market's next tick".to_owned(), format_time);
    format!("waiting until {until} for the market's tick, which charges the open interval; interrupt to withdraw")
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    // A String takes every text.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{GroupStatus, MovedJob, SetKey, SwitchRefusal};
    use crate::model::{PerKind, PerPool};

    fn plan() -> SwitchPlan {
        let job = |number: u32| format!("job_202611210913_{number:04}").parse().unwrap();
        SwitchPlan {
            from: "Fifo".into(),
            to: "Capacity".into(),
            slots: PerPool::default(),
            groups: vec![GroupStatus {
                name: "a".into(),
                settings: vec!["capacity 30%".into(), "user limit 50%".into()],
                jobs: 1,
                applications: 0,
                held: PerKind::new(2, 1),
                container_slots: 0,
                due: Some(PerKind::new(3, 1)),
                due_container_slots: Some(4),
            }],
            begins: vec![job(1)],
            waits: (2..24).map(job).collect(),
            moves: vec![MovedJob { job: job(24), from: "b".into(), to: "a".into() }],
            without_claim: Vec::new(),
            at_risk: vec![job(26)],
            keys: vec![SetKey { key: "k".into(), value: "v".into(), place: "conf/f.xml:7".into() }],
            warnings: vec!["careful".into()],
            refusals: vec![SwitchRefusal::QueueMissing { queue: "c".into(), jobs: vec![job(25)] }],
            waits_until_ms: None,
        }
    }

    #[test]
    fn a_plan_shows_keys_groups_jobs_and_refusals() {
        let text = render_plan(&plan());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..4],
            [
                "from Fifo",
                "to   Capacity",
                "conf/f.xml:7: k = v",
                "a: 1 job, holds 2 map and 1 reduce slots, due 3 map and 1 reduce slots; capacity 30%, user limit 50%",
            ]
        );
        assert_eq!(lines[4], "1 begin: job_202611210913_0001");
        assert!(lines[5].starts_with("22 wait to begin: ") && lines[5].ends_with(", and 2 more"), "{}", lines[5]);
        assert_eq!(lines[6], "job_202611210913_0024 moves from queue b to a");
        assert_eq!(lines[7], "1 AT_RISK, as the slots of now do not keep their deadlines: job_202611210913_0026");
        assert_eq!(lines[8], "warning: careful");
        assert!(lines[9].starts_with("refused: 1 job is in queue c"), "{}", lines[9]);
        assert!(lines[9].contains("job_202611210913_0025"), "{}", lines[9]);
    }

    #[test]
    fn applications_and_their_containers_are_shown_where_there_are_any() {
        let mut with = plan();
        with.slots = PerPool::new(4, 2, 10);
        with.groups.push(GroupStatus {
            name: "b".into(),
            settings: Vec::new(),
            jobs: 0,
            applications: 1,
            held: PerKind::default(),
            container_slots: 6,
            due: None,
            due_container_slots: None,
        });
        let text = render_plan(&with);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[3..6],
            [
                "the cluster has 4 map and 2 reduce slots and 10 for containers",
                "a: 1 job, 0 applications, holds 2 map and 1 reduce slots and 0 for containers, \
                 due 3 map and 1 reduce slots and 4 for containers; capacity 30%, user limit 50%",
                "b: 0 jobs, 1 application, holds 0 map and 0 reduce slots and 6 for containers",
            ]
        );
    }

    #[test]
    fn a_status_says_since_when_and_by_whose_choice() {
        let status = SchedulerStatus {
            scheduler: "Fair".into(),
            since_ms: 1_795_252_000_000,
            by: Some("root".into()),
            configured: "Fifo".into(),
            slots: PerPool::new(4, 2, 0),
            groups: Vec::new(),
            waiting: None,
        };
        assert_eq!(
            render_status(&status),
            "Fair\nsince 2026-11-21T09:06:40Z, chosen by root\nmapred.jobtracker.taskScheduler named Fifo then\n"
        );
    }
}
