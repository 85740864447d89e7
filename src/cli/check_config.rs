//! `jobtracker check-config`: prints the effective values, their places, and warnings.

use std::fmt::{Display, Write};

use crate::client::job::is_hadoop_key;
use crate::config::error::{Origin, Warning};
use crate::config::keys::{Key, Section};
use crate::config::open_doors::{Grade, OpenDoor};
use crate::config::{ConfigError, Configuration, LoadOptions, Settings, contradictions, keys, open_doors};
use crate::lifecycle::{FileFindings, check_market_files};
use crate::worker::TaskTrackerSettings;

use super::serve::ConfigurationArguments;
use super::staging_line::staging_line;

/// Prefixes of the JobTracker's own keys: every unread key under them is reported.
const OWN_PREFIXES: [&str; 2] = ["mapred.jobtracker.", "jobtracker."];
/// Keys of 1.2.1 whose names are close to known keys, but which are no mistakes.
const LEGITIMATE: [&str; 2] = ["mapred.queue.name", "mapred.task.maxpmem"];

/// Options of `check-config`.
#[derive(Clone, Debug, clap::Args)]
pub struct CheckConfigArguments {
    /// The configuration.
    #[command(flatten)]
    pub configuration: ConfigurationArguments,
    /// Check the configuration of `tasktracker` instead of `serve`
    #[arg(long)]
    pub tasktracker: bool,
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
    check_config(&arguments.configuration.load_options(), daemon)
}

/// Checks the configuration of `daemon` under the same options.
#[must_use]
pub fn check_config(options: &LoadOptions, daemon: Daemon) -> Report {
    let mut text = match &options.conf_dir {
        Some(folder) => format!("conf folder {}\n", folder.display()),
        None => "no conf folder: standalone defaults\n".to_owned(),
    };
    let configuration = match options.configuration() {
        Ok(configuration) => configuration,
        Err(error) => return refusal(text, &[error]),
    };
    let errors = print_values(&mut text, &configuration, daemon);
    if !errors.is_empty() {
        return refusal(text, &errors);
    }
    match daemon.load(options, &configuration) {
        Ok((mut warnings, findings)) => {
            warnings.extend(unread_keys(&configuration));
            for warning in &warnings {
                line(&mut text, format_args!("warning: {warning}"));
            }
            for warning in &findings.warnings {
                line(&mut text, format_args!("warning: {warning}"));
            }
            if !findings.errors.is_empty() {
                return refusal(text, &findings.errors);
            }
            if let Some(staging) = daemon.staging(options) {
                line(&mut text, format_args!("run by the user of this check: {staging}"));
            }
            let doors = daemon.open_doors(&configuration);
            for door in &doors {
                line(&mut text, format_args!("{door}"));
            }
            line(&mut text, format_args!("exposure: grade {} ({} open doors)", Grade::of(&doors), doors.len()));
            line(
                &mut text,
                format_args!(
                    "good: {} values set, {} warnings",
                    configuration.written().count(),
                    warnings.len() + findings.warnings.len()
                ),
            );
            Report { text, is_good: true }
        }
        Err(error) => refusal(text, &[error]),
    }
}

// === impl Daemon ===

impl Daemon {
    /// Loads the configuration as the daemon does at start; returns the warnings, and what the files of users and budgets
    /// have.
    fn load(
        self,
        options: &LoadOptions,
        configuration: &Configuration,
    ) -> Result<(Vec<Warning>, FileFindings), ConfigError> {
        let mut warnings = contradictions::of_tasktracker(configuration);
        let mut findings = FileFindings::default();
        match self {
            Daemon::JobTracker => {
                let (settings, of_jobtracker) = Settings::load(options)?;
                if let Some(market) = &settings.market {
                    findings = check_market_files(&market.acl_file, &market.budget_file);
                }
                warnings.retain(|warning| !of_jobtracker.contains(warning));
                warnings.splice(0..0, of_jobtracker);
            }
            Daemon::TaskTracker => {
                warnings.splice(0..0, configuration.warnings());
                TaskTrackerSettings::read(configuration.clone())?;
            }
        }
        Ok((warnings, findings))
    }

    /// How the files of jobs reach it.
    fn staging(self, options: &LoadOptions) -> Option<String> {
        match self {
            Daemon::JobTracker => Settings::load(options).ok().map(|(settings, _)| staging_line(&settings)),
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

    /// The keys of a section that the daemon reads.
    fn keys(self, section: &Section) -> impl Iterator<Item = &'static Key> + use<> {
        let reads_all = self == Daemon::JobTracker || is_of_jobs(section) || section.keys == keys::TRACKER;
        section.keys.iter().filter(move |key| reads_all || keys::READ_BY_TRACKER.contains(key))
    }
}

/// Prints each cluster key that has a value, and collects errors.
fn print_values(text: &mut String, configuration: &Configuration, daemon: Daemon) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    for section in keys::SECTIONS {
        let of_jobs = is_of_jobs(section);
        let mut lines = String::new();
        for key in daemon.keys(section).filter(|key| !key.name.contains("<queue>")) {
            match configuration.checked(key) {
                // Job keys are printed only if they are set.
                Ok(Some(setting)) if !of_jobs || setting.origin != Origin::Default => {
                    line(&mut lines, format_args!("  {} = {}  ({})", setting.name, setting.value, setting.origin));
                }
                Ok(_) => {}
                // Its default is refused on purpose; loading the settings reports the reason.
                Err(ConfigError::BadValue { .. }) if key.name == keys::RPC_ADDRESS.name => {}
                Err(error) => errors.push(error),
            }
        }
        if !lines.is_empty() {
            line(text, format_args!("\n{}", section.title));
            text.push_str(&lines);
        }
    }
    text.push('\n');
    errors
}

/// Whether the section has keys of jobs.
fn is_of_jobs(section: &Section) -> bool {
    section.keys == keys::JOB || section.keys == keys::STREAMING
}

/// Unread keys that are probably mistakes: those with the JobTracker's prefixes or with a name close to a known key.
/// Hadoop itself has hundreds of keys that other programs read.
fn unread_keys(configuration: &Configuration) -> Vec<Warning> {
    let unknown = configuration.written().filter(|(name, _, _)| !keys::all().any(|key| key.is_spelled(name)));
    let is_ours = |name: &str| OWN_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let reported = unknown.filter_map(|(name, _, origin)| {
        let is_hadoops = LEGITIMATE.contains(&name) || is_hadoop_key(name);
        let similar = nearest(name, if is_ours(name) { 3 } else { 2 }).filter(|_| !is_hadoops);
        (is_ours(name) || similar.is_some()).then(|| Warning::NothingReads {
            key: name.to_owned(),
            origin: origin.clone(),
            similar,
        })
    });
    reported.collect()
}

/// The known key with the most similar name, at most `most` edits away.
fn nearest(name: &str, most: usize) -> Option<String> {
    let spellings = keys::all().flat_map(Key::spellings).filter(|spelling| spelling.len().abs_diff(name.len()) <= most);
    let found = spellings.map(|spelling| (distance(name, spelling), spelling)).min()?;
    (found.0 <= most).then(|| found.1.to_owned())
}

/// Levenshtein distance.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        for (b, cell) in right.bytes().zip(row.iter_mut().skip(1)) {
            let changed = diagonal + usize::from(a != b);
            diagonal = *cell;
            before = changed.min(before + 1).min(*cell + 1);
            *cell = before;
        }
        row[0] = i + 1;
    }
    row.last().copied().unwrap_or(left.len())
}

fn refusal(mut text: String, errors: &[impl Display]) -> Report {
    for error in errors {
        line(&mut text, format_args!("error: {error}"));
    }
    Report { text, is_good: false }
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing into a String cannot fail.
    let _ = writeln!(text, "{arguments}");
}

#[cfg(test)]
#[path = "tests/check_config.rs"]
mod tests;
