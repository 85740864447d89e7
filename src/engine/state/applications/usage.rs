//! What live containers and attempts use, as their workers measure it. It decides nothing and is no fact: after a restart
//! the workers report again.

use std::fmt;

use crate::api::{ReportedUse, WorkerBeat};
use crate::model::{AttemptId, ContainerId, Now};

use super::measured_use::{MeasuredUse, sum};
use super::table::Applications;

/// More memory than any machine has, MB.
const MAX_MEMORY_MB: u64 = 1 << 24;
/// More cores than any machine has.
const MAX_CORES: u64 = 1 << 14;
/// Longer than any attempt runs, ms: a year.
const LONGEST_RUN_MS: u64 = 365 * 86_400_000;
const MAX_ATTEMPTS: usize = 10_000;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum UseRefusal {
    #[error("it does not run there")]
    NotThere,
    #[error("its {what} of {said} is not between 0 and {most}")]
    Wild { what: &'static str, said: String, most: u64 },
}

impl ReportedUse {
    /// Memory and CPU time, if both are possible for what has run so long.
    fn read(&self, ran_ms: u64) -> Result<(u64, u64), UseRefusal> {
        let within = |what, said: &serde_json::Number, most| {
            let wild = || UseRefusal::Wild { what, said: said.to_string(), most };
            said.as_u64().filter(|said| *said <= most).ok_or_else(wild)
        };
        let most_cpu_ms = ran_ms.saturating_add(60_000).saturating_mul(MAX_CORES);
        Ok((within("memory-mb", &self.memory_mb, MAX_MEMORY_MB)?, within("cpu-ms", &self.cpu_ms, most_cpu_ms)?))
    }
}

#[derive(Debug)]
pub(crate) struct RefusedUse {
    tracker: String,
    id: String,
    why: UseRefusal,
    others: usize,
}

impl fmt::Display for RefusedUse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tracker, id, why, others } = self;
        let id = crate::wire::limits::excerpt(id);
        write!(out, "{tracker} reports what {id} uses, and is not believed: {why}")?;
        if *others > 0 { write!(out, ", and {others} more like that") } else { Ok(()) }
    }
}

impl Applications {
    /// Takes what a worker measured. Returns the first report that is refused, once for each process of a worker.
    pub(super) fn take_usage(&mut self, beat: &WorkerBeat, now: Now) -> Option<RefusedUse> {
        let mut refused = Vec::new();
        let mut measured = Vec::new();
        for report in &beat.usage {
            match self.read_container_use(report, beat, now) {
                Ok(read) => measured.push(read),
                Err(why) => refused.push((report.id.clone(), why)),
            }
        }
        if !measured.is_empty() {
            self.last_report = None;
        }
        let worker = self.workers.get_mut(beat.tracker.as_str())?;
        for (id, memory_mb, cpu_ms) in measured {
            worker.container_use.set(id, memory_mb, cpu_ms);
        }
        if let Some(attempts) = &beat.attempt_usage {
            let before = std::mem::take(&mut worker.attempt_use);
            for report in attempts.iter().take(MAX_ATTEMPTS) {
                let read = report.id.parse::<AttemptId>().map_err(|_| UseRefusal::NotThere);
                match read.and_then(|id| Ok((id, report.read(LONGEST_RUN_MS)?))) {
                    Ok((id, (memory_mb, cpu_ms))) => {
                        let known = before.get(&id).unwrap_or_default();
                        worker.attempt_use.set(id, known.peak_memory_mb, known.cpu_ms);
                        worker.attempt_use.set(id, memory_mb, cpu_ms);
                    }
                    Err(why) => refused.push((report.id.clone(), why)),
                }
            }
        }
        let others = refused.len().saturating_sub(1);
        let (id, why) = refused.into_iter().next().filter(|_| !worker.has_lied)?;
        worker.has_lied = true;
        Some(RefusedUse { tracker: beat.tracker.clone(), id, why, others })
    }

    fn read_container_use(
        &self,
        report: &ReportedUse,
        beat: &WorkerBeat,
        now: Now,
    ) -> Result<(ContainerId, u64, u64), UseRefusal> {
        let id: ContainerId = report.id.parse().map_err(|_| UseRefusal::NotThere)?;
        let container = self.container(id).filter(|_| self.is_here(id, &beat.tracker, beat.incarnation));
        let container = container.ok_or(UseRefusal::NotThere)?;
        let ran_ms = now.wall_ms.saturating_sub(container.granted_ms).max(0).cast_unsigned();
        let (memory_mb, cpu_ms) = report.read(ran_ms)?;
        Ok((id, memory_mb, cpu_ms))
    }

    /// What a live container uses; none: it was not measured yet.
    pub(crate) fn container_use(&self, id: ContainerId) -> Option<MeasuredUse> {
        let container = self.container(id)?;
        self.workers.get(&container.node.tracker)?.container_use.get(&id)
    }

    pub(crate) fn use_on(&self, tracker: &str) -> MeasuredUse {
        let Some(worker) = self.workers.get(tracker) else { return MeasuredUse::default() };
        sum([worker.container_use.total(), worker.attempt_use.total()])
    }

    /// What all containers use that are live, and all attempts of tasks that workers measure.
    pub(crate) fn use_of_all(&self) -> (MeasuredUse, MeasuredUse) {
        let workers = self.workers.values();
        (
            sum(workers.clone().map(|worker| worker.container_use.total())),
            sum(workers.map(|worker| worker.attempt_use.total())),
        )
    }
}
