//! `jobtracker check-config`: prints the effective values, their places, and warnings.

mod findings;

use std::path::{Path, PathBuf};

use crate::config::error::{Origin, Warning};
use crate::config::keys::{Key, Section};
use crate::config::not_acted_on::NotActedOn;
use crate::config::open_doors::{Grade, OpenDoor, Severity};
use crate::config::settings::SchedulerKind;
use crate::config::{
    ConfigError, Configuration, LoadOptions, Settings, contradictions, keys, not_acted_on, open_doors,
};
use crate::lifecycle::{FileFindings, ServeError, check_market_files, check_start, check_start_connected};
use crate::worker::{TaskTrackerError, TaskTrackerSettings, check_tracker};

use super::market_text::json;
use super::serve::ConfigurationArguments;
use super::staging_line::staging_line;
use super::tasktracker::run_as_line;

pub(crate) use findings::{ConfigFindings, ShownSection, ShownValue};

/// Options of `check-config`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckConfigArguments {
    /// The configuration.
    #[command(flatten)]
    pub(crate) configuration: ConfigurationArguments,
    /// Check the configuration of `tasktracker` instead of `serve`
    #[arg(long)]
    pub(crate) tasktracker: bool,
    /// Connect to the database of budgets, or run its program, and check what it has
    #[arg(long, conflicts_with = "tasktracker")]
    pub(crate) connect: bool,
    /// Leave out values that are defaults, as without this option
    #[arg(long, hide = true, conflicts_with = "all")]
    pub(crate) changed: bool,
    /// Print defaults, too
    #[arg(long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The daemon whose configuration is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckedDaemon {
    /// `serve`
    JobTracker,
    /// `tasktracker`
    TaskTracker,
}

/// Looks at this machine, as the start of each daemon would find it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineChecks {
    pub(crate) of_jobtracker: fn(&Settings) -> FileFindings,
    pub(crate) of_tracker: fn(&TaskTrackerSettings) -> (Vec<TaskTrackerError>, Vec<String>),
}

const MACHINE: MachineChecks = MachineChecks { of_jobtracker: check_start, of_tracker: check_tracker };

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckReport {
    pub text: String,
    pub is_good: bool,
}

pub(crate) fn run(arguments: &CheckConfigArguments) -> CheckReport {
    let daemon = if arguments.tasktracker { CheckedDaemon::TaskTracker } else { CheckedDaemon::JobTracker };
    let options = arguments.configuration.load_options();
    let of_jobtracker = if arguments.connect { check_start_connected } else { check_start };
    let mut findings = check_config(&options, daemon, MachineChecks { of_jobtracker, ..MACHINE });
    if arguments.connect && !findings.is_good {
        let not_connected = || "their store: not connected to, because of the errors; correct them, then check again";
        findings.store.get_or_insert_with(|| not_connected().to_owned());
    }
    let text = if arguments.json { json(&findings) } else { findings.text(arguments.all) };
    CheckReport { text, is_good: findings.is_good }
}

/// Checks the configuration of `daemon` under the same options; `looks` find what a start on this machine would.
pub(crate) fn check_config(options: &LoadOptions, daemon: CheckedDaemon, looks: MachineChecks) -> ConfigFindings {
    let (configuration, _) = options.configuration_with_errors();
    let Loaded { mut warnings, errors, mut files, of_tracker } = daemon.load(options, &configuration, looks);
    files.leave_out_named(&errors);
    let is_partial = errors.iter().any(ConfigError::is_of_file)
        || warnings.iter().any(|warning| matches!(warning, Warning::NoMapredSite { .. }));
    let are_queues_unknown =
        is_partial && !configuration.written().any(|(name, ..)| keys::QUEUE_NAMES.is_spelled(name));
    warnings.retain(|warning| !(are_queues_unknown && warning.is_of_unlisted_queue()));
    let lacks_budgets = files.errors.iter().any(ServeError::is_of_missing_budgets);
    warnings.retain(|warning| !lacks_budgets || !matches!(warning, Warning::NoBudgetFile { .. }));
    let mut warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    warnings.extend(files.warnings.iter().map(ToString::to_string));
    let mut errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    errors.extend(files.errors.iter().map(ToString::to_string));
    errors.extend(of_tracker.0.iter().map(ToString::to_string));
    warnings.extend(of_tracker.1);
    // Doors of a daemon that does not start are closed.
    let doors = if errors.is_empty() { daemon.open_doors(&configuration) } else { Vec::new() };
    let high_doors = doors.iter().filter(|door| door.severity == Severity::High).count();
    ConfigFindings {
        verdict: ConfigFindings::verdict(errors.len(), warnings.len() + high_doors),
        conf_dir: options.conf_dir.clone(),
        is_good: errors.is_empty(),
        set: configuration.written().count(),
        sections: values(&configuration, daemon),
        runs_as: daemon.runs_as(options, &configuration),
        staging: daemon.staging(options),
        containers: daemon.containers(options),
        store: files.store,
        warnings,
        not_acted_on: daemon.not_acted_on(&configuration, options.conf_dir.as_deref()),
        exposure: errors.is_empty().then(|| Grade::of(&doors).to_string()),
        open_doors: doors.iter().map(ToString::to_string).collect(),
        errors,
    }
}

struct Loaded {
    warnings: Vec<Warning>,
    errors: Vec<ConfigError>,
    /// What a JobTracker would find in files and on this machine.
    files: FileFindings,
    of_tracker: (Vec<TaskTrackerError>, Vec<String>),
}

/// For a tasktracker that this process's user starts.
fn read_tracker_settings(
    options: &LoadOptions,
    configuration: &Configuration,
) -> Result<TaskTrackerSettings, ConfigError> {
    TaskTrackerSettings::read(configuration.clone(), options.conf_dir.is_some())
}

impl CheckedDaemon {
    fn load(self, options: &LoadOptions, configuration: &Configuration, looks: MachineChecks) -> Loaded {
        let mut warnings = contradictions::of_tasktracker(configuration);
        let mut files = FileFindings::default();
        let mut of_tracker = (Vec::new(), Vec::new());
        let errors = match self {
            CheckedDaemon::JobTracker => {
                let errors = Settings::all_errors(options);
                let of_jobtracker = match Settings::load(options) {
                    Ok((settings, warnings)) => {
                        files = (looks.of_jobtracker)(&settings);
                        warnings
                    }
                    Err(_) => {
                        if let Some((acl_file, budget_file)) = named_files(configuration) {
                            files = check_market_files(&acl_file, Some(&budget_file));
                        }
                        loaded_warnings(configuration, options.conf_dir.as_deref())
                    }
                };
                warnings.retain(|warning| !of_jobtracker.contains(warning));
                warnings.splice(0..0, of_jobtracker);
                errors
            }
            CheckedDaemon::TaskTracker => {
                warnings.splice(0..0, configuration.warnings());
                let mut errors = options.configuration_with_errors().1;
                let keys = keys::SECTIONS.iter().flat_map(|section| self.keys(section));
                errors.extend(keys.filter_map(|key| configuration.checked(key).err()));
                match read_tracker_settings(options, configuration) {
                    Ok(settings) => of_tracker = (looks.of_tracker)(&settings),
                    Err(error) if errors.iter().any(|known| known.is_same_value(&error)) => {}
                    Err(error) => errors.push(error),
                }
                if errors.iter().any(ConfigError::is_of_file) {
                    errors.retain(|error| !error.may_be_of_missing_value());
                }
                errors
            }
        };
        Loaded { warnings, errors, files, of_tracker }
    }

    /// How the files of jobs reach it.
    fn staging(self, options: &LoadOptions) -> Option<String> {
        match self {
            CheckedDaemon::JobTracker => Settings::load(options).ok().map(|(settings, _)| staging_line(&settings)),
            CheckedDaemon::TaskTracker => None,
        }
    }

    /// Whose applications get containers.
    fn containers(self, options: &LoadOptions) -> Option<String> {
        match self {
            CheckedDaemon::JobTracker => {
                Settings::load(options).ok().map(|(settings, _)| settings.application_keys().to_string())
            }
            CheckedDaemon::TaskTracker => None,
        }
    }

    fn open_doors(self, configuration: &Configuration) -> Vec<OpenDoor> {
        match self {
            CheckedDaemon::JobTracker => open_doors::of_jobtracker(configuration),
            CheckedDaemon::TaskTracker => open_doors::of_tasktracker(configuration),
        }
    }

    /// The user as which a tasktracker that would start runs jobs.
    fn runs_as(self, options: &LoadOptions, configuration: &Configuration) -> Option<String> {
        let settings = match self {
            CheckedDaemon::JobTracker => None,
            CheckedDaemon::TaskTracker => read_tracker_settings(options, configuration).ok(),
        }?;
        Some(run_as_line(&settings.run_as, &settings.user))
    }

    fn not_acted_on(self, configuration: &Configuration, conf_dir: Option<&Path>) -> Vec<NotActedOn> {
        let mut found = match self {
            CheckedDaemon::JobTracker => not_acted_on::of_jobtracker(configuration),
            CheckedDaemon::TaskTracker => not_acted_on::of_tasktracker(configuration),
        };
        found.extend(conf_dir.into_iter().flat_map(not_acted_on::of_environment));
        found
    }

    fn keys(self, section: &Section) -> impl Iterator<Item = &'static Key> + use<> {
        let reads_all = self == CheckedDaemon::JobTracker || is_of_jobs(section) || section.keys == keys::TRACKER;
        let keys = section.keys.iter().filter(move |key| reads_all || keys::READ_BY_TRACKER.contains(key));
        // The lists of protocols are in a file of their own, which the settings read.
        keys.filter(|key| !key.is_pattern() && !keys::POLICY.contains(key))
    }
}

/// The files of a market whose settings have errors, where they are there.
fn named_files(configuration: &Configuration) -> Option<(PathBuf, PathBuf)> {
    let path = |key| configuration.local_path(key).ok().flatten();
    Some((path(&keys::ACL_FILE).filter(|file| file.exists())?, path(&keys::BUDGET_FILE)?))
}

/// Warnings about values of which some are wrong.
fn loaded_warnings(configuration: &Configuration, conf_dir: Option<&Path>) -> Vec<Warning> {
    let mut warnings = configuration.warnings();
    warnings.extend(SchedulerKind::warnings_of_own_file(configuration, conf_dir));
    warnings.extend(contradictions::of_jobtracker(configuration, named_files(configuration).is_some()));
    warnings
}

/// Each valid value that the daemon reads, by section; keys of jobs only if they are set.
fn values(configuration: &Configuration, daemon: CheckedDaemon) -> Vec<ShownSection> {
    let shown = |section: &Section| {
        let of_jobs = is_of_jobs(section);
        let settings = daemon.keys(section).filter_map(|key| configuration.checked(key).ok().flatten());
        let settings = settings.filter(|setting| !of_jobs || setting.origin != Origin::Default);
        let values = settings.map(|setting| ShownValue {
            value: if setting.name == keys::BUDGET_STORE_URL.name { setting.shown } else { setting.value },
            name: setting.name,
            is_default: matches!(setting.origin, Origin::Default | Origin::Standalone),
            origin: setting.origin.to_string(),
        });
        ShownSection { title: section.title, values: values.collect() }
    };
    keys::SECTIONS.iter().map(shown).collect()
}

fn is_of_jobs(section: &Section) -> bool {
    section.keys == keys::JOB || section.keys == keys::STREAMING
}

#[cfg(test)]
#[path = "tests/check_config.rs"]
mod tests;
