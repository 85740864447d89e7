//! A tracker on a real socket that lives through the daemon's deaths as a stock one does: what it was about to tell it tells
//! again and again, as it was, and calls once a second until somebody answers.

use std::collections::BTreeMap;
use std::rc::Rc;

use tokio::time::{Duration, Instant, sleep};

use crate::dice::Dice;
use crate::steady_tracker::{Slots, host_of};
use crate::wayward_tracker::{WaywardTask, WaywardTracker};

use jobtracker::fake_tracker::{AttemptStep, Role};
use jobtracker::ipc::client::IpcClient;
use jobtracker::model::AttemptId;
use jobtracker::wire::protocol::{Call, InterTrackerCall, Protocol, Value};
use jobtracker::wire::{Action, HeartbeatRequest, HeartbeatResponse};

use super::stage::Stage;

/// The tracker.
#[derive(Debug)]
pub struct Station {
    tracker: WaywardTracker,
    dice: Dice,
    plans: BTreeMap<AttemptId, Plan>,
    /// When the report that waits for its answer was first sent.
    sent: Option<Instant>,
}

/// When an attempt ends, and how.
#[derive(Clone, Copy, Debug)]
struct Plan {
    due: Instant,
    fate: AttemptStep,
}

const SLOTS: Slots = Slots::new(4, 2);
const RETRY: Duration = Duration::from_secs(1);

// === impl Station ===

impl Station {
    /// One that has not called yet.
    pub fn new(number: u32, dice: Dice) -> Self {
        let tracker = WaywardTracker::new(number, &host_of(number), SLOTS);
        Self { tracker, dice, plans: BTreeMap::new(), sent: None }
    }

    /// Calls until the stage closes.
    pub async fn run(mut self, stage: Rc<Stage>) {
        // Not all in one moment.
        sleep(RETRY.mul_f64(f64::from(self.dice.below(1000)) / 1000.0)).await;
        while !stage.is_closed() {
            let life = stage.life();
            match IpcClient::connect(stage.rpc(), Protocol::InterTracker, "hadoop").await {
                // When it breaks, the next try is at once, as long as somebody listens.
                Ok(mut client) => self.call(&stage, &mut client, life).await,
                Err(error) => {
                    stage.excuse(life, || format!("a tracker cannot connect: {error}"));
                    sleep(RETRY).await;
                }
            }
        }
    }

    /// Heartbeats until the connection breaks.
    async fn call(&mut self, stage: &Stage, client: &mut IpcClient, life: u32) {
        while !stage.is_closed() {
            let first_sent = *self.sent.get_or_insert_with(Instant::now);
            let request = self.heartbeat();
            for report in &request.status.tasks {
                stage.register.borrow_mut().reporting(report.attempt, report.state);
            }
            let call = Call::InterTracker(InterTrackerCall::Heartbeat { request: Box::new(request.clone()) });
            let sent = Instant::now();
            match client.call(&call).await {
                Ok(Value::Heartbeat(answer)) => {
                    stage.heartbeat_answered(sent.elapsed());
                    self.sent = None;
                    self.take(stage, &request, first_sent, &answer);
                    sleep(Duration::from_millis(answer.interval_ms.max(1).cast_unsigned().into())).await;
                }
                Ok(other) => stage.wrong(format!("a heartbeat was answered by {other:?}")),
                Err(error) => return stage.excuse(life, || format!("a heartbeat failed: {error}")),
            }
        }
    }

    fn heartbeat(&mut self) -> HeartbeatRequest {
        let now = Instant::now();
        let plans = &self.plans;
        self.tracker.heartbeat(|task: &WaywardTask| match (task.role, plans.get(&task.id)) {
            (Role::Work, Some(plan)) if plan.due <= now => plan.fate,
            (Role::Work, Some(_)) if task.has_begun() => AttemptStep::Wait,
            _ => AttemptStep::Advance,
        })
    }

    /// Keeps book of what the answer to a report brings, and does it.
    fn take(&mut self, stage: &Stage, request: &HeartbeatRequest, sent: Instant, answer: &HeartbeatResponse) {
        let next_id = request.response_id.wrapping_add(1);
        // One that has nothing may be told to start anew: nothing is lost by it, and its id is repeated.
        let has_work = !self.tracker.tracker.attempts.is_empty();
        let is_reinit = !has_work && answer.actions.contains(&Action::ReinitTracker);
        if answer.response_id != next_id && !is_reinit {
            stage.wrong(format!("answer {} instead of {next_id}", answer.response_id));
        }
        let roles: BTreeMap<AttemptId, Role> =
            self.tracker.tracker.attempts.iter().map(|task| (task.id, task.role)).collect();
        let mut register = stage.register.borrow_mut();
        for report in &request.status.tasks {
            let role = roles.get(&report.attempt).copied().unwrap_or(Role::Work);
            register.reported(report.attempt, role, report.state, sent);
        }
        self.tracker.obey(answer);
        for action in &answer.actions {
            match action {
                Action::LaunchTask(task) => {
                    let attempt = task.status.attempt;
                    let launched = self.tracker.tracker.attempts.iter().find(|launched| launched.id == attempt);
                    let role = launched.map_or(Role::Work, |launched| launched.role);
                    register.launched(attempt, role);
                    if role == Role::Work {
                        self.plans.insert(attempt, Plan::new(&mut self.dice));
                    }
                }
                Action::ReinitTracker if has_work => {
                    register.wrong.push(format!("{} was told to start anew", request.status.name));
                }
                Action::ReinitTracker => {}
                Action::KillTask(_) | Action::KillJob(_) | Action::CommitTask(_) => {}
            }
        }
        let tasks = &self.tracker.tracker.attempts;
        self.plans.retain(|attempt, _| tasks.iter().any(|task| task.id == *attempt));
    }
}

// === impl Plan ===

impl Plan {
    /// One to fifteen seconds, and in nine of ten cases success.
    fn new(dice: &mut Dice) -> Self {
        let due = Instant::now() + Duration::from_millis(u64::from(1000 + dice.below(14_000)));
        let fate = match dice.below(100) {
            0..4 => AttemptStep::Fail,
            4..7 => AttemptStep::FailUnclean,
            7..9 => AttemptStep::DieUnclean,
            9 => AttemptStep::Die,
            _ => AttemptStep::Advance,
        };
        Self { due, fate }
    }
}
