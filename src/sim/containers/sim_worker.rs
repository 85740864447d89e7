//! A simulated worker's containers: what becomes of each, and when it is said.

use crate::api::{BeatAnswer, BeatContainerState, ContainerEnd, ContainerLaunch, DeclaredBag};
use crate::fake_tracker::FakeWorker;
use crate::model::{Capability, ContainerExit, ContainerId};
use crate::sim::attempt::FaultModel;
use crate::sim::cuts::RunPart;
use crate::sim::daemon_run::LateAnswer;
use crate::sim::random::{Random, mixed};

use super::sim_application::Program;

#[derive(Clone, Debug)]
pub(in crate::sim) struct ContainerFate {
    /// When its process starts, by the clock that never goes back, ms.
    start_mono_ms: u64,
    /// When it ends by itself.
    end_mono_ms: u64,
    exit: ContainerExit,
    /// How long it resists TERM, ms; it does not outlive its grace.
    resists_ms: u64,
    /// When the kill that has come ends it.
    killed_mono_ms: Option<u64>,
}

#[derive(Debug)]
pub(in crate::sim) struct SimWorker {
    pub(crate) fake: FakeWorker<ContainerFate>,
    pub(crate) random: Random,
    /// When it acts next, by the world's clock, ms; later events that are due before it are void.
    pub(crate) due_mono_ms: u64,
    /// When the beat that the daemon holds must be answered; none: it holds none.
    pub(crate) held_until_ms: Option<u64>,
    pub(crate) delayed_answer: Option<LateAnswer<BeatAnswer>>,
    /// It has no connection, or knows of a daemon that is gone.
    pub(crate) must_connect: bool,
    /// The run of the daemon that it is connected to.
    pub(crate) daemon_run: u64,
    /// Whether a beat of this connection was taken.
    pub(crate) is_received: bool,
    /// Whether the last one that was taken complained.
    pub(crate) said_unhealthy: bool,
    pub(crate) silent_until_ms: u64,
}

impl ContainerFate {
    /// Plans a launched container. Depends on the seed and the container's id alone.
    fn new(launch: &ContainerLaunch, now_mono_ms: u64, model: FaultModel<'_>) -> Self {
        let id = launch.id;
        let key = [id.application.start_ms, u64::from(id.application.number), u64::from(id.attempt), id.number];
        let chance = key.iter().fold(model.seed, |chance, part| mixed(chance ^ part));
        let part = |shift: u32, bound: u64| (mixed(chance ^ u64::from(shift)) >> 7) % bound.max(1);
        let FaultModel { plan, cuts, is_draining, .. } = model;
        let (run_ms, failing) = plan.containers.as_ref().map_or((100, 0), |plan| (plan.run_ms, plan.failing_permille));
        let fails = !is_draining && cuts.has(RunPart::FailingContainers) && part(0, 1_000) < failing;
        let is_long = part(1, 20) == 0;
        let run_ms = match is_draining {
            true => 100,
            false => run_ms / 2 + part(2, run_ms) + if is_long { run_ms * 20 } else { 0 },
        };
        let program = Program::of(&launch.context).filter(|_| !is_draining);
        let run_ms = program.map_or(run_ms, |program| program.run_ms);
        let start_mono_ms = now_mono_ms + if is_draining { 1 } else { part(3, 400) };
        let (mut end_mono_ms, mut exit) = (start_mono_ms + run_ms.max(1), ContainerExit::SUCCESS);
        if fails {
            exit = [
                ContainerExit(1),
                ContainerExit(255),
                ContainerExit::of_signal(9),
                ContainerExit::INVALID,
                ContainerExit::KILLED_EXCEEDED_MEMORY,
                ContainerExit::KILLED_FOR_LOGS,
                ContainerExit::DISKS_FAILED,
            ][part(4, 7) as usize];
        }
        if let Some(limit_ms) = launch.context.time_limit_ms.filter(|limit_ms| *limit_ms < end_mono_ms - start_mono_ms)
        {
            (end_mono_ms, exit) = (start_mono_ms + limit_ms.max(1), ContainerExit::TIME_LIMIT);
        }
        let ignores_term = program.map_or(part(5, 3) == 0, |program| program.ignores_term);
        let resists_ms = if ignores_term { u64::MAX } else { part(6, 2_000) };
        Self { start_mono_ms, end_mono_ms, exit, resists_ms, killed_mono_ms: None }
    }

    fn finish_soon(&mut self, now_mono_ms: u64) {
        self.start_mono_ms = self.start_mono_ms.min(now_mono_ms);
        if self.end_mono_ms > now_mono_ms + 100 {
            (self.end_mono_ms, self.exit) = (now_mono_ms + 100, ContainerExit::SUCCESS);
        }
    }

    fn next_mono_ms(&self, state: &BeatContainerState) -> u64 {
        let own = match state {
            // Its program never ran.
            BeatContainerState::Launching if self.exit == ContainerExit::INVALID => self.start_mono_ms,
            BeatContainerState::Launching => self.start_mono_ms,
            BeatContainerState::Running { .. } => self.end_mono_ms,
            BeatContainerState::Ended(_) => return u64::MAX,
        };
        own.min(self.killed_mono_ms.unwrap_or(u64::MAX))
    }
}

impl SimWorker {
    pub(in crate::sim) fn new(bag: Capability, slot: Capability, random: Random, place: u64) -> Self {
        let declared = DeclaredBag { capability: bag, slot };
        Self {
            fake: FakeWorker::new(mixed(place + 1), declared),
            random,
            due_mono_ms: 0,
            held_until_ms: None,
            delayed_answer: None,
            must_connect: true,
            daemon_run: 0,
            is_received: false,
            said_unhealthy: false,
            silent_until_ms: 0,
        }
    }

    /// Its process ends with all containers, and another takes its place.
    pub(in crate::sim) fn restart(&mut self) {
        self.fake.restart(mixed(self.fake.incarnation));
        self.lose_connection();
    }

    /// Its connection is gone, with every answer on it.
    pub(in crate::sim) fn lose_connection(&mut self) {
        self.held_until_ms = None;
        self.delayed_answer = None;
        self.is_received = false;
        self.must_connect = true;
    }

    pub(in crate::sim) fn recover(&mut self, now_mono_ms: u64) {
        self.fake.unhealthy = None;
        self.silent_until_ms = 0;
        for container in self.fake.containers.values_mut() {
            container.plan.finish_soon(now_mono_ms);
        }
    }

    pub(in crate::sim) fn advance(&mut self, now_mono_ms: u64, wall_ms: i64) {
        let ids: Vec<ContainerId> = self.fake.containers.keys().copied().collect();
        for id in ids {
            while let Some(container) = self.fake.containers.get(&id)
                && container.plan.next_mono_ms(&container.state) <= now_mono_ms
            {
                self.advance_container(id, now_mono_ms, wall_ms);
            }
        }
    }

    fn advance_container(&mut self, id: ContainerId, now_mono_ms: u64, wall_ms: i64) {
        let Some(container) = self.fake.containers.get(&id) else { return };
        let fate = &container.plan;
        let is_killed = fate.killed_mono_ms.is_some_and(|killed_ms| killed_ms <= now_mono_ms.min(fate.end_mono_ms));
        let kill = container.kill.clone().filter(|_| is_killed);
        let started_ms = match container.state {
            BeatContainerState::Running { started_ms, .. } => Some(started_ms),
            _ => None,
        };
        let never_runs = started_ms.is_none() && fate.exit == ContainerExit::INVALID;
        if started_ms.is_none() && kill.is_none() && !never_runs {
            self.fake.start(id, wall_ms);
            return;
        }
        let (exit, diagnostics) = match kill {
            Some(kill) => (kill.exit, kill.diagnostics),
            None => (fate.exit, String::new()),
        };
        let end = ContainerEnd { exit, diagnostics, started_ms, ended_ms: wall_ms, peak_memory_mb: 1, cpu_ms: 1 };
        self.fake.end(id, end);
    }

    /// Whether this run of the daemon has had a beat of it that said all, and knows no complaint.
    pub(in crate::sim) fn is_known(&self, daemon_run: u64) -> bool {
        !self.must_connect
            && self.daemon_run == daemon_run
            && self.is_received
            && self.fake.unhealthy.is_none()
            && !self.said_unhealthy
    }

    /// When one of its containers changes next, by the world's clock, ms.
    pub(in crate::sim) fn next_change_ms(&self) -> u64 {
        let containers = self.fake.containers.values();
        containers.map(|container| container.plan.next_mono_ms(&container.state)).min().unwrap_or(u64::MAX)
    }

    /// Does what an answer says. Returns what is launched.
    pub(in crate::sim) fn obey(
        &mut self,
        answer: &BeatAnswer,
        now_mono_ms: u64,
        model: FaultModel<'_>,
    ) -> Vec<ContainerId> {
        let launched = self.fake.obey(answer, |launch| ContainerFate::new(launch, now_mono_ms, model));
        for container in self.fake.containers.values_mut() {
            let Some(kill) = &container.kill else { continue };
            let at_ms = now_mono_ms + kill.grace_ms.min(container.plan.resists_ms);
            container.plan.killed_mono_ms =
                Some(container.plan.killed_mono_ms.map_or(at_ms, |before| before.min(at_ms)));
        }
        launched
    }
}
