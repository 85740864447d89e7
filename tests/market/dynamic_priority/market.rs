//! A whole daemon with a market, asked as users ask it: over HTTP, by job clients, by trackers. Time between ticks is skipped.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::daemon::answered::Answered;
use crate::daemon::clients::{IntoCall, new_job_id, submit};
use crate::daemon::in_process::{DaemonOptions, InProcessDaemon, with_daemon};
use crate::daemon::scripted_tracker::ScriptedTracker;

use jobtracker::clock::wall_ms;
use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::market::Key;
use jobtracker::market::signature::{job_message, sign};
use jobtracker::model::{AttemptId, AttemptState, JobId, Kind, PerKind, RunState};
use jobtracker::web::{JobForms, ServedNames, ServedPorts, StockSettings, WebLimits, WebState, serve};
use jobtracker::wire::Action;
use jobtracker::wire::protocol::{JobSubmissionCall, Value};

/// Between two ticks. No test lasts so long, so none rings but those that it lets ring.
pub const INTERVAL: Duration = Duration::from_secs(100);
/// More ticks than any test has.
const MOST_TICKS: u32 = 400;

/// Keys of the users that everybody knows of.
pub const ACL: &str = "alice user alicekey-abc\nbob user bobkey\ncarol user carolkey\nmallory user mallorykey\nroot admin rootkey\nqueue1 user k1\nqueue2 user k2\n";

/// What a test wants of its market.
#[derive(Default)]
pub struct Terms {
    pub budgets: &'static str,
    /// Users and keys; [`ACL`] where it is empty.
    pub acl: &'static str,
    /// Configuration, `key=value`.
    pub overrides: &'static [&'static str],
}

/// A running market.
pub struct Market {
    pub rig: InProcessDaemon,
    pub http: SocketAddr,
    timestamp_ms: Cell<i64>,
}

/// A tracker that runs what it is given and never gets done with it, but with what prepares and tidies up.
pub struct Worker {
    tracker: ScriptedTracker,
    line: IpcClient,
    aside: BTreeSet<AttemptId>,
    /// Attempts that it was told to kill, in that order.
    pub killed: Vec<AttemptId>,
}

/// The balance as if slots had been held since the tick: the real time until the worker held them is not charged, which is
/// less than half a credit. For balances that are multiples of a half.
pub fn but_for_the_wait(balance: &str) -> String {
    let halves = (balance.parse::<f64>().unwrap() * 2.0).floor();
    format!("{:.1}", halves / 2.0)
}

/// Runs a test against a market of its own.
pub fn with_market<F: Future<Output = ()>>(terms: Terms, test: impl FnOnce(Market) -> F) {
    let mut overrides = vec![format!("mapred.dynamic-scheduler.alloc-interval={}", INTERVAL.as_secs())];
    overrides.extend(terms.overrides.iter().map(|&text| text.to_owned()));
    let acl = if terms.acl.is_empty() { ACL } else { terms.acl };
    let skipped = INTERVAL * MOST_TICKS;
    let wanted =
        DaemonOptions { overrides, acl: Some(acl), budgets: terms.budgets, skipped, ..DaemonOptions::default() };
    with_daemon(wanted, async |rig: InProcessDaemon| {
        rig.gate.open();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let http = listener.local_addr().unwrap();
        let host = "myhost.example.com".to_owned();
        // What jobs cost is looked up on the page.
        let state = WebState {
            names: ServedNames::new(Some(["h".to_owned()]), "jobtracker.web.hosts"),
            owner: rig.handle.clone(),
            host,
            shows_money: true,
            job_forms: JobForms::Off,
            stock: StockSettings::default(),
            job_page_prefix: String::new(),
            container_slot: jobtracker::model::Capability::new(1_024, 1),
            sessions: jobtracker::web::Sessions::new(jobtracker::model::SessionKey::new([7; 32]), 60),
            streams: jobtracker::web::EventStreams::default(),
            plays: None,
            ports: ServedPorts::default(),
            limits: WebLimits::default(),
        };
        tokio::task::spawn_local(serve(listener, state, std::future::pending()));
        // Ahead of the server's start, so that what a test sends by hand has room before it.
        let timestamp_ms = Cell::new(wall_ms() + 10_000);
        test(Market { rig, http, timestamp_ms }).await;
    });
}

/// The same with these budgets and nothing else special.
pub fn with_budgets<F: Future<Output = ()>>(budgets: &'static str, test: impl FnOnce(Market) -> F) {
    with_market(Terms { budgets, ..Terms::default() }, test);
}

/// The key of a user in [`ACL`].
pub fn key_of(user: &str) -> Key {
    let line = ACL.lines().find(|line| line.starts_with(&format!("{user} "))).unwrap_or("nobody user nokey");
    Key::new(line.split(' ').nth(2).unwrap())
}

// === impl Market: HTTP ===

impl Market {
    /// A moment that nobody has signed yet, each a millisecond after the last.
    pub fn next_ms(&self) -> i64 {
        self.timestamp_ms.set(self.timestamp_ms.get() + 1);
        self.timestamp_ms.get()
    }

    /// Sends bytes, reads until the server closes.
    pub async fn exchange(&self, request: impl AsRef<[u8]>) -> Answered {
        let mut stream = TcpStream::connect(self.http).await.unwrap();
        stream.write_all(request.as_ref()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        Answered::parse(&answer)
    }

    pub async fn request(&self, method: &str, target: &str, headers: &str) -> Answered {
        self.exchange(format!("{method} {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{headers}\r\n")).await
    }

    pub async fn get(&self, query: &str) -> Answered {
        self.request("GET", &format!("/scheduler?{query}"), "").await
    }

    /// A query as it is, with the value of an `Authorization` header.
    pub async fn get_with(&self, query: &str, authorization: &str) -> Answered {
        self.request("GET", &format!("/scheduler?{query}"), &format!("Authorization: {authorization}\r\n")).await
    }

    /// A query as it is, signed by a user.
    pub async fn get_signed(&self, user: &str, query: &str) -> Answered {
        self.get_with(query, &sign(query, &key_of(user))).await
    }

    /// An operation by a user, signed now.
    pub async fn ask(&self, user: &str, operation: &str) -> Answered {
        self.get_signed(user, &format!("{operation}&user={user}&timestamp={}", self.next_ms())).await
    }

    /// The answer's status.
    pub async fn status(&self, user: &str, operation: &str) -> u16 {
        self.ask(user, operation).await.status
    }

    /// Elements of a queue as the administrator sees it published: budget, spending, share, used, pending.
    pub async fn info(&self, queue: &str) -> [String; 5] {
        let answer = self.ask("root", &format!("info={queue}")).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.queue()
    }

    pub async fn budget(&self, queue: &str) -> String {
        self.info(queue).await[0].clone()
    }

    /// The budget, [`but_for_the_wait`].
    pub async fn budget_but_for_the_wait(&self, queue: &str) -> String {
        but_for_the_wait(&self.budget(queue).await)
    }

    /// The same as [`Market::info`], the budget [`but_for_the_wait`].
    pub async fn info_but_for_the_wait(&self, queue: &str) -> [String; 5] {
        let [budget, spending, share, used, pending] = self.info(queue).await;
        [but_for_the_wait(&budget), spending, share, used, pending]
    }

    pub async fn price(&self) -> String {
        self.get("price").await.element("price")
    }
}

// === impl Market: time ===

impl Market {
    /// Lets the next tick come.
    pub async fn tick(&self) {
        self.skip(INTERVAL).await;
    }

    /// Lets the next tick come, shortly after the tracker has called: who is silent has nothing to give.
    pub async fn tick_after_beat(&self, worker: &mut Worker) {
        const LAST: Duration = Duration::from_secs(1);
        self.pass(INTERVAL - LAST).await;
        worker.beat().await;
        self.skip(LAST).await;
    }

    /// Lets time pass in which no tick is due.
    pub async fn pass(&self, time: Duration) {
        tokio::time::pause();
        tokio::time::advance(time).await;
        tokio::time::resume();
    }

    /// Lets an interval pass, and what is due in it come.
    pub async fn skip(&self, time: Duration) {
        let ticks = || self.rig.owner.with_engine(|engine| engine.market().unwrap().tick_number());
        let before = ticks();
        self.pass(time).await;
        while ticks() == before {
            tokio::task::yield_now().await;
        }
    }
}

// === impl Market: jobs ===

impl Market {
    /// The three properties of a signed job, signed now.
    pub fn job_signature(&self, user: &str) -> Vec<(String, String)> {
        let timestamp = self.next_ms().to_string();
        let signature = sign(&job_message(user, &timestamp), &key_of(user));
        let properties = [
            ("mapred.job.timestamp", timestamp),
            ("mapred.job.signature", signature),
            ("mapreduce.job.queue.name", user.to_owned()),
        ];
        properties.map(|(name, value)| (name.to_owned(), value)).to_vec()
    }

    /// Submits with these properties and so many splits: the id, or class and text of the refusal.
    pub async fn submit_with(
        &self,
        user: &str,
        properties: &[(String, String)],
        splits: usize,
    ) -> Result<JobId, (String, String)> {
        let mut client = self.rig.client(user).await;
        let id = new_job_id(&mut client).await;
        let properties: Vec<_> = properties.iter().map(|(name, value)| (&**name, &**value)).collect();
        let directory = self.rig.stage(user, id, &properties, splits);
        self.submit_staged(&mut client, id, directory).await
    }

    /// Submits what lies in a staging directory.
    pub async fn submit_staged(
        &self,
        client: &mut IpcClient,
        id: JobId,
        directory: String,
    ) -> Result<JobId, (String, String)> {
        match client.call(&submit(id, directory)).await {
            Ok(Value::JobStatus(Some(status))) => Ok(status.id),
            Err(IpcError::Remote { exception, fatal: false }) => Err((exception.class, exception.message)),
            other => panic!("{other:?}"),
        }
    }

    /// A signed job of so many maps and reduces; the reduces may start at once.
    pub async fn submit(&self, user: &str, maps: usize, reduces: usize) -> JobId {
        let mut properties = self.job_signature(user);
        let sizes = [
            ("mapred.map.tasks", maps.to_string()),
            ("mapred.reduce.tasks", reduces.to_string()),
            ("mapred.reduce.slowstart.completed.maps", "0.0".to_owned()),
        ];
        properties.extend(sizes.map(|(name, value)| (name.to_owned(), value)));
        self.submit_with(user, &properties, maps).await.unwrap()
    }

    pub async fn kill(&self, user: &str, job: JobId) {
        let kill = JobSubmissionCall::KillJob { job: Some(job) }.into_call();
        self.rig.client(user).await.call(&kill).await.unwrap();
    }

    pub async fn run_state(&self, job: JobId) -> Option<RunState> {
        let asked = JobSubmissionCall::GetJobStatus { job: Some(job) }.into_call();
        match self.rig.client("root").await.call(&asked).await.unwrap() {
            Value::JobStatus(status) => status.map(|status| status.run_state),
            other => panic!("{other:?}"),
        }
    }

    /// A tracker with so many slots, registered.
    pub async fn worker(&self, maps: u32, reduces: u32) -> Worker {
        let mut tracker = ScriptedTracker::new();
        tracker.fake.slots = PerKind::new(maps, reduces);
        let line = self.rig.tracker_client().await;
        let mut worker = Worker { tracker, line, aside: BTreeSet::new(), killed: Vec::new() };
        worker.beat().await;
        worker
    }
}

// === impl Worker ===

impl Worker {
    /// One heartbeat: what is told is done, setups and cleanups get done, all else runs on.
    pub async fn beat(&mut self) -> Vec<Action> {
        let value = self.line.call(&self.tracker.heartbeat()).await.unwrap();
        let response = self.tracker.obey(value);
        for action in &response.actions {
            match action {
                Action::LaunchTask(task) if task.job_setup || task.job_cleanup.is_some() || task.task_cleanup => {
                    self.aside.insert(task.status.attempt);
                }
                // What is aside is only told to be forgotten.
                Action::KillTask(attempt) if !self.aside.contains(attempt) => self.killed.push(*attempt),
                _ => {}
            }
        }
        let (aside, killed) = (&self.aside, &self.killed);
        for attempt in &mut self.tracker.fake.attempts {
            attempt.state = match attempt.id {
                id if killed.contains(&id) => AttemptState::Killed,
                id if aside.contains(&id) => AttemptState::Succeeded,
                _ => AttemptState::Running,
            };
        }
        response.actions
    }

    /// Beats until all that can be given is given.
    pub async fn fill(&mut self) {
        let mut quiet = 0;
        while quiet < 3 {
            quiet = if self.beat().await.is_empty() { quiet + 1 } else { 0 };
        }
    }

    /// Maps and reduces of each job that run here, setups and cleanups aside.
    pub fn running(&self) -> BTreeMap<JobId, (usize, usize)> {
        let mut running: BTreeMap<JobId, (usize, usize)> = BTreeMap::new();
        for attempt in &self.tracker.fake.attempts {
            if attempt.state == AttemptState::Running && !self.aside.contains(&attempt.id) {
                let (maps, reduces) = running.entry(attempt.id.task.job).or_default();
                *(if attempt.kind() == Kind::Map { maps } else { reduces }) += 1;
            }
        }
        running
    }
}
