//! `jobtracker check-config`: what holds, where it was set, and what is odd about it.

use std::fmt::Write;

use crate::config::error::{Origin, Warning};
use crate::config::keys::{self, Key};
use crate::config::{ConfigError, Configuration, LoadOptions, Settings};

/// Prefixes under which a key that nothing reads is told: they are the JobTracker's own.
const OURS: [&str; 2] = ["mapred.jobtracker.", "jobtracker."];

/// What the subcommand prints and how it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The text, lines ended.
    pub text: String,
    /// Whether the daemon would start with this.
    pub is_good: bool,
}

/// Checks what `serve` with the same options would read.
#[must_use]
pub fn check_config(options: &LoadOptions) -> Report {
    let mut text = match &options.conf_dir {
        Some(folder) => format!("conf folder {}\n", folder.display()),
        None => "no conf folder: standalone defaults\n".to_owned(),
    };
    let configuration = match options.configuration() {
        Ok(configuration) => configuration,
        Err(error) => return refused(text, &[error]),
    };
    let errors = values(&mut text, &configuration);
    if !errors.is_empty() {
        return refused(text, &errors);
    }
    match Settings::load(options) {
        Ok((_, mut warnings)) => {
            warnings.extend(unread(&configuration));
            for warning in &warnings {
                line(&mut text, format_args!("warning: {warning}"));
            }
            line(
                &mut text,
                format_args!("good: {} values set, {} warnings", configuration.written().count(), warnings.len()),
            );
            Report { text, is_good: true }
        }
        Err(error) => refused(text, &[error]),
    }
}

/// Prints each cluster key that has a value, and collects what is not of its kind.
fn values(text: &mut String, configuration: &Configuration) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    for section in keys::SECTIONS {
        line(text, format_args!("\n{}", section.title));
        for key in section.keys.iter().filter(|key| !key.name.contains("<queue>")) {
            match configuration.checked(key) {
                Ok(Some(setting)) if section.title != "Jobs" || setting.origin != Origin::Default => {
                    line(text, format_args!("  {} = {}  ({})", setting.name, setting.value, setting.origin));
                }
                Ok(_) => {}
                // Its default is refused on purpose; the settings say so with the reason.
                Err(ConfigError::BadValue { .. }) if key.name == keys::RPC_ADDRESS.name => {}
                Err(error) => errors.push(error),
            }
        }
    }
    text.push('\n');
    errors
}

/// Keys that nothing reads, under the prefixes where that is most likely a mistake.
fn unread(configuration: &Configuration) -> Vec<Warning> {
    let strange = configuration.written().filter(|(name, _, _)| {
        OURS.iter().any(|prefix| name.starts_with(prefix)) && !keys::all().any(|key| key.is_spelled(name))
    });
    strange
        .map(|(name, _, origin)| Warning::NothingReads {
            key: name.to_owned(),
            origin: origin.clone(),
            perhaps: nearest(name).map(|key| key.name.to_owned()),
        })
        .collect()
}

/// The key of nearly the same name, if there is one.
fn nearest(name: &str) -> Option<&'static Key> {
    keys::all()
        .map(|key| (distance(name, key.name), key))
        .min_by_key(|(distance, _)| *distance)
        .and_then(|(distance, key)| (distance <= 3).then_some(key))
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
