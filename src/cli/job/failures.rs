//! Failed attempts of a job, grouped by their reasons: the first of a kind is shown, the others are counted.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::pasted::pasted;
use crate::client::job::view::{JobEvent, JobLine, TaskTally};
use crate::model::{AttemptId, Kind, TaskId, is_start_failure};

/// Kinds of failures that are shown.
const MOST_KINDS: usize = 3;
/// Lines of a failed attempt's diagnostics that are shown.
const MOST_LINES: usize = 10;

#[derive(Debug)]
pub(super) struct AttemptFailures {
    /// In the order of their first attempts.
    kinds: Vec<AttemptFailureKind>,
    of_task: BTreeMap<TaskId, u32>,
    /// Tasks whose commands could not be started, which are not tried as often as others.
    unstarted: BTreeSet<TaskId>,
    /// Events up to this number have been counted.
    last_event: i32,
}

#[derive(Debug)]
struct AttemptFailureKind {
    reason: String,
    first: AttemptId,
    attempts: u32,
}

impl Default for AttemptFailures {
    fn default() -> Self {
        Self { kinds: Vec::new(), of_task: BTreeMap::new(), unstarted: BTreeSet::new(), last_event: -1 }
    }
}

impl AttemptFailures {
    /// Counts a failure; returns its text if it is the first of a kind that is shown. A repeated event counts once.
    pub(super) fn add(&mut self, attempt: &JobEvent, diagnostics: &[String]) -> Option<String> {
        if attempt.number <= self.last_event {
            return None;
        }
        self.last_event = attempt.number;
        *self.of_task.entry(attempt.attempt.task).or_default() += 1;
        if diagnostics.first().is_some_and(|text| is_start_failure(text)) {
            self.unstarted.insert(attempt.attempt.task);
        }
        let lines = reason_lines(diagnostics);
        let reason = reason_of(&lines, attempt.attempt);
        if let Some(kind) = self.kinds.iter_mut().find(|kind| kind.reason == reason) {
            kind.attempts += 1;
            return None;
        }
        self.kinds.push(AttemptFailureKind { reason, first: attempt.attempt, attempts: 1 });
        (self.kinds.len() <= MOST_KINDS).then(|| render_failure(attempt, &lines))
    }

    /// How many attempts have failed, as a line; empty: none.
    pub(super) fn count_text(&self) -> String {
        match self.kinds.iter().map(|kind| kind.attempts).sum::<u32>() {
            0 => String::new(),
            1 => "1 attempt has failed:\n".to_owned(),
            attempts => format!("{attempts} attempts have failed:\n"),
        }
    }

    /// What was counted and not shown, a line each; empty if all was shown.
    pub(super) fn render_rest(&self) -> String {
        let (shown, hidden) = self.kinds.split_at(self.kinds.len().min(MOST_KINDS));
        let repeated = shown.iter().filter(|kind| kind.attempts > 1);
        let mut text: String = repeated
            .map(|kind| format!("{} failed the same way as {}\n", attempts_text(kind.attempts - 1), kind.first))
            .collect();
        let attempts: u32 = hidden.iter().map(|kind| kind.attempts).sum();
        if let Some(first) = hidden.first() {
            let job = first.first.task.job;
            let kinds = hidden.len();
            text += &format!(
                "{} failed for {kinds} other reasons; run: {}\n",
                attempts_text(attempts),
                pasted(&format!("jobtracker job logs {job} --log stderr"))
            );
        }
        text
    }

    /// Why the job failed or who killed it, in the words of a user: the task that failed too often, and what was stopped for it.
    pub(super) fn reason(&self, job: &JobLine, map: &TaskTally, reduce: &TaskTally) -> Option<String> {
        if let Some(user) = &job.killed_by {
            return Some(format!("killed by {user}"));
        }
        let text = job.failure.as_deref()?.trim_end();
        let Some((task, _)) = job.last_failed_task() else { return Some(text.to_owned()) };
        let (kind, stopped) = match task.kind {
            Kind::Map => ("map", map.stopped),
            Kind::Reduce => ("reduce", reduce.stopped),
        };
        let often = match self.of_task.get(&task) {
            Some(1) => "failed once".to_owned(),
            Some(times) => format!("failed {times} times"),
            None => "failed too often".to_owned(),
        };
        let stopped = match stopped {
            0 => String::new(),
            1 => format!("; 1 other {kind} was stopped"),
            more => format!("; {more} other {kind}s were stopped"),
        };
        let because = match self.unstarted.contains(&task) {
            true => "its command cannot be started, which more attempts would not change".to_owned(),
            false => format!("mapred.{kind}.max.attempts"),
        };
        Some(format!("{kind} {} {often} ({because}){stopped}", task.number))
    }
}

fn attempts_text(attempts: u32) -> String {
    if attempts == 1 { "1 more attempt".to_owned() } else { format!("{attempts} more attempts") }
}

/// The lines of diagnostics that a user can use. Java stack traces are left to the log, and the words of Hadoop where those of
/// the built-in worker follow.
fn reason_lines(diagnostics: &[String]) -> Vec<&str> {
    let all = || diagnostics.iter().flat_map(|text| text.lines()).filter(|line| !line.trim().is_empty());
    let says_more = all().any(|line| line.contains(" ended with status "));
    let is_shown = |line: &&str| {
        !(line.trim_start().starts_with("at ") || says_more && line.contains(": subprocess failed with code "))
    };
    all().filter(is_shown).take(MOST_LINES).collect()
}

/// What failures of one kind have in common: neither ids nor numbers, nor the part of the input.
fn reason_of(lines: &[&str], attempt: AttemptId) -> String {
    let mut reason = String::new();
    for line in lines.iter().filter(|line| !line.starts_with("input ")) {
        let line = line.replace(&attempt.to_string(), "").replace(&attempt.task.to_string(), "");
        reason += &without_numbers(&line);
        reason.push('\n');
    }
    reason
}

fn render_failure(attempt: &JobEvent, lines: &[&str]) -> String {
    let mut text = format!("{} {} on {}", attempt.attempt, attempt.status, attempt.tracker);
    for line in lines {
        text += &format!("\n  {line}");
    }
    text + &format!("\n  log: {}", attempt.log_address())
}

/// A text with each number as one `#`: ids, lines and sizes differ among failures of one kind.
pub(crate) fn without_numbers(text: &str) -> String {
    let mut common = String::new();
    let mut is_number = false;
    for character in text.chars() {
        let is_digit = character.is_ascii_digit();
        if !(is_digit && is_number) {
            common.push(if is_digit { '#' } else { character });
        }
        is_number = is_digit;
    }
    common
}

#[cfg(test)]
mod tests {
    use crate::client::job::view::JobState;

    use super::*;

    fn attempt(number: i32, task: u32) -> JobEvent {
        JobEvent {
            number,
            attempt: format!("attempt_202611211200_0001_m_{task:06}_{number}").parse().unwrap(),
            task: "map",
            status: "FAILED",
            tracker: "http://worker-1:50060".into(),
            run_time_ms: 0,
        }
    }

    fn of_python(line: u32) -> Vec<String> {
        vec![format!(
            "java.lang.RuntimeException: PipeMapRed.waitOutputThreads(): subprocess failed with code 1\n\"python3 bad.py\" \
             ended with status 1\ninput file:/in/{line}, bytes 0 to {line}\n  SyntaxError: expected ':' (bad.py, line {line})\n"
        )]
    }

    #[test]
    fn the_first_of_a_kind_is_shown_and_the_others_are_counted() {
        let mut failures = AttemptFailures::default();
        insta::assert_snapshot!(failures.add(&attempt(0, 0), &of_python(7)).unwrap(), @r#"
        attempt_202611211200_0001_m_000000_0 FAILED on http://worker-1:50060
          "python3 bad.py" ended with status 1
          input file:/in/7, bytes 0 to 7
            SyntaxError: expected ':' (bad.py, line 7)
          log: http://worker-1:50060/tasklog?attemptid=attempt_202611211200_0001_m_000000_0&all=true
        "#);
        assert_eq!(
            (failures.render_rest(), failures.count_text()),
            (String::new(), "1 attempt has failed:\n".to_owned())
        );
        assert_eq!(AttemptFailures::default().count_text(), "");
        for number in 0..8 {
            // The first is a repetition of what was shown.
            assert_eq!(failures.add(&attempt(number, 0), &of_python(number.unsigned_abs())), None);
        }
        for (number, word) in (8..).zip(["a", "b", "c", "d", "d"]) {
            let shown = failures.add(&attempt(number, 1), &[format!("{word}\n\tat a.B.c(B.java:1)\n")]);
            assert_eq!(shown.is_some(), number < 10, "{number}");
        }
        assert_eq!(failures.count_text(), "13 attempts have failed:\n");
        insta::assert_snapshot!(failures.render_rest(), @r"
        7 more attempts failed the same way as attempt_202611211200_0001_m_000000_0
        3 more attempts failed for 2 other reasons; run: jobtracker job logs job_202611211200_0001 --log stderr
        ");
    }

    #[test]
    fn a_failed_job_names_the_task_that_failed_and_what_was_stopped() {
        let mut failures = AttemptFailures::default();
        let mut job = JobLine::example();
        job.state = JobState::Failed;
        let map = TaskTally { total: 3, failed: 1, stopped: 2, ..TaskTally::default() };
        let reduce = TaskTally::default();
        assert_eq!(failures.reason(&job, &map, &reduce), None);
        let last = "task_202611211200_0001_m_000004";
        job.failure =
            Some(format!("# of failed Map Tasks exceeded allowed limit. FailedCount: 1. LastFailedTask: {last}\n"));
        let reason = failures.reason(&job, &map, &reduce).unwrap();
        assert_eq!(reason, "map 4 failed too often (mapred.map.max.attempts); 2 other maps were stopped");
        for number in 0..4 {
            failures.add(&attempt(number, 4), &of_python(1));
        }
        let reason = failures.reason(&job, &TaskTally { stopped: 1, ..map }, &reduce).unwrap();
        assert_eq!(reason, "map 4 failed 4 times (mapred.map.max.attempts); 1 other map was stopped");
        let mut unstarted = AttemptFailures::default();
        for number in 0..2 {
            unstarted.add(&attempt(number, 4), &["cannot start the command nosuch: not found\n".to_owned()]);
        }
        let reason = unstarted.reason(&job, &TaskTally { stopped: 0, ..map }, &reduce).unwrap();
        assert_eq!(
            reason,
            "map 4 failed 2 times (its command cannot be started, which more attempts would not change)"
        );
        job.failure = Some("JobSetup Task Failure, Task: task_202611211200_0001_m_000005".into());
        assert_eq!(failures.reason(&job, &map, &reduce), job.failure);
    }

    #[test]
    fn numbers_make_no_difference() {
        assert_eq!(without_numbers("item 17 of x9y, 2000 bytes"), "item # of x#y, # bytes");
        assert_eq!(without_numbers(""), "");
    }
}
