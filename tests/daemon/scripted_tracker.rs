//! A fake tracker over a connection, with attempts that report what the test sets.

use jobtracker::fake_tracker::FakeTracker;
use jobtracker::model::AttemptState;
use jobtracker::wire::frame::{Frame, split_frame};
use jobtracker::wire::protocol::{Call, InterTrackerCall, Protocol, Value, decode_call};
use jobtracker::wire::{HeartbeatRequest, HeartbeatResponse, TaskStatus};

use super::clients::IntoCall;

/// A fake tracker of which tests set states and reports, also those that a stock one never sends.
#[derive(Clone, Debug)]
pub struct ScriptedTracker {
    /// Each attempt keeps what it reports beside its state.
    pub fake: FakeTracker<TaskStatus>,
    /// Whether it asks for tasks while it has room.
    pub accepts_tasks: bool,
}

// === impl ScriptedTracker ===

impl ScriptedTracker {
    /// One like the tracker of a recorded heartbeat, that has not called yet.
    pub fn new() -> Self {
        Self { fake: FakeTracker::of_status(&recorded_heartbeat().status), accepts_tasks: true }
    }

    /// The next heartbeat.
    pub fn heartbeat(&mut self) -> Call {
        InterTrackerCall::Heartbeat { request: Box::new(self.request()) }.into_call()
    }

    /// What the next heartbeat says.
    pub fn request(&mut self) -> HeartbeatRequest {
        let attempts = self.fake.attempts.iter();
        let reports = attempts.map(|attempt| TaskStatus { state: attempt.state, ..attempt.plan.clone() }).collect();
        let mut request = self.fake.request(reports);
        request.accept_new_tasks &= self.accepts_tasks;
        request
    }

    /// Does what an answer says. What was reported has come: diagnostics are not repeated.
    pub fn obey(&mut self, value: Value) -> HeartbeatResponse {
        let Value::Heartbeat(answer) = value else { panic!("{value:?}") };
        self.fake.attempts.iter_mut().for_each(|attempt| attempt.plan.diagnostics = "".into());
        self.fake.obey(&answer, |task| TaskStatus { counters: None, ..task.status.clone() });
        answer
    }

    /// All its attempts are in that state now.
    pub fn all_are(&mut self, state: AttemptState) {
        self.fake.attempts.iter_mut().for_each(|attempt| attempt.state = state);
    }
}

/// What a stock tracker without tasks said.
fn recorded_heartbeat() -> HeartbeatRequest {
    let path = "tests/fixtures/hadoop1/rpc/InterTrackerProtocol.heartbeat.idle.request.bin";
    let bytes = std::fs::read(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let Ok(Some((Frame::Bytes(frame), _))) = split_frame(&bytes, bytes.len()) else { panic!("{path}") };
    match decode_call(Protocol::InterTracker, frame).unwrap().call {
        Call::InterTracker(InterTrackerCall::Heartbeat { request }) => *request,
        other => panic!("{other:?}"),
    }
}
