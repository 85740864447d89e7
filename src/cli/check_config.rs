//! `jobtracker check-config`: prints the effective values, their places, and warnings.

mod findings;

use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};

use crate::config::error::{Origin, Warning};
use crate::config::keys::{Key, Section};
use crate::config::not_acted_on::NotActedOn;
use crate::config::open_doors::{Grade, OpenDoor, Severity};
use crate::config::settings::{ApplicationKeys, SchedulerKind};
use crate::config::{
    ConfigError, Configuration, HostPort, LoadOptions, Settings, contradictions, keys, not_acted_on, open_doors,
};
use crate::lifecycle::{FileFindings, check_market_files};
use crate::worker::TaskTrackerSettings;

use super::market_text::json;
use super::serve::ConfigurationArguments;
use super::staging_line::staging_line;
use super::tasktracker::run_as_line;

pub use findings::{Findings, ShownSection, ShownValue, Unused};

/// Options of `check-config`.
#[derive(Clone, Debug, clap::Args)]
pub struct CheckConfigArguments {
    /// The configuration.
    #[command(flatten)]
    pub configuration: ConfigurationArguments,
    /// Check the configuration of `tasktracker` instead of `serve`
    #[arg(long)]
    pub tasktracker: bool,
    /// Leave out values that are defaults, as without this option
    #[arg(long, hide = true, conflicts_with = "all")]
    pub changed: bool,
    /// Print defaults, too
    #[arg(long)]
    pub all: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The daemon whose configuration is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daemon {
    /// `serve`
    JobTracker,
    /// `tasktracker`
    TaskTracker,
}

/// Result of the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The text to print.
    pub text: String,
    /// Whether the daemon would start with this configuration.
    pub is_good: bool,
}

/// Checks the configuration that the arguments name.
#[must_use]
pub fn run(arguments: &CheckConfigArguments) -> Report {
    let daemon = if arguments.tasktracker { Daemon::TaskTracker } else { Daemon::JobTracker };
    let options = arguments.configuration.load_options();
    let findings = check_config(&options, daemon, unresolved_addresses);
    let text = if arguments.json { json(&findings) } else { findings.text(arguments.all) };
    Report { text, is_good: findings.is_good }
}

/// Addresses of the daemon that this machine does not know: a start here would fail, one on another machine may not.
fn unresolved_addresses(options: &LoadOptions) -> Vec<String> {
    let (configuration, _) = options.configuration_with_errors();
    let addresses = [
        (keys::RPC_ADDRESS.name, configuration.address(&keys::RPC_ADDRESS).ok()),
        (keys::HTTP_ADDRESS.name, options.http_address().ok()),
    ];
    let warning = |(key, address): (&str, Option<HostPort>)| {
        let address = address?;
        let error = (address.host.as_str(), address.port).to_socket_addrs().err()?;
        Some(format!("{key} = {address}: {error}; serve does not start on this machine: expected an address of it"))
    };
    addresses.into_iter().filter_map(warning).collect()
}

/// Checks the configuration of `daemon` under the same options; `look_up` warns of addresses that this machine does not know.
#[must_use]
pub fn check_config(options: &LoadOptions, daemon: Daemon, look_up: fn(&LoadOptions) -> Vec<String>) -> Findings {
    let (configuration, _) = options.configuration_with_errors();
    let (warnings, files, errors) = daemon.load(options, &configuration);
    let mut warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    warnings.extend(files.warnings.iter().map(ToString::to_string));
    let mut errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    errors.extend(files.errors.iter().map(ToString::to_string));
    // Doors of a daemon that does not start are closed.
    let doors = if errors.is_empty() { daemon.open_doors(&configuration) } else { Vec::new() };
    if errors.is_empty() && daemon == Daemon::JobTracker {
        warnings.extend(look_up(options));
    }
    let high_doors = doors.iter().filter(|door| door.severity == Severity::High).count();
    Findings {
        verdict: Findings::verdict(errors.len(), warnings.len() + high_doors),
        conf_dir: options.conf_dir.clone(),
        is_good: errors.is_empty(),
        set: configuration.written().count(),
        sections: values(&configuration, daemon),
        runs_as: daemon.runs_as(options, &configuration),
        staging: daemon.staging(options),
        containers: daemon.containers(options),
        warnings,
        not_acted_on: daemon.not_acted_on(&configuration, options.conf_dir.as_deref()),
        exposure: errors.is_empty().then(|| Grade::of(&doors).to_string()),
        open_doors: doors.iter().map(ToString::to_string).collect(),
        errors,
    }
}

/// The file of keys of applications, where it is not that of the market.
fn keys_of_applications(settings: &Settings) -> Option<PathBuf> {
    let ApplicationKeys::File(path) = settings.application_keys() else { return None };
    let is_of_market = settings.market.as_ref().is_some_and(|market| market.acl_file == path);
    (!is_of_market).then_some(path)
}

/// For a tasktracker that this process's user starts.
fn read_tracker_settings(
    options: &LoadOptions,
    configuration: &Configuration,
) -> Result<TaskTrackerSettings, ConfigError> {
    TaskTrackerSettings::read(configuration.clone(), options.conf_dir.is_some())
}

// === impl Daemon ===

impl Daemon {
    /// Loads the configuration as the daemon does at start; returns the warnings, what the files of users and budgets have,
    /// and all errors.
    fn load(
        self,
        options: &LoadOptions,
        configuration: &Configuration,
    ) -> (Vec<Warning>, FileFindings, Vec<ConfigError>) {
        let mut warnings = contradictions::of_tasktracker(configuration);
        let mut findings = FileFindings::default();
        let errors = match self {
            Daemon::JobTracker => {
                let errors = Settings::all_errors(options);
                let loaded = Settings::load(options).ok();
                let own_keys = loaded.as_ref().and_then(|(settings, _)| keys_of_applications(settings));
                let (market, of_jobtracker) = match loaded {
                    Some((settings, warnings)) => {
                        (settings.market.map(|market| (market.acl_file, market.budget_file)), warnings)
                    }
                    None => (named_files(configuration), loaded_warnings(configuration, options.conf_dir.as_deref())),
                };
                if let Some((acl_file, budget_file)) = market {
                    findings = check_market_files(&acl_file, &budget_file);
                }
                if let Some(acl_file) = own_keys {
                    findings.check_keys(&acl_file);
                }
                warnings.retain(|warning| !of_jobtracker.contains(warning));
                warnings.splice(0..0, of_jobtracker);
                errors
            }
            Daemon::TaskTracker => {
                warnings.splice(0..0, configuration.warnings());
                let mut errors = options.configuration_with_errors().1;
                let keys = keys::SECTIONS.iter().flat_map(|section| self.keys(section));
                errors.extend(keys.filter_map(|key| configuration.checked(key).err()));
                let unread = read_tracker_settings(options, configuration).err();
                errors.extend(unread.filter(|error| !errors.contains(error)).into_iter().collect::<Vec<_>>());
                errors
            }
        };
        (warnings, findings, errors)
    }

    /// How the files of jobs reach it.
    fn staging(self, options: &LoadOptions) -> Option<String> {
        match self {
            Daemon::JobTracker => Settings::load(options).ok().map(|(settings, _)| staging_line(&settings)),
            Daemon::TaskTracker => None,
        }
    }

    /// Whose applications get containers.
    fn containers(self, options: &LoadOptions) -> Option<String> {
        match self {
            Daemon::JobTracker => {
                Settings::load(options).ok().map(|(settings, _)| settings.application_keys().to_string())
            }
            Daemon::TaskTracker => None,
        }
    }

    /// The open doors of its configuration.
    fn open_doors(self, configuration: &Configuration) -> Vec<OpenDoor> {
        match self {
            Daemon::JobTracker => open_doors::of_jobtracker(configuration),
            Daemon::TaskTracker => open_doors::of_tasktracker(configuration),
        }
    }

    /// The user as which a tasktracker that would start runs jobs.
    fn runs_as(self, options: &LoadOptions, configuration: &Configuration) -> Option<String> {
        let settings = match self {
            Daemon::JobTracker => None,
            Daemon::TaskTracker => read_tracker_settings(options, configuration).ok(),
        }?;
        Some(run_as_line(&settings.run_as, &settings.user))
    }

    /// What is set and not acted on.
    fn not_acted_on(self, configuration: &Configuration, conf_dir: Option<&Path>) -> Vec<Unused> {
        let mut found = match self {
            Daemon::JobTracker => not_acted_on::of_jobtracker(configuration),
            Daemon::TaskTracker => not_acted_on::of_tasktracker(configuration),
        };
        found.extend(conf_dir.into_iter().flat_map(not_acted_on::of_environment));
        let unused =
            |found: NotActedOn| Unused { key: found.key, origin: found.origin.to_string(), instead: found.instead };
        found.into_iter().map(unused).collect()
    }

    /// The keys of a section that the daemon reads.
    fn keys(self, section: &Section) -> impl Iterator<Item = &'static Key> + use<> {
        let reads_all = self == Daemon::JobTracker || is_of_jobs(section) || section.keys == keys::TRACKER;
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
fn values(configuration: &Configuration, daemon: Daemon) -> Vec<ShownSection> {
    let shown = |section: &Section| {
        let of_jobs = is_of_jobs(section);
        let settings = daemon.keys(section).filter_map(|key| configuration.checked(key).ok().flatten());
        let settings = settings.filter(|setting| !of_jobs || setting.origin != Origin::Default);
        let values = settings.map(|setting| ShownValue {
            name: setting.name,
            value: setting.value,
            is_default: matches!(setting.origin, Origin::Default | Origin::Standalone),
            origin: setting.origin.to_string(),
        });
        ShownSection { title: section.title, values: values.collect() }
    };
    keys::SECTIONS.iter().map(shown).collect()
}

/// Whether the section has keys of jobs.
fn is_of_jobs(section: &Section) -> bool {
    section.keys == keys::JOB || section.keys == keys::STREAMING
}

#[cfg(test)]
#[path = "tests/check_config.rs"]
mod tests;
