//! Plays a script to both JobTrackers, one call at a time, and compares what they say after each.

use std::collections::BTreeSet;

use crate::dice::Dice;
use crate::steady_tracker::Slots;
use crate::wayward_tracker::{WaywardTask, WaywardTracker};

use jobtracker::fake_tracker::{AttemptStep, Role};
use jobtracker::model::{AttemptId, AttemptState, RunState, TaskId};
use jobtracker::wire::protocol::{JobSubmissionCall, Value};
use jobtracker::wire::{Action, HeartbeatResponse};

use super::script::{FLEET, PRIORITIES, Script, Step, host};
use super::side::Side;
use super::told;

/// Where the two differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// After how many steps of the script; those behind its end let all jobs come to theirs.
    pub step: usize,
    /// What was done.
    pub what: String,
    /// What the first said and the second did not.
    pub first: Vec<String>,
    /// The other way round.
    pub second: Vec<String>,
}

/// A script being played.
struct Play<'a> {
    script: &'a Script,
    sides: &'a mut [Side; 2],
    fleet: Vec<WaywardTracker>,
    /// Jobs of which anything was given out: an untouched one is KILLED without a cleanup under ours, on purpose.
    touched: BTreeSet<usize>,
    /// Whether attempts may have ended by a JobTracker's own clock.
    clocked: bool,
    /// Whether output may have been lost: Java goes on to show the progress of a map that lost its own.
    is_stale: bool,
    /// Reduces that came to an end.
    reduced: BTreeSet<TaskId>,
    /// Attempts that wait for their task-cleanup.
    unclean: BTreeSet<AttemptId>,
    /// Jobs that a client killed or that fail: Java may give out a map of theirs again whose output is lost.
    dying: BTreeSet<usize>,
    /// Attempts that a user asked to end, and those that were to be cleaned up after.
    asked: BTreeSet<AttemptId>,
    step: usize,
}

/// Rounds of the whole fleet within which jobs must end, twice: by themselves, and once they are killed.
const LAST_ROUNDS: u64 = 60;
/// Tasks and counters are compared after every so many steps.
const LOOK_CLOSELY_EVERY: usize = 4;

type Played<T> = Result<T, PlayError>;

/// Why a script was not played to its end.
#[derive(Debug)]
pub enum PlayError {
    /// The two differ.
    Differ(Box<Difference>),
    /// A call failed.
    Broken(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for PlayError {
    fn from(error: E) -> Self {
        Self::Broken(error.into())
    }
}

/// Plays the script to its end, and then on until all jobs are over.
pub async fn play(script: &Script, sides: &mut [Side; 2]) -> Played<()> {
    for side in &mut *sides {
        side.begin(script.jobs.len());
    }
    let fleet = fleet(script);
    let mut play = Play {
        script,
        sides,
        fleet,
        touched: BTreeSet::new(),
        clocked: false,
        is_stale: false,
        reduced: BTreeSet::new(),
        dying: BTreeSet::new(),
        unclean: BTreeSet::new(),
        asked: BTreeSet::new(),
        step: 0,
    };
    for tracker in 0..FLEET as usize {
        play.beat(tracker, 0, false).await?;
    }
    for step in &script.steps {
        play.step += 1;
        play.take(step).await?;
        play.look(&format!("{step:?}"), play.step.is_multiple_of(LOOK_CLOSELY_EVERY)).await?;
    }
    play.end().await
}

/// Ends what is left of a script on each side by itself.
pub async fn clear(script: &Script, sides: &mut [Side; 2]) -> anyhow::Result<()> {
    for side in sides {
        let mut fleet = fleet(script);
        for tracker in &mut fleet {
            tracker.tracker.slots = Slots::new(2, 2);
        }
        for place in side.submitted() {
            side.ask(place, |job| JobSubmissionCall::KillJob { job }).await?;
        }
        for _ in 0..LAST_ROUNDS {
            for (number, tracker) in fleet.iter_mut().enumerate() {
                let answer = side.beat(number, &tracker.heartbeat(|_| AttemptStep::Advance)).await?;
                tracker.obey(&answer);
            }
        }
    }
    Ok(())
}

fn fleet(script: &Script) -> Vec<WaywardTracker> {
    let tracker = |number: u32| {
        let (maps, reduces) = script.slots.get(number as usize).copied().unwrap_or((2, 2));
        WaywardTracker::new(number, &host(number), Slots::new(maps, reduces))
    };
    (0..FLEET).map(tracker).collect()
}

// === impl Play ===

impl Play<'_> {
    async fn take(&mut self, step: &Step) -> Played<()> {
        if matches!(step, Step::Restart { .. } | Step::LoseOutput { .. } | Step::FailFetch { .. }) {
            self.notice_failures().await?;
        }
        match *step {
            Step::Submit { job } => {
                for side in &mut *self.sides {
                    if !side.submitted().contains(&job) {
                        side.submit(job, &self.script.jobs[job]).await?;
                    }
                }
            }
            Step::Beat { tracker, roll, is_lost } => self.beat(tracker, roll, is_lost).await?,
            Step::Restart { tracker, reinit } => {
                // Java gives up a task-cleanup that is lost with its tracker, ours has another tracker do it.
                // And what waits for its commit is KILLED without a task-cleanup there.
                let cleans =
                    |task: &WaywardTask| task.role == Role::TaskCleanup || task.state == AttemptState::CommitPending;
                let cleans = self.fleet[tracker].tracker.attempts.iter().any(cleans);
                if !cleans
                    && !self.fleet[tracker].is_unanswered()
                    && self.fleet[tracker].tracker.outputs.iter().all(|output| self.is_read(*output))
                {
                    let had = self.fleet[tracker].tracker.attempts.iter().map(|task| task.id);
                    let had: Vec<_> = had.collect();
                    self.asked.extend(&had);
                    self.unclean.extend(had);
                    self.fleet[tracker].restart(reinit);
                    self.clocked = true;
                    self.is_stale = true;
                }
            }
            Step::LoseOutput { tracker, roll } => {
                let outputs = self.fleet[tracker].tracker.outputs.iter().copied();
                let outputs: Vec<_> = outputs.filter(|output| self.is_read(*output)).collect();
                if let Some(output) = Dice::new(roll).pick(&outputs) {
                    self.is_stale = true;
                    self.fleet[tracker].lose_output(output);
                }
            }
            Step::FailFetch { tracker, roll } => {
                self.is_stale = true;
                self.fail_fetch(tracker, roll);
            }
            // Java says nothing of attempts that wait for their task-cleanup when their job is killed.
            Step::KillJob { job } if self.waits_for_cleanup(job) => {}
            Step::KillJob { job } if self.touched.contains(&job) => {
                self.dying.insert(job);
                for side in &mut *self.sides {
                    side.ask(job, |job| JobSubmissionCall::KillJob { job }).await?;
                }
            }
            Step::KillJob { .. } => {}
            Step::KillTask { tracker, roll, fail } => self.kill_task(tracker, roll, fail).await?,
            Step::SetPriority { job, priority } => {
                for side in &mut *self.sides {
                    if side.submitted().contains(&job) {
                        let priority = Some(PRIORITIES[priority].to_owned());
                        let call = |job| JobSubmissionCall::SetJobPriority { job, priority: priority.clone() };
                        side.ask(job, call).await?;
                    }
                }
            }
            Step::Stranger => {
                let name = 1_000 + self.step as u32 + 1_000 * (self.script.seed % 1_000) as u32;
                let mut stranger = WaywardTracker::new(name, "10.9.1.1", Slots::new(1, 1));
                stranger.obey(&HeartbeatResponse {
                    response_id: 7,
                    interval_ms: 0,
                    actions: Vec::new(),
                    recovered_jobs: Vec::new(),
                });
                let request = stranger.heartbeat(|_| AttemptStep::Wait);
                let [first, second] = &mut *self.sides;
                let answers = [first.strange_beat(&request).await?, second.strange_beat(&request).await?];
                self.compare("a stranger calls", answers.map(|answer| told::answer(&answer)))?;
            }
        }
        Ok(())
    }

    async fn beat(&mut self, number: usize, roll: u64, is_lost: bool) -> Played<()> {
        let (script, seed) = (self.script, self.script.seed ^ roll);
        let is_last = self.step > self.script.steps.len();
        let request =
            self.fleet[number].heartbeat(|task| if is_last { AttemptStep::Advance } else { script.fate(seed, task) });
        let [first, second] = &mut *self.sides;
        let answers = [first.beat(number, &request).await?, second.beat(number, &request).await?];
        let what = format!("tracker {number} calls with {}", reported(&request));
        let mut told = [told::answer(&answers[0]), told::answer(&answers[1])];
        // Of a job that is about to end Java has trackers drop finished maps one by one, before it ends as a whole.
        let dropped = self.fleet[number].ended_maps();
        let dropped: Vec<String> = dropped.iter().map(|attempt| format!("kill {attempt}")).collect();
        let [java, ours] = &mut told;
        java.retain(|line| !dropped.contains(line) || ours.contains(line));
        // And it lets an attempt commit that it has killed for a user in the same breath.
        let killed: Vec<String> =
            java.iter().filter_map(|line| line.strip_prefix("kill ")).map(str::to_owned).collect();
        java.retain(|line| !line.strip_prefix("commit ").is_some_and(|attempt| killed.iter().any(|it| it == attempt)));
        self.compare(&what, told)?;
        for report in &request.status.tasks {
            match report.state {
                AttemptState::FailedUnclean | AttemptState::KilledUnclean => {
                    self.asked.insert(report.attempt);
                    self.unclean.insert(report.attempt)
                }
                _ => self.unclean.remove(&report.attempt),
            };
        }
        let ended = |state| matches!(state, AttemptState::Succeeded | AttemptState::Failed);
        let ended =
            request.status.tasks.iter().filter(|report| ended(report.state) && !report.attempt.task.kind.is_map());
        self.reduced.extend(ended.map(|report| report.attempt.task));
        for action in &answers[0].actions {
            if let Action::LaunchTask(task) = action {
                self.touched.insert(task.status.attempt.task.job.number as usize);
            }
        }
        // One that registers does so again when it gets no answer, and loses again what that gave it.
        if !is_lost || request.initial_contact {
            self.fleet[number].obey(&answers[0]);
        }
        Ok(())
    }

    /// Whether a reduce of its job is still to be done. Java makes a map again whose output nobody reads, ours does not.
    fn is_read(&self, output: AttemptId) -> bool {
        let job = output.task.job;
        let reduced = self.reduced.iter().filter(|task| task.job == job).count();
        let place = job.number as usize;
        reduced < self.script.jobs[place].reduces as usize && !self.dying.contains(&place)
    }

    fn waits_for_cleanup(&self, job: usize) -> bool {
        self.unclean.iter().any(|attempt| attempt.task.job.number as usize == job)
    }

    async fn notice_failures(&mut self) -> anyhow::Result<()> {
        let side = &mut self.sides[0];
        for place in side.submitted() {
            let status = side.ask(place, |job| JobSubmissionCall::GetJobStatus { job }).await?;
            if matches!(status, Value::JobStatus(Some(status)) if &*status.failure_info.0 != "NA") {
                self.dying.insert(place);
            }
        }
        Ok(())
    }

    fn fail_fetch(&mut self, tracker: usize, roll: u64) {
        let mut dice = Dice::new(roll);
        let reduces: Vec<_> = self.fleet[tracker].tracker.attempts.iter().filter(is_running_reduce).collect();
        let Some(reduce) = dice.pick(&reduces).map(|task| task.id) else { return };
        let outputs = self.fleet.iter().flat_map(|tracker| &tracker.tracker.outputs);
        let outputs = outputs.filter(|output| output.task.job == reduce.task.job && self.is_read(**output));
        let outputs: Vec<_> = outputs.copied().collect();
        // Always the first one or two, so that failures add up.
        let maps = &outputs[..outputs.len().min(1 + dice.below(2) as usize)];
        self.fleet[tracker].fail_fetches(reduce, maps);
    }

    async fn kill_task(&mut self, tracker: usize, roll: u64, fail: bool) -> Played<()> {
        let attempts: Vec<_> = self.fleet[tracker].tracker.attempts.iter().map(|task| task.id).collect();
        let Some(attempt) = Dice::new(roll).pick(&attempts) else { return Ok(()) };
        self.asked.insert(attempt);
        let [first, second] = &mut *self.sides;
        let answers = [first.kill_task(attempt, fail).await?, second.kill_task(attempt, fail).await?];
        let what = format!("{} {attempt}", if fail { "fail-task" } else { "kill-task" });
        self.compare(&what, answers.map(|answer| vec![format!("{answer:?}")]))
    }

    /// Compares what clients see.
    async fn look(&mut self, what: &str, closely: bool) -> Played<()> {
        for place in self.sides[0].submitted() {
            let [first, second] = &mut *self.sides;
            let seen = [
                told::job(first, place, &self.asked, self.is_stale).await?,
                told::job(second, place, &self.asked, self.is_stale).await?,
            ];
            self.compare(what, seen)?;
            if closely {
                let [first, second] = &mut *self.sides;
                let (clocked, stale) = (self.clocked, self.is_stale);
                let seen = [
                    told::tasks(first, place, clocked, stale).await?,
                    told::tasks(second, place, clocked, stale).await?,
                ];
                self.compare(what, seen)?;
            }
        }
        Ok(())
    }

    /// From now on everything succeeds; what does not end by itself is killed.
    async fn end(&mut self) -> Played<()> {
        for is_killed in [false, true] {
            for round in 0..LAST_ROUNDS {
                self.step += 1;
                for tracker in 0..FLEET as usize {
                    // Everybody has room in the end, so that no job waits for a kind of slot that nobody has.
                    self.fleet[tracker].tracker.slots = Slots::new(2, 2);
                    self.beat(tracker, round, false).await?;
                }
                if self.are_over().await? {
                    for tracker in 0..FLEET as usize {
                        self.beat(tracker, round, false).await?;
                    }
                    return self.look("at the end", true).await;
                }
            }
            self.look("when all should be over", true).await?;
            if !is_killed {
                for side in &mut *self.sides {
                    for place in side.submitted() {
                        side.ask(place, |job| JobSubmissionCall::KillJob { job }).await?;
                    }
                }
            }
        }
        Err(anyhow::anyhow!("jobs do not end, in both alike").into())
    }

    async fn are_over(&mut self) -> anyhow::Result<bool> {
        let side = &mut self.sides[0];
        for place in side.submitted() {
            if let Value::JobStatus(Some(status)) =
                side.ask(place, |job| JobSubmissionCall::GetJobStatus { job }).await?
                && matches!(status.run_state, RunState::Prep | RunState::Running)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn compare(&self, what: &str, [mut first, mut second]: [Vec<String>; 2]) -> Played<()> {
        if first == second {
            return Ok(());
        }
        let common = first.iter().filter(|line| second.contains(line)).cloned().collect::<Vec<_>>();
        // Lines in another order are a difference too, and then all of them are shown.
        if common.len() < first.len() || common.len() < second.len() {
            first.retain(|line| !common.contains(line));
            second.retain(|line| !common.contains(line));
        }
        Err(PlayError::Differ(Box::new(Difference { step: self.step, what: what.to_owned(), first, second })))
    }
}

// === impl Script ===

impl Script {
    fn fate(&self, seed: u64, task: &WaywardTask) -> AttemptStep {
        let id = task.id.task;
        let mut dooms =
            self.dooms.iter().filter(|doom| (doom.job, doom.kind, doom.task) == (id.job.number, id.kind, id.number));
        let doom = dooms.find(|doom| task.id.number < doom.attempts && task.role != Role::TaskCleanup);
        match doom {
            Some(doom) if task.has_begun() => doom.fate,
            _ => self.luck.fate(seed, task),
        }
    }
}

// === impl Luck ===

impl super::script::Luck {
    fn fate(&self, seed: u64, task: &WaywardTask) -> AttemptStep {
        let mut dice = Dice::named(seed, &format!("{} {:?}", task.id, task.role));
        if dice.percent(self.waits) {
            return AttemptStep::Wait;
        }
        if task.role != Role::Work {
            let fails = task.role == Role::Housekeeping && dice.percent(self.housekeeping_fails);
            return if fails { AttemptStep::Fail } else { AttemptStep::Advance };
        }
        let mut chance = dice.below(100);
        let ends = [
            (self.fails, AttemptStep::Fail),
            (self.fails_unclean, AttemptStep::FailUnclean),
            (self.dies_unclean, AttemptStep::DieUnclean),
            (self.dies, AttemptStep::Die),
        ];
        for (percent, fate) in ends {
            if chance < percent {
                return fate;
            }
            chance -= percent;
        }
        AttemptStep::Advance
    }
}

fn is_running_reduce(task: &&WaywardTask) -> bool {
    task.role == Role::Work && !task.kind().is_map() && task.state == AttemptState::Running
}

fn reported(request: &jobtracker::wire::HeartbeatRequest) -> String {
    let reports = request.status.tasks.iter().map(|report| format!("{} {:?}", report.attempt, report.state));
    let mut text = reports.collect::<Vec<_>>().join(", ");
    if request.initial_contact {
        text.push_str(" (registers)");
    }
    if !request.accept_new_tasks {
        text.push_str(" (wants no tasks)");
    }
    text
}
