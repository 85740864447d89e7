//! Options of `job submit` that state a deadline and what tasks take, and their conversion to properties of the job.

use std::fmt;

use crate::api::{DueText, parse_duration_ms};
use crate::cli::time_text::{format_due, parse_due};
use crate::client::job::deadline_line::DeadlineLine;
use crate::config::ConfigError;
use crate::model::Credits;

/// Options that state a deadline.
#[derive(Clone, Debug, Default, clap::Args, serde::Serialize, serde::Deserialize)]
pub(crate) struct DeadlineArguments {
    /// When the job must be done: a duration from now, such as 20m, or a time, such as 18:00 or 2026-11-22T18:00, local unless
    /// it has an offset; one of today that is past is of tomorrow
    #[arg(long, value_name = "DURATION|TIME", value_parser = parse_due, allow_hyphen_values = true)]
    deadline: Option<DueText>,
    /// Time that a map takes, such as 40s; default: as configured
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms, requires = "deadline")]
    map_time: Option<u64>,
    /// Time that a reduce takes, such as 3m; default: as configured
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms, requires = "deadline")]
    reduce_time: Option<u64>,
    /// Map output by map input, such as 0.3; default: 1
    #[arg(long, value_name = "RATIO", requires = "deadline")]
    filter_ratio: Option<String>,
    /// Bid up to this rate in the market for what the deadline needs
    #[arg(long, value_name = "CREDITS", requires = "deadline")]
    pub(super) max_rate: Option<Credits>,
    /// Cost of the job above which only the queue's own rate is bid
    #[arg(long, value_name = "CREDITS", requires = "max_rate")]
    pub(super) max_cost: Option<Credits>,
}

impl DeadlineArguments {
    /// Properties of the job, `key=value`.
    pub(super) fn properties(&self) -> Vec<String> {
        let property = |name: &str, value: &dyn fmt::Display| format!("mapred.job.deadline.{name}={value}");
        let deadline = self.deadline.map(|due| match due {
            DueText::AfterMs(ms) => property("ms", &ms),
            DueText::AtMs(ms) => property("at.ms", &ms),
        });
        let map = self.map_time.map(|ms| property("map.task.ms", &ms));
        let reduce = self.reduce_time.map(|ms| property("reduce.task.ms", &ms));
        let ratio = self.filter_ratio.as_ref().map(|ratio| property("filter.ratio", ratio));
        let rate = self.max_rate.map(|rate| property("max.rate", &rate));
        let cost = self.max_cost.map(|cost| property("max.cost", &cost));
        [deadline, map, reduce, ratio, rate, cost].into_iter().flatten().collect()
    }

    /// The deadline, if it is a time that has passed.
    pub(super) fn passed(&self, now_ms: i64) -> Option<String> {
        match self.deadline? {
            DueText::AtMs(due_ms) if due_ms <= now_ms => Some(format_due(due_ms, due_ms.saturating_sub(now_ms))),
            DueText::AtMs(_) | DueText::AfterMs(_) => None,
        }
    }

    /// The error of a value that one of these options gave.
    pub(super) fn explained(&self, error: &ConfigError) -> Option<String> {
        let ConfigError::BadValue { key, value, expected, .. } = error else { return None };
        Some(format!("{} {value}: expected {expected}", self.option_of(key)?))
    }

    /// The option that sets a property of the job.
    pub(super) fn option_of(&self, key: &str) -> Option<&'static str> {
        let is_set =
            self.properties().iter().any(|property| property.split_once('=').is_some_and(|(name, _)| name == key));
        let option = match key.strip_prefix("mapred.job.deadline.").filter(|_| is_set)? {
            "ms" | "at.ms" => "--deadline",
            "map.task.ms" => "--map-time",
            "reduce.task.ms" => "--reduce-time",
            "filter.ratio" => "--filter-ratio",
            "max.rate" => "--max-rate",
            "max.cost" => "--max-cost",
            _ => return None,
        };
        Some(option)
    }

    /// Whether a deadline is stated.
    pub(super) const fn is_stated(&self) -> bool {
        self.deadline.is_some()
    }
}

/// When a job that was submitted at `start_ms`, epoch ms, is due, such as `18:00 CET (in 6 h 35 m)`.
pub(super) fn due_text(deadline: &DeadlineLine, start_ms: i64) -> String {
    let ms = |seconds: &str| seconds.parse::<f64>().map_or(0, |seconds| (seconds * 1_000.0).round() as i64);
    format_due(start_ms.saturating_add(ms(&deadline.after_s)), ms(&deadline.left_s))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        deadline: DeadlineArguments,
    }

    fn properties(line: &str) -> Result<Vec<String>, String> {
        let line = Line::try_parse_from(["submit"].into_iter().chain(line.split_whitespace()));
        line.map(|line| line.deadline.properties()).map_err(|error| error.to_string())
    }

    #[test]
    fn options_become_properties() {
        let all = properties("--deadline 20m --map-time 40s --reduce-time 1h30m --filter-ratio 0.3").unwrap();
        let expected = ["ms=1200000", "map.task.ms=40000", "reduce.task.ms=5400000", "filter.ratio=0.3"];
        assert_eq!(all, expected.map(|property| format!("mapred.job.deadline.{property}")));
        let order = properties("--deadline 20m --max-rate 2.5 --max-cost 40").unwrap();
        let expected = ["ms=1200000", "max.rate=2.5", "max.cost=40.0"];
        assert_eq!(order, expected.map(|property| format!("mapred.job.deadline.{property}")));
        let at = properties("--deadline 1970-01-02T00:00Z").unwrap();
        assert_eq!(at, ["mapred.job.deadline.at.ms=86400000"]);
        assert!(properties("").unwrap().is_empty());
    }

    #[test]
    fn mistakes_name_option_value_and_what_was_expected() {
        for line in
            ["--deadline soon", "--deadline 0s", "--deadline=-5m", "--deadline 20", "--deadline 999999999999999h"]
        {
            let error = properties(line).unwrap_err();
            let value = line.split([' ', '=']).next_back().unwrap();
            assert!(error.contains("--deadline") && error.contains(&format!("'{value}'")), "{error}");
            assert!(error.contains("expected a duration above 0 such as 20m, or a time"), "{error}");
        }
        let error = properties("--deadline -5m").unwrap_err();
        assert!(error.contains("'-5m'") && error.contains("expected a duration above 0"), "{error}");
        let error = properties("--deadline 5m --map-time 0s").unwrap_err();
        assert!(error.contains("'0s'") && error.contains("expected a duration above 0 such as 40s"), "{error}");
        let error = properties("--deadline 5m --max-rate much").unwrap_err();
        assert!(error.contains("'much'") && error.contains("--max-rate <CREDITS>"), "{error}");
        let error = properties("--deadline 5m --max-cost 3").unwrap_err();
        assert!(error.contains("--max-rate <CREDITS>"), "{error}");
        let error = properties("--map-time 5s").unwrap_err();
        assert!(error.contains("--deadline <DURATION|TIME>"), "{error}");
    }
}
