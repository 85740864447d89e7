//! Numbers facts.

use crate::model::FactNumber;

use super::Fact;

/// Numbers facts and collects those of the current step.
#[derive(Debug, Default)]
pub(super) struct FactLog {
    last: FactNumber,
    step: Vec<Fact>,
}

// === impl FactLog ===

impl FactLog {
    /// A log whose next fact follows `last`.
    pub(super) fn after(last: FactNumber) -> Self {
        Self { last, step: Vec::new() }
    }

    /// Appends a fact.
    pub(super) fn push(&mut self, fact: Fact) -> FactNumber {
        self.last = FactNumber(self.last.0 + 1);
        self.step.push(fact);
        self.last
    }

    /// The number of the last fact.
    pub(super) fn last(&self) -> FactNumber {
        self.last
    }

    /// Removes and returns the facts of the current step, and the number of the first.
    pub(super) fn take(&mut self) -> (FactNumber, Vec<Fact>) {
        let facts = std::mem::take(&mut self.step);
        (FactNumber(self.last.0 + 1 - facts.len() as u64), facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_up_over_steps() {
        let fact = || Fact::KillJobPending { job: "job_1_0001".parse().unwrap(), trackers: Vec::new() };
        let mut log = FactLog::after(FactNumber(7));
        assert_eq!(log.take().0, FactNumber(8));
        log.push(fact());
        assert_eq!(log.push(fact()), FactNumber(9));
        let (first, facts) = log.take();
        assert_eq!((first, facts.len()), (FactNumber(8), 2));
        log.push(fact());
        assert_eq!(log.take().0, FactNumber(10));
    }
}
