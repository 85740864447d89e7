//! The daemon of the fake cluster is cut off and started again; trackers wait it out as stock ones do.

use crate::engine::{Engine, Fact, ForeignState, Restored};
use crate::mapreduce::Job;
use crate::model::FactNumber;
use crate::store::loaded_after;

use super::cluster::{Cluster, FakeTask, Fate, advance};

/// What a start makes of all facts so far.
pub(crate) fn restored(facts: &[Fact]) -> Restored {
    let opened = loaded_after(facts);
    assert_eq!(opened.last_fact.0, facts.len() as u64);
    opened.restored()
}

impl Cluster {
    /// The daemon is cut off and started again, `outage_ms` later. What trackers would have sent at the beginning of the
    /// outage they send at its end, and meanwhile their tasks do what `fate` says.
    pub(crate) fn crash(&mut self, outage_ms: u64, fate: impl Fn(&FakeTask) -> Fate) {
        // An endowment that no step has taken along.
        self.facts.extend(self.engine.take_start_facts().1);
        let after = self.cut_off(outage_ms, fate);
        let before = std::mem::replace(&mut self.engine, after);
        self.assert_same_jobs(&before);
        self.assert_same_applications(&before);
        self.take_start_facts();
    }

    /// The same where the last facts had not become durable, and nothing that depends on them was sent.
    pub(crate) fn crash_to_durable(&mut self, outage_ms: u64, fate: impl Fn(&FakeTask) -> Fate) {
        self.engine = self.cut_off(outage_ms, fate);
        self.take_start_facts();
    }

    /// The daemon is cut off, others have been at work, and it is started again.
    pub(crate) fn restart_after(&mut self, foreign_state: ForeignState) {
        self.facts.extend(self.engine.take_start_facts().1);
        self.engine = self.cut_off_before(foreign_state, 1_000, |_| Fate::Hang);
        self.take_start_facts();
    }

    fn cut_off(&mut self, outage_ms: u64, fate: impl Fn(&FakeTask) -> Fate) -> Engine {
        self.cut_off_before(ForeignState::default(), outage_ms, fate)
    }

    fn cut_off_before(
        &mut self,
        foreign_state: ForeignState,
        outage_ms: u64,
        fate: impl Fn(&FakeTask) -> Fate,
    ) -> Engine {
        for index in 0..self.trackers.len() {
            let is_frozen = self.trackers[index].unanswered.is_some();
            if self.trackers[index].is_registered && !is_frozen {
                self.trackers[index].unanswered = Some(self.request(index));
            }
            let tracker = &mut self.trackers[index];
            tracker.connection += 1_000;
            tracker.attempts.iter_mut().for_each(|task| advance(task, fate(task)));
        }
        self.pass_ms(outage_ms);
        // No run issues job ids of another.
        let number = self.config.identifier.number() + 1;
        self.config.identifier = crate::model::Identifier::from_number(number);
        Engine::new(self.config.clone(), Restored { foreign_state, ..restored(&self.facts) }, self.now)
    }

    fn take_start_facts(&mut self) {
        let (first, facts) = self.engine.take_start_facts();
        assert_eq!(first, FactNumber(self.facts.len() as u64 + 1));
        self.facts.extend(facts);
    }

    /// Applications are what they were, apart from complete containers that no program asks for again.
    fn assert_same_applications(&self, before: &Engine) {
        for old in before.applications.iter() {
            let Some(new) = self.engine.applications.get(old.id()) else { continue };
            assert_eq!(old.durable(), new.durable());
        }
        let unfinished = |engine: &Engine| engine.applications.iter().filter(|one| !one.is_over()).count();
        assert_eq!(unfinished(before), unfinished(&self.engine));
    }

    /// Unfinished jobs are what they were, in all that decisions depend on.
    fn assert_same_jobs(&self, before: &Engine) {
        let after = &self.engine;
        let cost = |engine: &Engine, job: &Job| engine.market.as_ref().and_then(|market| market.costs.of(job).copied());
        for old in before.jobs.iter().filter(|job| !job.is_over() && job.spec.recover && self.config.recover) {
            let new = after.jobs.get(old.id).unwrap();
            new.assert_consistent(after.cluster.scheduler.app_waiting(new.app));
            let shown = new.facets(&after.cluster.nodes);
            similar_asserts(&old.facets(&before.cluster.nodes), &shown);
            assert_eq!(cost(before, old), cost(after, new), "{}: its cost", old.id);
            assert_eq!(before.cluster.scheduler.app_running(old.app), after.cluster.scheduler.app_running(new.app));
            assert_eq!(before.cluster.scheduler.app_usage(old.app), after.cluster.scheduler.app_usage(new.app));
            assert_eq!(before.cluster.scheduler.app_pending(old.app), after.cluster.scheduler.app_pending(new.app));
            let host = |engine: &Engine, host| engine.cluster.scheduler.topology().host_name(host).to_owned();
            // Of lost trackers a restart knows only what attempts say: a name that was lost twice counts once, and one
            // that took nothing but a task-cleanup along not at all.
            let has_losses = self.facts.iter().any(|fact| matches!(fact, Fact::TrackerForgotten { .. }));
            for flaky in old.flaky_hosts().filter(|_| !has_losses) {
                let name = host(before, flaky);
                assert!(new.flaky_hosts().any(|flaky| host(after, flaky) == name), "{}: {name} is flaky", old.id);
            }
        }
        if before.jobs.iter().any(|job| !(job.is_over() || job.spec.recover && self.config.recover)) {
            return;
        }
        assert_eq!(before.cluster.housekeeping.setup, after.cluster.housekeeping.setup);
        assert_eq!(before.cluster.housekeeping.cleanup, after.cluster.housekeeping.cleanup);
        assert_eq!(before.cluster.housekeeping.task_cleanup, after.cluster.housekeeping.task_cleanup);
        assert_eq!(before.jobs.live.by_queue(), after.jobs.live.by_queue());
        let pending = |engine: &Engine| engine.jobs.finished.pending_kill_jobs().collect::<Vec<_>>();
        assert_eq!(pending(before), pending(after));
    }
}

/// Shows only the lines that differ.
fn similar_asserts(before: &str, after: &str) {
    let differ = before.lines().zip(after.lines()).find(|(before, after)| before != after);
    if let Some((before, after)) = differ {
        panic!("before: {before}\nafter:  {after}");
    }
    assert_eq!(before, after);
}
