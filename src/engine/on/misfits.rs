//! Why no connected worker can run a job, an application, or anything of a queue, in one sentence for all answers.

use crate::api::{PendingReason, no_worker_can_run};
use crate::engine::core::Engine;
use crate::engine::state::Tracker;
use crate::mapreduce::Job;
use crate::market::SlotHolder;
use crate::model::{Capability, Kind, counted};
use crate::scheduler::{AppId, GroupId, Misfit};
use crate::wire::worker_name;

use super::snapshot::{JOBS_SHOWN, Stuck};

/// Jobs and applications of a queue that are looked at for a reason.
const MOST_LOOKS: usize = 100;

impl Engine {
    /// Which hosts a job avoids depends on what other trackers there are. O(jobs with flaky hosts) after such a change.
    pub(super) fn refresh_avoided_hosts(&mut self) {
        if !self.cluster.nodes.take_has_changed() {
            return;
        }
        for job in self.cluster.housekeeping.flaky.iter().filter_map(|id| self.jobs.get(*id)) {
            self.cluster.scheduler.set_task_needs(job.app, job.task_needs(&self.cluster.nodes));
        }
    }

    /// Why no connected worker can run anything that a job waits for, while nothing of it runs.
    pub(super) fn why_no_worker_can_run(&self, job: &Job) -> Option<PendingReason> {
        self.misfit_of(job.app).map(|because| self.no_worker_can_run(because))
    }

    pub(super) fn no_worker_can_run(&self, because: String) -> PendingReason {
        PendingReason::NoWorkerCanRun { workers: self.worker_count(), because }
    }

    /// The same of a job or an application, as a sentence.
    pub(super) fn cannot_run(&self, app: AppId) -> Option<String> {
        Some(no_worker_can_run(self.worker_count(), &self.misfit_of(app)?))
    }

    /// Why nothing that a queue waits for could run on any connected worker; none where something could, or runs.
    pub(super) fn why_queue_cannot_run(&self, group: GroupId) -> Option<String> {
        let apps = self.cluster.scheduler.waiting_apps(group, MOST_LOOKS);
        let misfits: Option<Vec<String>> = apps.into_iter().map(|app| self.misfit_of(app)).collect();
        misfits?.into_iter().next()
    }

    /// So many unfinished jobs, the newest first, from one on; each with why no connected worker can run it, if it holds nothing
    /// and is not paused.
    pub(super) fn jobs_with_misfits(&self, from: usize, count: usize) -> impl Iterator<Item = (&Job, Option<String>)> {
        let has_workers = self.has_workers_or_ill_ones();
        let jobs = self.jobs.iter().rev().filter(|job| !job.is_over()).skip(from).take(count);
        jobs.map(move |job| {
            let may_start = has_workers && !job.is_over_or_ending() && self.why_paused(job).is_none();
            (job, if may_start { self.misfit_of(job.app) } else { None })
        })
    }

    /// Looks at so many of the newest unfinished applications, from one on: those that no connected worker can run while nothing of
    /// them runs, and whether there were so many.
    pub(super) fn stuck_applications(&self, from: usize, count: usize) -> (Vec<Stuck>, bool) {
        if !self.has_workers_or_ill_ones() {
            return (Vec::new(), false);
        }
        let applications = self.applications.iter().rev().filter(|application| !application.is_over());
        let applications = applications.take(JOBS_SHOWN).filter_map(|application| {
            let is_paused = self.why_queue_is_paused(&application.submitted.queue).is_some();
            Some((application.id(), self.applications.app(application.id())?, is_paused))
        });
        let (mut looks, mut stuck) = (0, Vec::new());
        for (id, app, is_paused) in applications.skip(from).take(count) {
            looks += 1;
            let because = if is_paused { None } else { self.misfit_of(app) };
            stuck.extend(because.map(|because| Stuck { holder: SlotHolder::Application(id), because }));
        }
        (stuck, looks == count)
    }

    fn has_workers_or_ill_ones(&self) -> bool {
        self.cluster.nodes.in_service() > 0 || self.illness_of_all().is_some()
    }

    /// What is wrong with the only worker, or with the first one, where none is well.
    fn illness_of_all(&self) -> Option<String> {
        if self.cluster.nodes.in_service() > 0 {
            return None;
        }
        let ill = self.trackers.iter().find(|tracker| !tracker.complaint.is_empty())?;
        Some(format!("{}: {}", worker_name(&ill.name), ill.complaint.lines().next().unwrap_or_default()))
    }

    /// What a worker lacks, to be put behind a sentence; empty: none lacks anything.
    fn first_complaint(&self) -> String {
        let of_beat =
            |tracker: &Tracker| self.applications.worker(&tracker.name).and_then(|worker| worker.complaint.clone());
        let complaint_of = |tracker: &Tracker| {
            let of_tracker = (!tracker.complaint.is_empty()).then(|| tracker.complaint.clone());
            of_tracker.or_else(|| of_beat(tracker)).map(|why| format!("; {}: {why}", worker_name(&tracker.name)))
        };
        self.trackers.iter().find_map(complaint_of).unwrap_or_default()
    }

    fn worker_count(&self) -> u32 {
        u32::try_from(self.trackers.len()).unwrap_or(u32::MAX)
    }

    fn misfit_of(&self, app: AppId) -> Option<String> {
        let scheduler = &self.cluster.scheduler;
        if scheduler.holds_anything(app) {
            return None;
        }
        if let Some(illness) = self.illness_of_all() {
            return Some(illness);
        }
        Some(match scheduler.misfit(app)? {
            Misfit::NeedsStock => {
                let because = self.jobs.by_app(app).and_then(|job| job.spec.only_stock.clone());
                because.unwrap_or_else(|| "it needs a stock TaskTracker".to_owned())
            }
            Misfit::Room(bytes) => {
                format!("no disk has the {} MB that one of its maps needs", grouped(bytes.div_ceil(1 << 20)))
            }
            Misfit::SlotsPerTask(kind, slots) => {
                let kind = if kind == Kind::Map { "map" } else { "reduce" };
                format!("none has the {slots} {kind} slots that one of its tasks needs")
            }
            Misfit::Avoided => "too much of it failed on those that could".to_owned(),
            Misfit::NoContainerNodes => format!("none of them takes containers{}", self.first_complaint()),
            Misfit::NoNodeFits(capability) => {
                let largest = scheduler.largest_node().map(|largest| {
                    let cores = counted(largest.vcores, "core");
                    format!("; the largest has {} MB and {cores}", grouped(largest.memory_mb.into()))
                });
                let (asked, complaint) = (size_text(capability), self.first_complaint());
                format!("nothing it asks for fits a node: {asked}{}{complaint}", largest.unwrap_or_default())
            }
            Misfit::Gates(_) => {
                "its gates, its blacklist or relax-locality exclude every node that is large enough".to_owned()
            }
        })
    }
}

/// A size, cores only where they are more than one.
fn size_text(Capability { memory_mb, vcores }: Capability) -> String {
    let memory = format!("{} MB", grouped(memory_mb.into()));
    if vcores > 1 { format!("{memory}, {vcores} cores") } else { memory }
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_grouped_in_thousands() {
        assert_eq!([0, 999, 1_000, 921_600, 1_234_567].map(grouped), ["0", "999", "1,000", "921,600", "1,234,567"]);
        assert_eq!(size_text(Capability::new(921_600, 1)), "921,600 MB");
        assert_eq!(size_text(Capability::new(512, 64)), "512 MB, 64 cores");
    }
}
