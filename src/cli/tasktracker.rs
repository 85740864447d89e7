//! `jobtracker tasktracker`: runs a worker for Hadoop Streaming jobs in the foreground.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use rustix::process::geteuid;

use crate::cli::exit_code::{DENIED, FAILED, Failure, HasExitCode, WRONG_USAGE};
use crate::cli::next_steps::after_tasktracker;
use crate::cli::serve::{ConfigurationArguments, reach};
use crate::config::{contradictions, keys};
use crate::supervisor::process::THIS_PROGRAM;
use crate::worker::run_as::RunAs;
use crate::worker::{
    HeartbeatError, RunningWorker, TaskTrackerError, TaskTrackerSettings, machine_warnings, run as run_tracker,
};

/// Options of `tasktracker`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TaskTrackerArguments {
    /// Conf folder of the cluster; default: $JOBTRACKER_CONF, else $HADOOP_CONF_DIR; with none, the JobTracker on 127.0.0.1:8021
    #[arg(long, value_name = "DIR")]
    conf: Option<PathBuf>,
    /// Set a configuration key, overriding the conf folder; can be repeated
    #[arg(short = 'D', value_name = "KEY=VALUE")]
    define: Vec<String>,
    /// Run up to N maps at a time, and half as many reduces, at least one; default: the configured slots, without a conf folder
    /// a map for each core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_SLOTS))]
    slots: Option<u32>,
    /// Name of this worker for `jobtracker workers`, which it keeps whatever its port: letters, digits, `_`, `-` and `.`, at most 64
    #[arg(long, value_name = "NAME", value_parser = worker_name)]
    name: Option<String>,
}

/// Of one machine.
const MOST_SLOTS: i64 = 10_000;
/// Longest name of a worker, bytes.
const LONGEST_NAME: usize = 64;

impl TaskTrackerArguments {
    /// Keys that are set, `key=value`; what is set by its key comes last and counts.
    fn definitions(&self, default_slots: Option<u32>) -> Vec<String> {
        let of_slots = |slots: u32| {
            let (map, reduce) = (keys::MAP_SLOTS.name, keys::REDUCE_SLOTS.name);
            [format!("{map}={slots}"), format!("{reduce}={}", (slots / 2).max(1))]
        };
        self.slots.or(default_slots).into_iter().flat_map(of_slots).chain(self.define.iter().cloned()).collect()
    }
}

/// Parses a name that can be part of a tracker's name.
fn worker_name(text: &str) -> Result<String, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    match is_plain && (1..=LONGEST_NAME).contains(&text.len()) {
        true => Ok(text.to_owned()),
        false => Err(format!("expected 1 to {LONGEST_NAME} letters, digits, `_`, `-` and `.`")),
    }
}

impl HasExitCode for TaskTrackerError {
    /// The exit code: 2 for wrong usage or configuration, and for whatever else only a person can mend, 3 if the JobTracker
    /// does not admit this host, 1 for any other failure.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Heartbeat(HeartbeatError::Disallowed(_)) => DENIED,
            error if error.is_permanent() => WRONG_USAGE,
            _ => FAILED,
        }
    }
}

/// Processors that this process may use.
fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1))
}

/// Loads the configuration and runs until SIGTERM or SIGINT, or until its terminal is closed.
pub(crate) fn run(arguments: &TaskTrackerArguments) -> Result<(), Failure> {
    let without_slots = ConfigurationArguments { conf: arguments.conf.clone(), define: Vec::new() }.load_options();
    let default_slots = without_slots.conf_dir.is_none().then(cores);
    let define = arguments.definitions(default_slots);
    let configuration =
        ConfigurationArguments { conf: arguments.conf.clone(), define }.load_options().configuration()?;
    let mut warnings = configuration.warnings();
    warnings.extend(contradictions::of_tasktracker(&configuration));
    let settings = TaskTrackerSettings {
        name: arguments.name.clone(),
        ..TaskTrackerSettings::read(configuration, default_slots.is_none())?
    };
    for warning in warnings {
        tracing::warn!("{warning}");
    }
    for warning in machine_warnings(&settings) {
        tracing::warn!("{warning}");
    }
    let lines = start_lines(&settings);
    // Variables that are not UTF-8 are not passed on.
    let text = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let environment: BTreeMap<_, _> = std::env::vars_os().filter_map(text).collect();
    let supervisor = Some(PathBuf::from(THIS_PROGRAM));
    run_tracker(settings, environment, supervisor, crate::lifecycle::worker_stop_signal(), |running| {
        for line in lines(running) {
            tracing::info!("{line}");
        }
    })?;
    Ok(())
}

/// Addresses, directories and the next commands.
fn start_lines(settings: &TaskTrackerSettings) -> impl FnOnce(&RunningWorker) -> Vec<String> + use<> {
    let (jobtracker, slots) = (settings.jobtracker.clone(), settings.slots);
    let run_as = run_as_line(&settings.run_as, &settings.user);
    let logs = match settings.needs_log_tickets {
        true => "logs need tickets of the JobTracker",
        false => "logs need no token (mapred.acls.enabled is off)",
    };
    move |running| {
        let folders: Vec<String> = running.folders.iter().map(|folder| folder.display().to_string()).collect();
        let folders = folders.join(" and ");
        let mut lines = vec![
            format!("tasktracker {}: {}", env!("CARGO_PKG_VERSION"), running.name),
            format!(
                "runs tasks of the JobTracker at {jobtracker}: {} map slots, {} reduce slots; Hadoop Streaming only",
                slots.map, slots.reduce
            ),
            format!("map output and logs on http://{}/, open to {}; {logs}", running.http, reach(running.http)),
            format!("job files in {folders}, logs in {}", running.logs.display()),
            run_as,
            match &running.containers {
                Some(containers) => format!("containers share with tasks {containers}"),
                None => format!("runs no containers ({} is off)", keys::TRACKER_CONTAINERS.name),
            },
        ];
        lines.extend(after_tasktracker(&jobtracker));
        lines
    }
}

/// Which user jobs run as, and who decides that.
pub(super) fn run_as_line(run_as: &RunAs, user: &str) -> String {
    match run_as {
        RunAs::Worker if geteuid().is_root() => format!(
            "commands of all jobs run as {user}: everybody who can submit a job runs it as root; set {} = job-user",
            keys::RUN_AS.name
        ),
        RunAs::Worker => format!("commands of all jobs run as {user}"),
        RunAs::JobUser(rules) => format!(
            "commands of each job run as its user, {rules}; the JobTracker believes names, so that who reaches its RPC port can be any of them, unless jobtracker.job-changes = signed there"
        ),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        arguments: TaskTrackerArguments,
    }

    fn definitions_with(words: &[&str], default_slots: Option<u32>) -> Vec<String> {
        let words = ["tasktracker"].iter().chain(words);
        Program::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).arguments.definitions(default_slots)
    }

    fn definitions(words: &[&str]) -> Vec<String> {
        definitions_with(words, None)
    }

    #[test]
    fn slots_are_maps_and_half_as_many_reduces_unless_their_keys_say_otherwise() {
        let (map, reduce) = ("mapred.tasktracker.map.tasks.maximum", "mapred.tasktracker.reduce.tasks.maximum");
        assert_eq!(definitions(&["--slots", "5"]), [format!("{map}=5"), format!("{reduce}=2")]);
        assert_eq!(definitions(&["--slots", "1"]), [format!("{map}=1"), format!("{reduce}=1")]);
        let own = format!("{reduce}=7");
        assert_eq!(definitions(&["--slots", "4", "-D", &own]).last(), Some(&own));
        assert_eq!(definitions(&[]), [""; 0]);
        assert_eq!(definitions_with(&[], Some(8)), [format!("{map}=8"), format!("{reduce}=4")]);
        assert_eq!(definitions_with(&["--slots", "5"], Some(8)), definitions(&["--slots", "5"]));
        for bad in ["", "a b", "a/b", "a:b", &"n".repeat(65)] {
            assert!(Program::try_parse_from(["tasktracker", "--name", bad]).is_err(), "{bad}");
        }
        assert_eq!(definitions(&["--name", "rack-1.disk_2"]), [""; 0]);
        for bad in ["0", "-1", "many"] {
            assert!(Program::try_parse_from(["tasktracker", "--slots", bad]).is_err(), "{bad}");
        }
    }
}
