//! `jobtracker check-config`: what holds, where it was set, and what is odd about it.

use std::fmt::Write;

use crate::client::job::is_hadoop_key;
use crate::config::error::{Origin, Warning};
use crate::config::keys::{Key, Section};
use crate::config::open_doors::{Grade, OpenDoor};
use crate::config::{ConfigError, Configuration, LoadOptions, Settings, contradictions, keys, open_doors};
use crate::worker::TaskTrackerSettings;

use super::serve::ServeArguments;

/// Prefixes under which a key that nothing reads is told, whatever its name: they are the JobTracker's own.
const OURS: [&str; 2] = ["mapred.jobtracker.", "jobtracker."];
/// Keys of 1.2.1 that are nearly called as one that is read, and that a conf folder may well have.
const LEGITIMATE: [&str; 2] = ["mapred.queue.name", "mapred.task.maxpmem"];

/// Whose configuration is checked.
#[derive(Clone, Debug, clap::Args)]
pub struct CheckConfigArguments {
    /// Which configuration holds.
    #[command(flatten)]
    pub configuration: ServeArguments,
    /// Checks what `tasktracker` would read, not what `serve` would
    #[arg(long)]
    pub tasktracker: bool,
}

/// Who would read the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Daemon {
    /// `serve`
    JobTracker,
    /// `tasktracker`
    TaskTracker,
}

/// What the subcommand prints and how it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The text, lines ended.
    pub text: String,
    /// Whether the daemon would start with this.
    pub is_good: bool,
}

/// Does what the subcommand is told.
#[must_use]
pub fn run(arguments: &CheckConfigArguments) -> Report {
    let daemon = if arguments.tasktracker { Daemon::TaskTracker } else { Daemon::JobTracker };
    check_config(&arguments.configuration.load_options(), daemon)
}

/// Checks what `daemon` with the same options would read.
#[must_use]
pub fn check_config(options: &LoadOptions, daemon: Daemon) -> Report {
    let mut text = match &options.conf_dir {
        Some(folder) => format!("conf folder {}\n", folder.display()),
        None => "no conf folder: standalone defaults\n".to_owned(),
    };
    let configuration = match options.configuration() {
        Ok(configuration) => configuration,
        Err(error) => return refused(text, &[error]),
    };
    let errors = values(&mut text, &configuration, daemon);
    if !errors.is_empty() {
        return refused(text, &errors);
    }
    match daemon.load(options, &configuration) {
        Ok(mut warnings) => {
            warnings.extend(unread(&configuration));
            for warning in &warnings {
                line(&mut text, format_args!("warning: {warning}"));
            }
            let doors = daemon.open_doors(&configuration);
            for door in &doors {
                line(&mut text, format_args!("{door}"));
            }
            line(&mut text, format_args!("exposure: grade {} ({} open doors)", Grade::of(&doors), doors.len()));
            line(
                &mut text,
                format_args!("good: {} values set, {} warnings", configuration.written().count(), warnings.len()),
            );
            Report { text, is_good: true }
        }
        Err(error) => refused(text, &[error]),
    }
}

// === impl Daemon ===

impl Daemon {
    /// Reads it as the daemon does at its start; gives back what is odd.
    fn load(self, options: &LoadOptions, configuration: &Configuration) -> Result<Vec<Warning>, ConfigError> {
        let mut warnings = contradictions::of_tasktracker(configuration);
        match self {
            Daemon::JobTracker => {
                let (_, of_jobtracker) = Settings::load(options)?;
                warnings.retain(|warning| !of_jobtracker.contains(warning));
                warnings.splice(0..0, of_jobtracker);
            }
            Daemon::TaskTracker => {
                warnings.splice(0..0, configuration.warnings());
                TaskTrackerSettings::read(configuration.clone())?;
            }
        }
        Ok(warnings)
    }

    /// What it lets others do.
    fn open_doors(self, configuration: &Configuration) -> Vec<OpenDoor> {
        match self {
            Daemon::JobTracker => open_doors::of_jobtracker(configuration),
            Daemon::TaskTracker => open_doors::of_tasktracker(configuration),
        }
    }

    /// The keys of a section that it reads.
    fn keys(self, section: &Section) -> impl Iterator<Item = &'static Key> + use<> {
        let reads_all = self == Daemon::JobTracker || is_of_jobs(section) || section.keys == keys::TRACKER;
        section.keys.iter().filter(move |key| reads_all || keys::READ_BY_TRACKER.contains(key))
    }
}

/// Prints each cluster key that has a value, and collects what is not of its kind.
fn values(text: &mut String, configuration: &Configuration, daemon: Daemon) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    for section in keys::SECTIONS {
        let of_jobs = is_of_jobs(section);
        let mut told = String::new();
        for key in daemon.keys(section).filter(|key| !key.name.contains("<queue>")) {
            match configuration.checked(key) {
                // Of jobs' keys only what somebody has set; the rest is the same everywhere.
                Ok(Some(setting)) if !of_jobs || setting.origin != Origin::Default => {
                    line(&mut told, format_args!("  {} = {}  ({})", setting.name, setting.value, setting.origin));
                }
                Ok(_) => {}
                // Its default is refused on purpose; the settings say so with the reason.
                Err(ConfigError::BadValue { .. }) if key.name == keys::RPC_ADDRESS.name => {}
                Err(error) => errors.push(error),
            }
        }
        if !told.is_empty() {
            line(text, format_args!("\n{}", section.title));
            text.push_str(&told);
        }
    }
    text.push('\n');
    errors
}

/// Whether the keys are those of jobs.
fn is_of_jobs(section: &Section) -> bool {
    section.keys == keys::JOB || section.keys == keys::STREAMING
}

/// Keys that nothing reads, where that is most likely a mistake: under our own prefixes, and nearly called as one that is read.
/// Hadoop itself has hundreds that only others read.
fn unread(configuration: &Configuration) -> Vec<Warning> {
    let unknown = configuration.written().filter(|(name, _, _)| !keys::all().any(|key| key.is_spelled(name)));
    let is_ours = |name: &str| OURS.iter().any(|prefix| name.starts_with(prefix));
    let told = unknown.filter_map(|(name, _, origin)| {
        let is_hadoops = LEGITIMATE.contains(&name) || is_hadoop_key(name);
        let perhaps = nearest(name, if is_ours(name) { 3 } else { 2 }).filter(|_| !is_hadoops);
        (is_ours(name) || perhaps.is_some()).then(|| Warning::NothingReads {
            key: name.to_owned(),
            origin: origin.clone(),
            perhaps,
        })
    });
    told.collect()
}

/// The name of a key that is at most so many letters off, if there is one.
fn nearest(name: &str, most: usize) -> Option<String> {
    let spellings = keys::all().flat_map(Key::spellings).filter(|spelling| spelling.len().abs_diff(name.len()) <= most);
    let found = spellings.map(|spelling| (distance(name, spelling), spelling)).min()?;
    (found.0 <= most).then(|| found.1.to_owned())
}

/// How many letters must be put in, taken out or changed (Levenshtein).
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

fn refused(mut text: String, errors: &[ConfigError]) -> Report {
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
