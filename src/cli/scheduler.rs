//! `jobtracker scheduler`: shows which scheduler rules, plans a switch, switches.

use crate::api::SwitchPlan;
use crate::config::ConfigError;
use crate::config::settings::{SchedulerName, UnknownScheduler};
use crate::lifecycle::{ControlError, SchedulerAnswer, SchedulerRequest, request_scheduler};

use super::exit_code::WRONG_USAGE;
use super::scheduler_text::{render_done, render_plan, render_status, render_wait};
use super::serve::ConfigurationArguments;
use super::terminal;

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

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SchedulerFailure {
    /// The name.
    #[error("{0}")]
    Name(#[from] UnknownScheduler),
    /// The configuration.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The daemon.
    #[error("{0}")]
    Ask(#[from] ControlError),
    /// Nothing was changed.
    #[error("refused, nothing is changed: {0}")]
    Refused(String),
    /// An answer to another request.
    #[error("the daemon answered another request")]
    Confused,
    /// JSON cannot be made of the answer.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

impl SchedulerFailure {
    /// The exit code: 2 for wrong usage or configuration, or refused; 4 if no daemon is reached; 1 for any other failure.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Name(_) | Self::Config(_) | Self::Refused(_) => WRONG_USAGE,
            Self::Ask(ControlError::Unreached { .. }) => 4,
            Self::Ask(ControlError::Unanswered(_)) | Self::Confused | Self::Json(_) => 1,
        }
    }
}

/// Runs the command; returns the text to print and the exit code: 2 where the switch is refused.
///
/// # Errors
/// [`SchedulerFailure`]
pub(crate) fn run(command: &SchedulerCommand) -> Result<(String, u8), SchedulerFailure> {
    match command {
        SchedulerCommand::Show { json, configuration } => match ask(configuration, SchedulerRequest::Show, false)? {
            SchedulerAnswer::Status(status) if *json => Ok((pretty(&status)?, 0)),
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
) -> Result<SchedulerAnswer, SchedulerFailure> {
    let state_dir = configuration.load_options().state_dir()?;
    let say = |plan: &SwitchPlan| {
        if !is_silent {
            terminal::print_error(&render_wait(plan));
        }
    };
    Ok(request_scheduler(&state_dir, request, say)?)
}

fn shown(
    plan: &SwitchPlan,
    is_json: bool,
    render: impl Fn(&SwitchPlan) -> String,
) -> Result<(String, u8), SchedulerFailure> {
    let text = if is_json { pretty(plan)? } else { render(plan) };
    Ok((text, if plan.is_permitted() { 0 } else { WRONG_USAGE }))
}

fn unexpected(answer: SchedulerAnswer) -> SchedulerFailure {
    match answer {
        SchedulerAnswer::Refused { why } => SchedulerFailure::Refused(why),
        _ => SchedulerFailure::Confused,
    }
}

fn pretty(value: &impl serde::Serialize) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}
