//! Everything that a daemon is asked, one after the other; of each call its kind.

use tokio::runtime::Runtime;

use crate::daemon::child::{ChildDaemon, DaemonFolders};
use crate::staging;
use crate::staging::JobFiles;
use crate::steady_tracker::{Ending, Slots, SteadyTracker, host_of};

use jobtracker::clock::wall_ms;
use jobtracker::fs::{FileSystems, FileUri};
use jobtracker::ipc::client::IpcClient;
use jobtracker::market::Key;
use jobtracker::model::{AttemptState, JobId, RunState};
use jobtracker::wire::protocol::{AdminOperationsCall, Call, InterTrackerCall, JobSubmissionCall, Protocol, Value};
use jobtracker::wire::{Action, Credentials, HeartbeatRequest, HeartbeatResponse};

/// A script against a daemon.
pub struct Asked<'a> {
    serving: &'a ChildDaemon,
    runtime: Runtime,
    tracker: SteadyTracker,
    trackers_line: IpcClient,
    client: IpcClient,
    administrator: IpcClient,
    /// Of each call its kinds.
    asked: Vec<Vec<&'static str>>,
    stamp_ms: i64,
}

const SLOTS: Slots = Slots::new(2, 1);
/// Heartbeats after which any job is over.
const BEATS: usize = 5_000;

// === impl Asked ===

impl<'a> Asked<'a> {
    /// Plays all of it; the kinds of all calls, in their order.
    pub fn play(place: &DaemonFolders, serving: &'a ChildDaemon) -> Vec<Vec<&'static str>> {
        let mut asked = Self::begin(serving, "alice");
        asked.market();
        let first = asked.submit("alice", (3, 1));
        asked.set_priority(first);
        asked.beat_until_over(first);
        // Written beside what is asked; its fact must not fall into the next exchange.
        place.wait_for_histories(1);
        asked.status(first);
        asked.events(first);
        asked.tracker = SteadyTracker::new(1, SLOTS, Ending::Never);
        let second = asked.submit("alice", (4, 0));
        // Registers anew: set up, launched, at work.
        for _ in 0..6 {
            asked.beat(false);
        }
        asked.beat(true);
        asked.kill_a_task();
        for _ in 0..2 {
            asked.beat(false);
        }
        std::fs::write(place.path("etc/excluded"), host_of(1) + "\n").unwrap();
        asked.administer(AdminOperationsCall::RefreshNodes, "refreshNodes that loses a tracker");
        asked.job(JobSubmissionCall::KillJob { job: Some(second) }, "killJob");
        asked.asked
    }

    fn begin(serving: &'a ChildDaemon, user: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let connect =
            |protocol, user: &str| runtime.block_on(IpcClient::connect(serving.rpc(), protocol, user)).unwrap();
        let trackers_line = connect(Protocol::InterTracker, "mapred");
        let client = connect(Protocol::JobSubmission, user);
        let administrator = connect(Protocol::AdminOperations, &whoami());
        Self {
            serving,
            tracker: SteadyTracker::new(1, SLOTS, Ending::Soon),
            trackers_line,
            client,
            administrator,
            asked: vec![vec!["getProtocolVersion"]; 3],
            stamp_ms: wall_ms(),
            runtime,
        }
    }

    fn market(&mut self) {
        for (user, operation, kind) in [
            ("alice", "setSpending=2&queue=alice", "setSpending"),
            ("root", "addBudget=5&queue=bob", "addBudget"),
            ("root", "addQueue=carol", "addQueue"),
            ("root", "removeQueue=carol", "removeQueue"),
            // The used signature is what it waits for.
            ("alice", "info=alice", "info"),
        ] {
            self.stamp_ms += 1;
            let answer = self.serving.ask_at(user, operation, self.stamp_ms);
            assert_eq!(answer.status, 200, "{operation}: {} {}", answer.reason, answer.body);
            self.asked.push(vec![kind]);
        }
        for _ in 0..3 {
            assert_eq!(self.serving.get("/scheduler?price", "").status, 200);
            self.asked.push(vec!["price"]);
        }
    }

    fn job(&mut self, call: JobSubmissionCall, kind: &'static str) -> Value {
        self.asked.push(vec![kind]);
        self.runtime.block_on(self.client.call(&Call::JobSubmission(call))).unwrap()
    }

    fn submit(&mut self, user: &str, (maps, reduces): (usize, u32)) -> JobId {
        for _ in 0..2 {
            self.job(JobSubmissionCall::GetNewJobId, "getNewJobId");
        }
        let Value::JobId(id) = self.job(JobSubmissionCall::GetNewJobId, "getNewJobId") else { panic!("no id") };
        let Value::String(Some(staging)) = self.job(JobSubmissionCall::GetStagingAreaDir, "getNewJobId") else {
            panic!("no staging directory")
        };
        let directory = FileUri::parse(&staging).unwrap().join(&id.to_string()).unwrap();
        self.stamp_ms += 1;
        let stamp = self.stamp_ms.to_string();
        let properties = staging::signed(user, &Key::new(&format!("{user}key")), &stamp);
        let files = JobFiles { splits: vec![Vec::new(); maps], reduces, properties };
        staging::write(&FileSystems::with_defaults(user), &directory, id, &files).unwrap();
        let submit = JobSubmissionCall::SubmitJob {
            job: Some(id),
            directory: Some(directory.to_string()),
            credentials: Some(Credentials::default()),
        };
        assert!(matches!(self.job(submit, "submitJob"), Value::JobStatus(Some(status)) if status.id == id));
        id
    }

    fn set_priority(&mut self, job: JobId) {
        let priority = Some("HIGH".to_owned());
        self.job(JobSubmissionCall::SetJobPriority { job: Some(job), priority }, "setJobPriority");
    }

    fn status(&mut self, job: JobId) -> RunState {
        let call = JobSubmissionCall::GetJobStatus { job: Some(job) };
        let Value::JobStatus(Some(status)) = self.job(call, "getJobStatus") else { panic!("{job} is forgotten") };
        status.run_state
    }

    fn events(&mut self, job: JobId) {
        for _ in 0..3 {
            let call = JobSubmissionCall::GetTaskCompletionEvents { job: Some(job), from: 0, max: 100 };
            self.job(call, "getTaskCompletionEvents");
        }
    }

    fn kill_a_task(&mut self) {
        let tasks = self.tracker.heartbeat().status.tasks;
        let attempt = tasks.iter().find(|task| task.state == AttemptState::Running).map(|task| task.attempt);
        let killed = self.job(JobSubmissionCall::KillTask { attempt, should_fail: false }, "killTask");
        assert!(matches!(killed, Value::Boolean(true)), "{attempt:?}: {killed:?}");
    }

    fn administer(&mut self, call: AdminOperationsCall, kind: &'static str) {
        self.asked.push(vec![kind]);
        self.runtime.block_on(self.administrator.call(&Call::AdminOperations(call))).unwrap();
    }

    fn beat_until_over(&mut self, job: JobId) {
        for _ in 0..BEATS {
            self.beat(false);
            if self.status(job) == RunState::Succeeded {
                // The news of it, and what follows an end without a fact.
                return (0..4).for_each(|_| self.beat(false));
            }
        }
        panic!("{job} does not end");
    }

    /// One heartbeat, with diagnostics of what runs or without.
    fn beat(&mut self, is_talkative: bool) {
        let mut request = self.tracker.heartbeat();
        if is_talkative {
            request.status.tasks[0].diagnostics = "it is slow".into();
        }
        let call = Call::InterTracker(InterTrackerCall::Heartbeat { request: Box::new(request.clone()) });
        let Value::Heartbeat(answer) = self.runtime.block_on(self.trackers_line.call(&call)).unwrap() else {
            panic!("no answer to a heartbeat")
        };
        self.asked.push(kinds_of(&request, &answer));
        self.tracker.obey(&answer);
    }
}

/// All that a heartbeat brought and was answered.
fn kinds_of(request: &HeartbeatRequest, answer: &HeartbeatResponse) -> Vec<&'static str> {
    let has = |is: fn(&Action) -> bool| answer.actions.iter().any(is);
    let tasks = &request.status.tasks;
    let goes_on = [AttemptState::Unassigned, AttemptState::Running, AttemptState::CommitPending];
    let kinds = [
        ("heartbeat: a launch", has(|action| matches!(action, Action::LaunchTask(_)))),
        ("heartbeat: a commit", has(|action| matches!(action, Action::CommitTask(_)))),
        ("heartbeat: a kill", has(|action| matches!(action, Action::KillTask(_) | Action::KillJob(_)))),
        ("heartbeat: an end", tasks.iter().any(|task| !goes_on.contains(&task.state))),
        ("heartbeat: diagnostics", tasks.iter().any(|task| task.diagnostics != "".into())),
    ];
    let kinds: Vec<_> = kinds.into_iter().filter(|(_, is_so)| *is_so).map(|(kind, _)| kind).collect();
    if kinds.is_empty() { vec!["heartbeat: nothing"] } else { kinds }
}

/// Who started the daemon administers it.
fn whoami() -> String {
    let output = std::process::Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
