//! What `check-config` finds, as text and as JSON.

use std::fmt::Write;
use std::path::PathBuf;

use serde::Serialize;

use crate::config::not_acted_on::NotActedOn;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ConfigFindings {
    /// The conf folder; none in standalone mode.
    pub(crate) conf_dir: Option<PathBuf>,
    /// `good`, `N warnings` (open doors of high grade count) or `N errors`.
    pub(crate) verdict: String,
    pub(crate) is_good: bool,
    pub(crate) set: usize,
    pub(crate) sections: Vec<ShownSection>,
    pub(crate) warnings: Vec<String>,
    pub(crate) not_acted_on: Vec<NotActedOn>,
    /// The user as which a tasktracker runs jobs; none for a JobTracker, and where the daemon would not start.
    pub(crate) runs_as: Option<String>,
    /// How the files of jobs reach a JobTracker of this user; none for a tasktracker, and where the daemon would not start.
    pub(crate) staging: Option<String>,
    /// Whose applications get containers; none for a tasktracker, and where the daemon would not start.
    pub(crate) containers: Option<String>,
    /// What has the image of the budgets, where `--connect` reached it.
    pub(crate) store: Option<String>,
    /// What others may do.
    pub(crate) open_doors: Vec<String>,
    /// Summary of the open doors, A to D, and why; none where the daemon would not start.
    pub(crate) exposure: Option<String>,
    /// Why the daemon would not start.
    pub(crate) errors: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ShownSection {
    pub(crate) title: &'static str,
    pub(crate) values: Vec<ShownValue>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ShownValue {
    /// The spelling of the key.
    pub(crate) name: String,
    pub(crate) value: String,
    /// Where it is set: `FILE:LINE`, `-D`, `default` or `standalone default`.
    pub(crate) origin: String,
    pub(crate) is_default: bool,
}

impl ConfigFindings {
    /// The number of errors, else that of warnings and open doors of high grade, in one line.
    pub(crate) fn verdict(errors: usize, warnings: usize) -> String {
        let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        match (errors, warnings) {
            (0, 0) => "good".to_owned(),
            (0, warnings) => counted(warnings, "warning"),
            (errors, _) => counted(errors, "error"),
        }
    }

    /// The text for people: the verdict, why, then values; with defaults if `with_defaults`.
    pub(crate) fn text(&self, with_defaults: bool) -> String {
        let mut text = format!("{}\n", self.verdict);
        let set = self.set;
        match &self.conf_dir {
            Some(folder) => line(&mut text, format_args!("conf folder {}: {set} values set", folder.display())),
            None => line(&mut text, format_args!("no conf folder: standalone defaults, {set} values set")),
        }
        for error in &self.errors {
            line(&mut text, format_args!("error: {error}"));
        }
        for warning in &self.warnings {
            line(&mut text, format_args!("warning: {warning}"));
        }
        for door in &self.open_doors {
            // The verdict counts those of high grade.
            line(&mut text, format_args!("{}", door.replacen("open door (high):", "open door (high), a warning:", 1)));
        }
        if let Some(grade) = &self.exposure {
            line(&mut text, format_args!("exposure: grade {grade} ({} open doors)", self.open_doors.len()));
        }
        for NotActedOn { key, origin, instead } in &self.not_acted_on {
            line(&mut text, format_args!("not acted on: {origin}: {key}: {instead}"));
        }
        if let Some(runs_as) = &self.runs_as {
            line(&mut text, format_args!("{runs_as}"));
        }
        if let Some(staging) = &self.staging {
            line(&mut text, format_args!("run by the user of this check: {staging}"));
        }
        if let Some(containers) = &self.containers {
            line(&mut text, format_args!("{containers}"));
        }
        if let Some(store) = &self.store {
            line(&mut text, format_args!("budgets in {store}"));
        }
        self.add_values(&mut text, with_defaults);
        text
    }

    fn add_values(&self, text: &mut String, with_defaults: bool) {
        for section in &self.sections {
            let mut values = section.values.iter().filter(|value| with_defaults || !value.is_default).peekable();
            if values.peek().is_some() {
                line(text, format_args!("\n{}", section.title));
            }
            for ShownValue { name, value, origin, .. } in values {
                line(text, format_args!("  {name} = {value}  ({origin})"));
            }
        }
    }
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing into a String cannot fail.
    let _ = writeln!(text, "{arguments}");
}
