//! The outputs of a step: numbered facts, effects, and invariants found broken.

use crate::mapreduce::JobFact;
use crate::model::{FactNumber, JobId, Violations};

use super::audit_entry::AuditEntry;
use super::decision::Decision;
use super::effect::{Effect, LogLevel};
use super::event_lines::EventLines;
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

    /// Whether the current step has recorded anything.
    pub(crate) fn has_facts(&self) -> bool {
        !self.facts.is_empty()
    }

    /// Records a decision, if there is one.
    pub(crate) fn decide(&mut self, decision: Option<Decision>) {
        if let Some(decision) = decision {
            self.record(Fact::Decided(Box::new(decision)));
        }
    }

    pub(crate) fn audit(&mut self, entry: AuditEntry) {
        self.request(Effect::Audit(entry));
    }

    /// Makes an effect of each invariant found broken.
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

    /// Removes and returns the effects of the current step.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
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
