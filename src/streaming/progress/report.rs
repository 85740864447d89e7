//! The progress of an attempt on its way from the attempt's process to the worker's.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use crate::model::AttemptId;
use crate::wire::Phase;

use super::super::counters::StreamingCounterValues;
use super::{Progress, locked};

/// All that the worker reports of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProgressReport {
    phase: Phase,
    status: String,
    done_thousandths: u64,
    counters: StreamingCounterValues,
    /// Since the report before.
    failed_fetches: Vec<AttemptId>,
}

impl Progress {
    /// What there is to report now. Failed fetches are in one report only.
    #[must_use]
    pub(crate) fn report(&self) -> ProgressReport {
        let (phase, status) = self.status();
        ProgressReport {
            phase,
            status,
            done_thousandths: self.done_thousandths(),
            counters: self.counters.values(),
            failed_fetches: self.take_failed_fetches(),
        }
    }

    /// Takes over what the attempt's own process reports.
    pub(crate) fn apply_report(&self, report: ProgressReport) {
        let mut reported = locked(&self.reported);
        (reported.phase, reported.status) = (report.phase, report.status);
        drop(reported);
        self.done_thousandths.store(report.done_thousandths.min(1000), Ordering::Relaxed);
        self.counters.set_values(report.counters);
        report.failed_fetches.into_iter().for_each(|map| self.report_failed_fetch(map));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::counters::FrameworkCounter;
    use super::*;

    #[test]
    fn a_report_makes_another_process_show_the_same() {
        let attempt = "attempt_202611211027_0016_m_000000_0".parse().unwrap();
        let [own, of_worker] = [(), ()].map(|()| Progress::new(attempt, Phase::Starting, None).unwrap());
        own.enter_phase(Phase::Shuffle, "reduce > copy");
        own.set_command_status("half".to_owned());
        own.set_done_thousandths(500);
        own.counters().add(FrameworkCounter::MapInputRecords, 7);
        own.counters().add_of_command("g", "n", 3).unwrap();
        own.report_failed_fetch(attempt);
        let sent = serde_json::to_string(&own.report()).unwrap();
        of_worker.apply_report(serde_json::from_str(&sent).unwrap());
        assert_eq!(of_worker.status(), (Phase::Shuffle, "half".to_owned()));
        assert_eq!(of_worker.done_thousandths(), 500);
        assert_eq!(of_worker.counters().snapshot(), own.counters().snapshot());
        assert_eq!((of_worker.take_failed_fetches(), own.report().failed_fetches), (vec![attempt], vec![]));
    }
}
