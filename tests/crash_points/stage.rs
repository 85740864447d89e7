//! A daemon that dies where a fault point is, is started again, and is asked again for what it left unanswered.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::daemon::answered::Answered;
use crate::daemon::child::{ChildDaemon, DaemonFolders, TIMEOUT};
use crate::laws::Laws;

use jobtracker::clock::wall_ms;
use jobtracker::store::FaultPoint;

/// Where a run is cut: in which start of the script, at which point, at the how manieth passing of it in that process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut {
    /// Starts are counted from 1; those after a death by a cut do not count.
    pub life: u32,
    pub point: FaultPoint,
    pub time: u64,
    /// Of a write, the bytes that come to be written.
    pub bytes: Option<u64>,
}

/// How often each point was passed, by start and point.
pub type Passed = BTreeMap<(u32, FaultPoint), u64>;

/// One run of a script.
pub struct Stage {
    pub place: DaemonFolders,
    pub laws: Laws,
    /// None: nothing is cut, and what is passed is counted.
    cut: Option<Cut>,
    life: u32,
    serving: Option<ChildDaemon>,
    /// Counts processes, so that connections to a dead one are known.
    generation: u32,
    stamp_ms: i64,
    is_hit: bool,
    passed: Passed,
}

/// Signatures are dated ahead, so that none is refused for lying before a start.
const AHEAD_MS: i64 = 60_000;
const LOOK_EVERY: Duration = Duration::from_millis(4);
const SIGKILL: i32 = 9;

// === impl Cut ===

impl Cut {
    /// As the daemon is told.
    pub fn variable(self) -> String {
        let bytes = self.bytes.map(|bytes| format!(":{bytes}")).unwrap_or_default();
        format!("{}:{}{bytes}", self.point.name(), self.time)
    }
}

// === impl Stage ===

impl Stage {
    pub fn new(place: DaemonFolders, laws: Laws, cut: Option<Cut>) -> Self {
        let stamp_ms = wall_ms() + AHEAD_MS;
        Self { place, laws, cut, life: 0, serving: None, generation: 0, stamp_ms, is_hit: false, passed: Passed::new() }
    }

    /// Whether the cut has been met, and what was passed.
    pub fn outcome(self) -> (bool, Passed) {
        (self.is_hit, self.passed)
    }

    /// The next start of the script.
    pub fn begin_life(&mut self) {
        self.life += 1;
        let environment = match self.cut {
            Some(cut) if cut.life == self.life => Some(("JOBTRACKER_CRASH_AT", cut.variable())),
            Some(_) => None,
            None => Some(("RUST_LOG", "info,jobtracker::store::fault_point=trace".to_owned())),
        };
        if let Err((status, log)) = self.start(environment) {
            self.has_died(status, &log);
            self.start_again();
        }
    }

    /// A start that is cut for certain, whatever else this run is about; `until` is what leads there.
    pub fn begin_life_that_dies(&mut self, at: &str, until: impl FnOnce(&ChildDaemon)) {
        self.life += 1;
        let started = self.start(Some(("JOBTRACKER_CRASH_AT", at.to_owned())));
        started.unwrap_or_else(|(status, log)| panic!("ended with {status}:\n{log}"));
        let Some(serving) = self.serving.take() else { return };
        until(&serving);
        let (status, log) = serving.end();
        assert_eq!(status.signal(), Some(SIGKILL), "{at}:\n{log}");
        self.laws.after_death(&self.place, &log);
    }

    fn start(&mut self, environment: Option<(&str, String)>) -> Result<(), (ExitStatus, String)> {
        self.generation += 1;
        let mut command = self.place.command();
        command.envs(environment);
        self.serving = Some(ChildDaemon::of(command)?);
        Ok(())
    }

    fn start_again(&mut self) {
        self.start(None).unwrap_or_else(|(status, log)| panic!("started again it ended with {status}:\n{log}"));
    }

    /// It must have been the cut.
    fn has_died(&mut self, status: ExitStatus, log: &str) {
        let is_cut = status.signal() == Some(SIGKILL) && self.cut.is_some() && !self.is_hit;
        assert!(is_cut, "the daemon ended with {status}:\n{log}");
        self.is_hit = true;
        self.laws.after_death(&self.place, log);
    }

    /// A call has brought no answer: the daemon is dying.
    pub fn revive(&mut self) {
        if let Some(serving) = self.serving.take() {
            let (status, log) = serving.end();
            self.has_died(status, &log);
        }
        self.start_again();
    }

    fn running(&mut self) -> &mut ChildDaemon {
        if self.serving.is_none() {
            self.start_again();
        }
        self.serving.as_mut().unwrap()
    }

    /// The daemon's RPC address, and the number of its process.
    pub fn rpc(&mut self) -> (u32, SocketAddr) {
        let address = self.running().rpc();
        (self.generation, address)
    }

    /// Its web address.
    pub fn http(&mut self) -> SocketAddr {
        self.running().http
    }

    pub fn next_stamp(&mut self) -> i64 {
        self.stamp_ms += 1;
        self.stamp_ms
    }

    /// A change in the market, asked for until it is answered, with one signature: so it is made once and no more.
    pub fn ask(&mut self, user: &str, operation: &str) {
        let stamp_ms = self.next_stamp();
        let mut is_again = false;
        loop {
            match self.running().try_ask_at(user, operation, stamp_ms) {
                Ok(answer) if answer.status == 200 => return,
                // It was made, and died before it could say so.
                Ok(answer) if is_again && is_used(&answer) => return,
                Ok(answer) => panic!("{operation} was answered by {} {}", answer.reason, answer.body),
                Err(_) => self.revive(),
            }
            is_again = true;
        }
    }

    /// A switch of the scheduler, asked for until it is answered. A daemon that dies over it comes back under the old
    /// scheduler or the new one, and knows which.
    pub fn switch(&mut self, name: &str, options: &[&str]) {
        let before = self.ruling();
        loop {
            self.running();
            let used = self.scheduler(&[&["use", name], options].concat());
            match used.status.code() {
                Some(0) => return,
                Some(1 | 4) => self.revive(),
                _ => panic!("{used:?}"),
            }
            let ruling = self.ruling();
            assert!(ruling == before || is_class_of(&ruling, name), "{before}, then {ruling} by a switch to {name}");
        }
    }

    /// The class of the scheduler that rules.
    fn ruling(&mut self) -> String {
        loop {
            self.running();
            let shown = self.scheduler(&["show", "--json"]);
            if shown.status.success() {
                let status: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
                return status["scheduler"].as_str().unwrap().to_owned();
            }
            self.revive();
        }
    }

    fn scheduler(&self, arguments: &[&str]) -> std::process::Output {
        let mut command = std::process::Command::new(crate::daemon::child::built_program());
        let state = format!("jobtracker.state.dir={}", self.place.path("state").display());
        command.arg("scheduler").args(arguments).args(["-D", &state]).output().unwrap()
    }

    /// Waits until something is so with what the daemon writes; it may die over it.
    pub fn wait_until(&mut self, what: &str, mut is_so: impl FnMut(&DaemonFolders) -> bool) {
        let began = Instant::now();
        while !is_so(&self.place) {
            if self.running().has_ended() {
                self.revive();
            }
            assert!(began.elapsed() < TIMEOUT, "{what} does not come:\n{}", self.running().log.text());
            std::thread::park_timeout(LOOK_EVERY);
        }
    }

    /// Waits until the budget file has a line that begins so.
    pub fn wait_for_budget(&mut self, line: &str) {
        self.wait_until(line, |place| {
            std::fs::read_to_string(place.budget()).is_ok_and(|text| text.lines().any(|found| found.starts_with(line)))
        });
    }

    /// A crash that is part of the script.
    pub fn kill(&mut self) {
        let Some(mut serving) = self.serving.take() else { return };
        self.is_hit |= serving.has_ended();
        let log = serving.kill();
        self.count(&log);
        self.laws.after_death(&self.place, &log);
    }

    /// A clean stop, if need be a second one.
    pub fn stop(&mut self) {
        loop {
            let serving = match self.serving.take() {
                Some(serving) => serving,
                None => {
                    self.start_again();
                    continue;
                }
            };
            serving.terminate();
            let (status, log) = serving.end();
            if status.success() {
                self.count(&log);
                self.laws.after_death(&self.place, &log);
                return;
            }
            self.has_died(status, &log);
        }
    }

    fn count(&mut self, log: &str) {
        let names = log.lines().filter_map(|line| line.split_once("fault_point::cut: passes ")).map(|(_, name)| name);
        for name in names {
            let point = FaultPoint::ALL.iter().copied().find(|point| point.name() == name);
            *self.passed.entry((self.life, point.unwrap())).or_default() += 1;
        }
    }
}

/// Refused, since the signature was used already.
fn is_used(answer: &Answered) -> bool {
    answer.is_denied() && answer.body.contains("was used before")
}

fn is_class_of(class: &str, name: &str) -> bool {
    jobtracker::config::settings::SchedulerName::ALL
        .iter()
        .any(|scheduler| scheduler.name == name && scheduler.class == class)
}
