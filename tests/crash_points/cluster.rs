//! Trackers and job clients that go on after a crash as stock ones do: what was not answered is sent again as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::daemon::child::{DaemonFolders, TIMEOUT};
use crate::stage::Stage;
use crate::staging;
use crate::staging::JobFiles;
use crate::steady_tracker::{Ending, Slots, SteadyTracker};

use jobtracker::fs::{FileSystems, FileUri};
use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::market::Key;
use jobtracker::model::{AttemptId, AttemptState, JobId, Kind, RunState, TaskId};
use jobtracker::wire::protocol::{Call, InterTrackerCall, JobSubmissionCall, Protocol, RemoteException, Value};
use jobtracker::wire::{Action, Credentials, HeartbeatResponse, JobStatus, TaskCompletionEvent, TaskStatus};

/// Everybody who calls over RPC, and what they were told.
pub struct Cluster {
    runtime: Runtime,
    trackers: Vec<SteadyTracker>,
    /// Each with the process that it leads to.
    connections: BTreeMap<String, (u32, IpcClient)>,
    /// Each launch that reached a tracker; true: to clean up after the attempt.
    launched: BTreeSet<(AttemptId, bool)>,
    /// Attempts that somebody wanted ended.
    killed: BTreeSet<AttemptId>,
    /// Tasks whose success was answered.
    succeeded: BTreeSet<TaskId>,
    events: BTreeMap<JobId, Vec<TaskCompletionEvent>>,
    /// Maps and reduces of jobs whose reduces read the maps' output.
    sizes: BTreeMap<JobId, (i32, u32)>,
    /// Jobs of which a tracker keeps output of maps.
    outputs: Vec<BTreeSet<JobId>>,
    /// Of each job that is submitted, beside those that every job has.
    pub properties: Vec<(String, String)>,
}

const SLOTS: Slots = Slots::new(2, 1);
const TRACKERS: u32 = 3;
/// Rounds of heartbeats after which nothing can be left to do.
const ROUNDS: usize = 400;

// === impl Cluster ===

impl Cluster {
    pub fn new() -> Self {
        Self {
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
            trackers: (1..=TRACKERS).map(|number| SteadyTracker::new(number, SLOTS, Ending::Soon)).collect(),
            connections: BTreeMap::new(),
            launched: BTreeSet::new(),
            killed: BTreeSet::new(),
            succeeded: BTreeSet::new(),
            events: BTreeMap::new(),
            sizes: BTreeMap::new(),
            outputs: vec![BTreeSet::new(); TRACKERS as usize],
            properties: Vec::new(),
        }
    }

    /// Makes a call until it is answered. The second value tells whether it had to be made again.
    fn call(
        &mut self,
        stage: &mut Stage,
        (caller, user): (&str, &str),
        protocol: Protocol,
        call: &Call,
    ) -> (Result<Value, RemoteException>, bool) {
        let mut is_again = false;
        loop {
            match self.try_call(stage, (caller, user), protocol, call) {
                Ok(value) => return (Ok(value), is_again),
                Err(IpcError::Remote { exception, .. }) => return (Err(exception), is_again),
                Err(error @ (IpcError::Wire(_) | IpcError::Timeout(_))) => panic!("{call:?}: {error}"),
                Err(_) => stage.revive(),
            }
            is_again = true;
        }
    }

    fn try_call(
        &mut self,
        stage: &mut Stage,
        (caller, user): (&str, &str),
        protocol: Protocol,
        call: &Call,
    ) -> Result<Value, IpcError> {
        let (process, address) = stage.rpc();
        self.runtime.block_on(async {
            let known = self.connections.remove(caller).filter(|(of, _)| *of == process);
            let mut client = match known {
                Some((_, client)) => client,
                None => IpcClient::connect(address, protocol, user).await?,
            };
            let value = client.call(call).await?;
            self.connections.insert(caller.to_owned(), (process, client));
            Ok(value)
        })
    }

    fn ask(&mut self, stage: &mut Stage, user: &str, call: JobSubmissionCall) -> Value {
        let call = Call::JobSubmission(call);
        self.call(stage, (user, user), Protocol::JobSubmission, &call).0.unwrap()
    }

    /// One heartbeat of each tracker.
    pub fn beat(&mut self, stage: &mut Stage) {
        for number in 0..self.trackers.len() {
            let request = Box::new(self.trackers[number].heartbeat());
            let succeeded: Vec<TaskId> = request
                .status
                .tasks
                .iter()
                // The success of one that somebody had ended comes too late.
                .filter(|task| task.state == AttemptState::Succeeded && !self.killed.contains(&task.attempt))
                .map(|task| task.attempt.task)
                .collect();
            // A setup that has ended leaves nothing.
            let is_left =
                |task: &TaskStatus| task.state != AttemptState::Succeeded || self.is_output(&task.attempt.task);
            let has_output = self.outputs[number].iter().any(|job| self.is_read(*job));
            let has_anything = request.status.tasks.iter().any(is_left) || has_output;
            let call = Call::InterTracker(InterTrackerCall::Heartbeat { request });
            let caller = format!("tracker {number}");
            let (value, _) = self.call(stage, (&caller, "mapred"), Protocol::InterTracker, &call);
            let Ok(Value::Heartbeat(answer)) = value else { panic!("{value:?}") };
            let outputs: Vec<JobId> =
                succeeded.iter().filter(|task| self.is_output(task)).map(|task| task.job).collect();
            self.outputs[number].extend(outputs);
            self.succeeded.extend(succeeded);
            self.judge(&answer, has_anything);
            for action in &answer.actions {
                if let Action::KillJob(job) = action {
                    self.outputs[number].remove(job);
                }
            }
            self.trackers[number].obey(&answer);
        }
    }

    /// Whether the task is a map of a job, and no setup or cleanup.
    fn is_output(&self, task: &TaskId) -> bool {
        task.kind == Kind::Map && self.sizes.get(&task.job).is_some_and(|(maps, _)| task.number < *maps)
    }

    /// Whether a reduce of the job may still fetch output of its maps.
    fn is_read(&self, job: JobId) -> bool {
        let Some(&(_, reduces)) = self.sizes.get(&job) else { return false };
        let is_done = |number| self.succeeded.iter().any(|task| *task == TaskId { job, kind: Kind::Reduce, number });
        !(0..reduces as i32).all(is_done)
    }

    fn judge(&mut self, answer: &HeartbeatResponse, has_anything: bool) {
        for action in &answer.actions {
            match action {
                Action::LaunchTask(task) => {
                    let attempt = task.status.attempt;
                    assert!(self.launched.insert((attempt, task.task_cleanup)), "{attempt} is launched a second time");
                    let is_done = self.succeeded.contains(&attempt.task) && !task.task_cleanup;
                    assert!(!is_done, "{attempt} is launched, though its task is done");
                }
                // Nobody remembers a tracker that has nothing, or only what nobody reads.
                Action::ReinitTracker => assert!(!has_anything, "a tracker is told to lose what it has"),
                _ => {}
            }
        }
    }

    /// Whether what runs goes on running.
    pub fn hold(&mut self, is_held: bool) {
        let ending = if is_held { Ending::Never } else { Ending::Soon };
        self.trackers.iter_mut().for_each(|tracker| tracker.set_ending(ending));
    }

    /// Beats, not too fast, until something is so with what the daemon writes.
    pub fn beat_until(&mut self, stage: &mut Stage, what: &str, mut is_so: impl FnMut(&DaemonFolders) -> bool) {
        let began = Instant::now();
        while !is_so(&stage.place) {
            assert!(began.elapsed() < TIMEOUT, "{what} does not come");
            self.beat(stage);
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    /// Launches of tasks of a job that reached a tracker, without those that clean up after attempts.
    pub fn launches_of(&self, job: JobId) -> usize {
        self.launched.iter().filter(|(attempt, is_cleanup)| attempt.task.job == job && !is_cleanup).count()
    }

    /// Stages and submits a job, signed, until it is accepted.
    pub fn submit(&mut self, stage: &mut Stage, user: &str, (maps, reduces): (usize, u32)) -> JobId {
        let Value::JobId(id) = self.ask(stage, user, JobSubmissionCall::GetNewJobId) else { panic!("no id") };
        let Value::String(Some(staging)) = self.ask(stage, user, JobSubmissionCall::GetStagingAreaDir) else {
            panic!("no staging directory")
        };
        let directory = FileUri::parse(&staging).unwrap().join(&id.to_string()).unwrap();
        let submit = Call::JobSubmission(JobSubmissionCall::SubmitJob {
            job: Some(id),
            directory: Some(directory.to_string()),
            credentials: Some(Credentials::default()),
        });
        loop {
            let stamp = stage.next_stamp().to_string();
            let mut properties = staging::signed(user, &Key::new(&format!("{user}key")), &stamp);
            properties.extend(self.properties.iter().cloned());
            let files = JobFiles { splits: vec![Vec::new(); maps], reduces, properties };
            staging::write(&FileSystems::with_defaults(user), &directory, id, &files).unwrap();
            match self.call(stage, (user, user), Protocol::JobSubmission, &submit) {
                (Ok(Value::JobStatus(Some(status))), _) => {
                    assert_eq!(status.id, id);
                    self.events.insert(id, Vec::new());
                    if reduces > 0 {
                        self.sizes.insert(id, (maps as i32, reduces));
                    }
                    return id;
                }
                // Between the use of the signature and the job there was a crash: its client signs once more.
                (Err(exception), true) if exception.to_string().contains("the signature has been used") => {}
                (other, _) => panic!("submitJob of {id} was answered by {other:?}"),
            }
        }
    }

    pub fn kill_job(&mut self, stage: &mut Stage, user: &str, job: JobId) {
        self.ask(stage, user, JobSubmissionCall::KillJob { job: Some(job) });
    }

    pub fn set_priority(&mut self, stage: &mut Stage, user: &str, job: JobId, priority: &str) {
        let priority = Some(priority.to_owned());
        self.ask(stage, user, JobSubmissionCall::SetJobPriority { job: Some(job), priority });
    }

    /// Has an attempt of a map of a job ended that runs.
    pub fn kill_a_map(&mut self, stage: &mut Stage, user: &str, job: JobId) {
        let is_map = |attempt: &AttemptId| attempt.to_string().contains("_m_") && attempt.task.job == job;
        let launched = self.launched.iter().map(|(attempt, _)| *attempt);
        let running = launched.filter(|attempt| is_map(attempt) && !self.succeeded.contains(&attempt.task)).min();
        self.killed.extend(running);
        self.ask(stage, user, JobSubmissionCall::KillTask { attempt: running, should_fail: false });
    }

    pub fn status(&mut self, stage: &mut Stage, user: &str, job: JobId) -> JobStatus {
        let call = JobSubmissionCall::GetJobStatus { job: Some(job) };
        let Value::JobStatus(Some(status)) = self.ask(stage, user, call) else { panic!("{job} is forgotten") };
        status
    }

    /// Beats until a job is over, reading its events as it goes.
    pub fn finish(&mut self, stage: &mut Stage, user: &str, job: JobId, state: RunState) {
        // An end that waits for the user's copy of the history takes time, however many beats there are.
        let (began, mut rounds) = (Instant::now(), 0);
        while rounds < ROUNDS || began.elapsed() < TIMEOUT {
            rounds += 1;
            self.read_events(stage, user, job);
            let found = self.status(stage, user, job).run_state;
            if !matches!(found, RunState::Prep | RunState::Running) {
                assert_eq!(found, state, "{job}");
                return self.read_events(stage, user, job);
            }
            self.beat(stage);
        }
        panic!("{job} does not end");
    }

    /// A reader sees each event where it saw it before; a success may be taken back, nothing else changes.
    pub fn read_events(&mut self, stage: &mut Stage, user: &str, job: JobId) {
        let call = JobSubmissionCall::GetTaskCompletionEvents { job: Some(job), from: 0, max: 1000 };
        let Value::CompletionEvents(events) = self.ask(stage, user, call) else { panic!("no events") };
        let seen = self.events.entry(job).or_default();
        assert!(events.len() >= seen.len(), "events of {job} are gone: {events:?} after {seen:?}");
        for (event, seen) in events.iter().zip(seen.iter()) {
            assert_eq!((event.attempt, event.is_map), (seen.attempt, seen.is_map), "{job}");
        }
        *seen = events;
    }

    /// Beats until nothing is left of jobs that are over.
    pub fn clean_up(&mut self, stage: &mut Stage) {
        self.beat_until(stage, "an empty system directory", |place| place.names("hadoop/mapred/system").is_empty());
    }
}
