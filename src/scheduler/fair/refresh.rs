//! When the fair policy renews demands, weights, shares and admissions: at each interval, and at once for a job that is
//! added; under the original's rules for a job that starts only at the next interval.

use std::collections::BTreeSet;

use crate::model::{Kind, Now, PerKind};
use crate::scheduler::app::App;
use crate::scheduler::change::Reaction;
use crate::scheduler::policy::PolicyView;
use crate::scheduler::{AppId, AppSize};

use super::deficit::{JobDeficit, divide_by_deficit};
use super::fair_job::{FairJob, FairJobStage};
use super::options::JobOrdering;
use super::policy::Fair;
use super::update::{JobFacts, Update};

impl Fair {
    pub(super) fn update(&mut self, now: Now, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        self.added.clear();
        for id in std::mem::take(&mut self.ended) {
            self.forget_ended_job(id, reaction);
        }
        let elapsed_ms = now.mono_ms.saturating_sub(std::mem::replace(&mut self.last_update, now).mono_ms);
        let (mut ids, mut facts) = (Vec::with_capacity(self.line.len()), Vec::with_capacity(self.line.len()));
        for (_, id) in &self.line {
            let Some(job) = self.jobs.get(id) else { continue };
            ids.push(*id);
            facts.push(job.facts(view.app(*id), now));
        }
        let slots = view.totals.slots.narrow();
        let mut update = Update::compute(&self.allocations, self.pools.nodes(), &facts, &self.options.weights, slots);
        if self.options.ordering == JobOrdering::Deficit {
            let deficits = self.renewed_deficits(&ids, &facts, &mut update, view, elapsed_ms);
            for (id, deficit) in ids.iter().zip(deficits) {
                if let Some(job) = self.jobs.get_mut(id) {
                    job.deficit = deficit;
                }
            }
        }
        for (id, standing) in ids.into_iter().zip(update.jobs) {
            let Some(job) = self.jobs.get_mut(&id) else { continue };
            let before = std::mem::replace(&mut job.standing, standing);
            if standing.is_runnable && !before.is_runnable {
                reaction.wake_app(id);
            }
            if standing.is_admitted && !before.is_admitted {
                self.admitted.push(id);
                if job.asks_containers {
                    reaction.wake_app(id);
                }
            }
        }
        self.pools.set_standings(update.pools);
        self.runnable = self.pools.total_demand();
        self.delays = self.options.delays.delays(self.options.heartbeat_interval_ms);
        if self.options.preempts {
            self.pools.update_clocks(view, now.mono_ms);
        }
        reaction.rekey_all();
    }

    /// The deficits of these jobs now; sets their shares in `update`.
    fn renewed_deficits(
        &self,
        ids: &[AppId],
        facts: &[JobFacts<'_>],
        update: &mut Update,
        view: &PolicyView<'_>,
        elapsed_ms: u64,
    ) -> Vec<PerKind<JobDeficit>> {
        let running = |id: &AppId| view.app(*id).map_or(PerKind::default(), |app| app.running.slots());
        let deficit = |id: &AppId| self.jobs.get(id).map_or(PerKind::default(), |job| job.deficit);
        let mut deficits: Vec<_> = ids.iter().map(|id| (deficit(id), running(id))).collect();
        for kind in Kind::ALL {
            deficits.iter_mut().for_each(|(deficit, _)| deficit[kind].advance(elapsed_ms));
        }
        let slots = view.totals.slots.narrow();
        divide_by_deficit(self.pools.nodes(), facts, &mut update.jobs, &mut deficits, slots);
        deficits.into_iter().map(|(deficit, _)| deficit).collect()
    }

    /// Admits the jobs that were added since the last call. One that no limit concerns needs no update, unless the original makes one.
    pub(super) fn admit_added(&mut self, now: Now, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        match self.added[..] {
            [] => {}
            [id] if !self.options.is_compatible && self.is_unlimited(id) => {
                self.added.clear();
                if let Some(job) = self.jobs.get_mut(&id) {
                    job.standing = job.facts(view.app(id), now).standing(None, &self.options.weights);
                    self.admitted.push(id);
                    if job.asks_containers {
                        reaction.wake_app(id);
                    }
                }
            }
            _ => self.update(now, view, reaction),
        }
    }

    /// Whether neither its user nor its pools have a limit on running jobs.
    fn is_unlimited(&self, id: AppId) -> bool {
        let Some(job) = self.jobs.get(&id) else { return false };
        let mut path = self.pools.path(job.pool);
        self.allocations.max_running_jobs_of_user(&job.user).is_none()
            && path.all(|(.., node)| node.settings.max_running_jobs.is_none())
    }

    /// The admitted jobs among those that wait to begin, in order; each once.
    pub(super) fn take_beginners(&mut self, waiting: &BTreeSet<AppId>) -> Vec<AppId> {
        let (ready, others): (Vec<AppId>, Vec<AppId>) =
            std::mem::take(&mut self.admitted).into_iter().partition(|id| waiting.contains(id));
        // One that is not among the waiting ones yet is kept.
        let is_to_begin = |id: &AppId| {
            let may_begin = |job: &FairJob| job.standing.is_admitted && !job.is_running && !job.asks_containers;
            self.jobs.get(id).is_some_and(may_begin)
        };
        self.admitted = others.into_iter().filter(is_to_begin).collect();
        ready
    }

    pub(super) fn on_size(&mut self, id: AppId, size: AppSize, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let was_running = std::mem::replace(&mut job.is_running, size != AppSize::default());
        match job.stage {
            FairJobStage::Ending { .. } => job.stage = FairJobStage::Ending { unfinished: size.unfinished },
            FairJobStage::Live if job.is_running && !was_running && !self.options.is_compatible => {
                self.start_job(id, view, reaction);
            }
            FairJobStage::Live => {}
        }
    }

    /// Counts the demand of an admitted job that was set up, which then need not wait for the next update.
    fn start_job(&mut self, id: AppId, view: &PolicyView<'_>, reaction: &mut Reaction<'_>) {
        let Some(job) = self.jobs.get_mut(&id).filter(|job| job.standing.is_admitted) else { return };
        job.standing = job.facts(view.app(id), self.last_update).standing(None, &self.options.weights);
        self.pools.add_demand(job.pool, job.standing.demand);
        self.pools.path(job.pool).for_each(|(_, group, _)| reaction.rekey_group(group));
        reaction.wake_app(id);
        reaction.rekey_app(id);
    }

    /// Removes a job whose end is decided; in compatible mode it stays counted until its cleanup is done.
    pub(super) fn remove_job(&mut self, id: AppId) {
        match self.jobs.get_mut(&id) {
            Some(job) if self.options.is_compatible => {
                job.stage = FairJobStage::Ending { unfinished: PerKind::default() }
            }
            _ => self.forget_job(id),
        }
    }

    /// The cleanup of a job is done: the next update forgets it, as in 1.2.1.
    pub(super) fn end_job(&mut self, id: AppId, view: &PolicyView<'_>) {
        let Some(job) = self.jobs.get(&id) else { return };
        self.ended.push(id);
        self.pools.leave_over(id, job.pool, view.app(id).map_or(PerKind::default(), |app| app.running.slots()));
    }

    fn forget_ended_job(&mut self, id: AppId, reaction: &mut Reaction<'_>) {
        let Some(pool) = self.jobs.get(&id).map(|job| job.pool) else { return };
        self.forget_job(id);
        self.pools.forget_job(id);
        // They may have been full with what no longer counts.
        self.pools.path(pool).for_each(|(_, group, _)| reaction.wake_group(group));
    }

    fn forget_job(&mut self, id: AppId) {
        if let Some(job) = self.jobs.remove(&id) {
            self.line.remove(&(job.place, id));
        }
    }
}

impl FairJob {
    /// What an update reads of it; `app` is missing once it ends and holds no slot.
    fn facts(&self, app: Option<&App>, now: Now) -> JobFacts<'_> {
        let is_stuck = app.is_some_and(|app| app.is_stuck);
        let could_use = |kind: Kind| match self.stage {
            FairJobStage::Ending { unfinished } => unfinished[kind],
            FairJobStage::Live if is_stuck => 0,
            FairJobStage::Live => app.map_or(0, |app| {
                let waiting = if app.is_paused { 0 } else { app.tables[kind].waiting() };
                app.running[kind].saturating_add(waiting)
            }),
        };
        JobFacts {
            pool: self.pool,
            user: &self.user,
            priority: self.place.class,
            age_ms: self.age_ms(now),
            is_running: self.is_running,
            is_stuck,
            is_paused: app.is_some_and(|app| app.is_paused),
            could_use: PerKind::new(could_use(Kind::Map), could_use(Kind::Reduce)),
            max: app.map_or(PerKind::default(), |app| app.max_running),
        }
    }
}
