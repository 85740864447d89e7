//! The outputs of a step: numbered facts, effects, and invariants found broken.

use std::path::Path;
use std::sync::Arc;

use crate::mapreduce::JobFact;
use crate::model::{FactNumber, JobId, Violations};
use crate::scheduler::fair::event_log::LogEvent;

use super::audit_entry::AuditEntry;
use super::decision::Decision;
use super::effect::{Effect, LogLevel};
use super::fact::Fact;
use super::job_summary::JobSummary;

/// Numbers facts, and collects facts and effects of the current step.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    last_fact: FactNumber,
    facts: Vec<Fact>,
    /// Facts of jobs that have no number yet, in order.
    pub(crate) job_facts: Vec<JobFact>,
    effects: Vec<Effect>,
    pub(crate) event_lines: EventLines,
    /// Invariants found broken since the last step, which [`Self::report_violations`] makes effects.
    pub(crate) violations: Violations,
    /// Steps since all invariants were checked.
    pub(crate) steps_since_check: u32,
}

impl Outbox {
    /// An outbox whose next fact follows `last_fact`.
    pub(crate) fn after(last_fact: FactNumber) -> Self {
        Self { last_fact, ..Self::default() }
    }

    pub(crate) fn record(&mut self, fact: Fact) -> FactNumber {
        self.last_fact = FactNumber(self.last_fact.0 + 1);
        self.facts.push(fact);
        self.last_fact
    }

    pub(crate) fn last_fact(&self) -> FactNumber {
        self.last_fact
    }

    pub(crate) fn next_fact(&self) -> FactNumber {
        FactNumber(self.last_fact.0 + 1)
    }

    pub(crate) fn request(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(crate) fn log_line(&mut self, level: LogLevel, text: String) {
        self.request(Effect::Log { level, text });
    }

    /// Requests what follows the end of a job in any case: its history, and the line of the log that sums it up.
    pub(crate) fn end_job(&mut self, job: JobId, summary: Option<Box<JobSummary>>) {
        self.request(Effect::WriteHistory { job });
        if let Some(summary) = summary {
            self.request(Effect::SummarizeJob(summary));
        }
    }

    pub(crate) fn has_facts(&self) -> bool {
        !self.facts.is_empty()
    }

    pub(crate) fn decide(&mut self, decision: Option<Decision>) {
        if let Some(decision) = decision {
            self.record(Fact::Decided(Box::new(decision)));
        }
    }

    pub(crate) fn audit(&mut self, entry: AuditEntry) {
        self.request(Effect::Audit(entry));
    }

    pub(crate) fn report_violations(&mut self) {
        if !self.violations.is_empty() {
            self.effects.extend(self.violations.take().into_iter().map(Effect::ReportBrokenInvariant));
        }
    }

    /// Removes and returns the facts of the current step, and the number of the first.
    pub(crate) fn take_facts(&mut self) -> (FactNumber, Vec<Fact>) {
        let facts = std::mem::take(&mut self.facts);
        (FactNumber(self.last_fact.0 + 1 - facts.len() as u64), facts)
    }

    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }
}

/// Lines for the event log; none are kept while no event log is wanted.
#[derive(Debug, Default)]
pub(crate) struct EventLines {
    /// Directory of the event log; none: it is not wanted.
    directory: Option<Arc<Path>>,
    lines: Vec<String>,
}

impl EventLines {
    /// Directory of the event log; none while it is not wanted.
    pub(crate) fn directory(&self) -> Option<&Arc<Path>> {
        self.directory.as_ref()
    }

    /// Keeps the lines that follow for an event log in another directory, or none.
    pub(crate) fn set_directory(&mut self, directory: Option<Arc<Path>>) {
        self.directory = directory;
    }

    /// Whether lines are kept; else what an event costs to collect need not be spent.
    pub(crate) fn are_kept(&self) -> bool {
        self.directory.is_some()
    }

    pub(crate) fn append(&mut self, event: &LogEvent<'_>) {
        if self.are_kept() {
            self.lines.push(event.to_string());
        }
    }

    pub(crate) fn append_job_fact(&mut self, job: JobId, fact: &JobFact) {
        let event = match fact {
            JobFact::Accepted(_) => LogEvent::JobAdded(job),
            JobFact::Ended { .. } => LogEvent::JobRemoved(job),
            JobFact::Running { .. }
            | JobFact::Priority { .. }
            | JobFact::PoolSet { .. }
            | JobFact::DeadlineSet { .. } => LogEvent::JobUpdated(job),
            _ => return,
        };
        self.append(&event);
    }

    /// Removes and returns the lines, with the directory that they are for; none without any.
    pub(crate) fn take(&mut self) -> Option<(Arc<Path>, Vec<String>)> {
        let directory = self.directory.as_ref().filter(|_| !self.lines.is_empty())?;
        Some((directory.clone(), std::mem::take(&mut self.lines)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_up_over_steps() {
        let fact = || Fact::KillJobPending { job: "job_1_0001".parse().unwrap(), trackers: Vec::new() };
        let mut outbox = Outbox::after(FactNumber(7));
        assert_eq!(outbox.take_facts().0, FactNumber(8));
        outbox.record(fact());
        assert_eq!(outbox.record(fact()), FactNumber(9));
        let (first, facts) = outbox.take_facts();
        assert_eq!((first, facts.len()), (FactNumber(8), 2));
        outbox.record(fact());
        assert_eq!(outbox.take_facts().0, FactNumber(10));
    }
}
