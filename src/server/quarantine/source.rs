//! The sender of a step: what must be refused so that the step is not repeated.
//!
//! The narrowest that ends a loop. A tracker repeats its heartbeat with other numbers, so its name and host identify it.
//! A client repeats a call unchanged: user, method and arguments. A submission that is made again has another job id,
//! so the user and the name of the job identify it once job.xml is read. A request to `/scheduler` that is signed again
//! has another timestamp, which does not count.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::engine::{ApplicationCaller, ApplicationRequest, Caller, DelegationCall, Event, WorkerBeatEvent};
use crate::market::ServletRequest;
use crate::model::hex;
use crate::wire::limits::{HOST_NAME_BYTES, cut};

/// How a step's sender can be refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::server) enum SenderChannel {
    /// A tracker ends when its heartbeat is refused.
    Heartbeat,
    /// A call of RPC, or SIGHUP.
    Call,
    /// `/scheduler`.
    Web,
    /// The daemon's own work cannot be refused.
    #[default]
    Daemon,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::server) struct StepSource {
    pub(super) channel: SenderChannel,
    /// Hadoop's name of the method, or the event.
    pub(super) method: String,
    /// The tracker or the user; empty for the daemon.
    pub(super) sender: String,
    /// The arguments that distinguish the call from others of that sender.
    pub(super) arguments: String,
}

/// Longest arguments that are kept as they are, bytes.
const ARGUMENTS_BYTES: usize = 512;
/// Bytes of a token's identifier among the arguments.
const TOKEN_BYTES: usize = 64;

impl StepSource {
    /// Describes the sender of `event`. Reuses the memory of the last one: each heartbeat passes here.
    pub(super) fn describe(&mut self, event: &Event) {
        self.method.clear();
        self.sender.clear();
        self.arguments.clear();
        match event {
            Event::Heartbeat { request, .. } => {
                self.channel = SenderChannel::Heartbeat;
                self.method.push_str("heartbeat");
                self.sender.push_str("TaskTracker ");
                self.sender.push_str(cut(&request.status.name, HOST_NAME_BYTES));
                self.sender.push_str(" of host ");
                self.sender.push_str(cut(&request.status.host, HOST_NAME_BYTES));
            }
            Event::TrackerError { tracker, .. } => {
                let tracker = cut(tracker, HOST_NAME_BYTES);
                self.call("reportTaskTrackerError", format_args!("TaskTracker {tracker}"), format_args!(""));
            }
            Event::NewJobId { owner } => {
                self.call("getNewJobId", format_args!("user {}", owner.user), format_args!(""))
            }
            Event::SubmissionRequested { id, caller } => self.call_of(caller, "submitJob", format_args!("{id}")),
            Event::SubmissionRead(read) => {
                self.call_of(&read.caller, "submitJob", format_args!("job {:?}", read.spec.name));
            }
            Event::KillJob { id, caller } | Event::KillJobAsFirstCall { id, caller } => {
                self.call_of(caller, "killJob", format_args!("{id}"));
            }
            Event::KillTask { id, fail, caller } => self.call_of(caller, "killTask", format_args!("{id}, {fail}")),
            Event::SetJobPriority { id, priority, caller } => {
                self.call_of(caller, "setJobPriority", format_args!("{id}, {priority:?}"));
            }
            Event::SetPool { id, pool, caller } => self.call_of(caller, "setPool", format_args!("{id}, {pool:?}")),
            Event::SetDeadline { id, change, caller } => {
                self.call_of(caller, "setDeadline", format_args!("{id}, {change:?}"));
            }
            Event::UnsignedChange { verb, job, caller } => self.call_of(caller, verb, format_args!("{job}")),
            Event::Delegation(request) => {
                let (method, token) = match &request.call {
                    DelegationCall::Get { .. } => ("getDelegationToken", &[][..]),
                    DelegationCall::Renew(token) => ("renewDelegationToken", &token.identifier[..]),
                    DelegationCall::Cancel(token) => ("cancelDelegationToken", &token.identifier[..]),
                };
                let token = &token[..token.len().min(TOKEN_BYTES)];
                self.call(method, format_args!("user {}", request.user), format_args!("{token:02x?}"));
            }
            Event::SetSafeMode { on, caller } => self.call_of(caller, "setSafeMode", format_args!("{on}")),
            Event::DrainWorker { worker, is_on, caller } => {
                self.call_of(caller, "drain", format_args!("{worker:?}, {is_on}"));
            }
            Event::Pause { target, is_on, caller } => {
                self.call_of(caller, "pause", format_args!("{target:?}, {is_on}"));
            }
            Event::HostsRead { caller, .. } => self.call_of(caller, "refreshNodes", format_args!("")),
            Event::QueuesRead { caller, .. } => self.call_of(caller, "refreshQueues", format_args!("")),
            Event::ConfigurationRead { .. } => self.call("reload", format_args!("SIGHUP"), format_args!("")),
            Event::SchedulerWished(wish) => {
                self.call("scheduler use", format_args!("user {}", wish.by), format_args!("{}", wish.class));
            }
            Event::WishWithdrawn => self.own("scheduler wish withdrawn"),
            Event::Market(request) | Event::JobRequest { request, .. } => self.web_request(request),
            Event::Application(request) => self.application_request(request),
            Event::WorkerBeat(beat) => self.worker_beat(beat),
            Event::AllocationsRead { .. } => self.own("allocation file read"),
            Event::TopUpsFound { .. } => self.own("top-ups found"),
            Event::FileSystemWatched { .. } => self.own("file system watched"),
            Event::Timer { .. } => self.own("timer"),
            Event::ConnectionClosed { .. } => self.own("connection closed"),
            Event::ConnectionsInherited { .. } => self.own("connections inherited"),
            Event::RunEnds => self.own("run ends"),
            Event::RackResolved { .. } => self.own("rack resolved"),
            Event::UnusedIdFound { .. } => self.own("unused id found"),
            Event::JobIdsInherited { .. } => self.own("job ids inherited"),
            Event::SystemDirWritten { .. } => self.own("system directory written"),
            Event::SubmissionAbandoned { .. } => self.own("submission abandoned"),
            Event::ForeignJobFound(_) => self.own("foreign job found"),
            Event::ForeignJobNotFound { .. } => self.own("foreign job not found"),
            Event::HistoryWritten { .. } => self.own("history written"),
            Event::UserCopySettled { .. } => self.own("user's copy settled"),
            Event::EndNotified { .. } => self.own("end notified"),
        }
    }

    pub(super) fn can_be_refused(&self) -> bool {
        self.channel != SenderChannel::Daemon
    }

    /// A name for a file: equal for equal sources.
    pub(super) fn file_name(&self) -> String {
        let mut digest = Sha256::new();
        for part in [&self.method, &self.sender, &self.arguments] {
            digest.update(part.as_bytes());
            digest.update([0]);
        }
        let word: String = self.method.chars().filter(char::is_ascii_alphanumeric).collect();
        let digest = hex(&digest.finalize()[..6]);
        format!("{word}-{digest}.json")
    }

    fn web_request(&mut self, request: &ServletRequest) {
        let user = request.verified.as_ref().map_or("", |signer| &signer.user);
        let timestamped = |part: &&str| !part.starts_with("timestamp=");
        let query: Vec<&str> = request.query.raw.split('&').filter(timestamped).collect();
        self.call("/scheduler", format_args!("user {user:?}"), format_args!("{}", query.join("&")));
        self.channel = SenderChannel::Web;
    }

    fn application_request(&mut self, request: &ApplicationRequest) {
        let ApplicationRequest::Asked { caller, question } = request else { return self.own("application waits") };
        match caller {
            ApplicationCaller::User { caller, .. } => self.call_of(caller, question.name(), format_args!("")),
            ApplicationCaller::Application { application, .. } => {
                self.call(question.name(), format_args!("{application}"), format_args!(""));
            }
        }
        self.channel = SenderChannel::Web;
    }

    fn worker_beat(&mut self, beat: &WorkerBeatEvent) {
        let WorkerBeatEvent::Came { beat, .. } = beat else { return self.own("beat waits") };
        let tracker = cut(&beat.tracker, HOST_NAME_BYTES);
        self.call("beat", format_args!("TaskTracker {tracker}"), format_args!(""));
    }

    fn call_of(&mut self, caller: &Caller, method: &str, arguments: std::fmt::Arguments<'_>) {
        self.call(method, format_args!("user {}", caller.user), arguments);
    }

    fn call(&mut self, method: &str, sender: std::fmt::Arguments<'_>, arguments: std::fmt::Arguments<'_>) {
        self.channel = SenderChannel::Call;
        self.method.push_str(method);
        // Writing to a string never fails.
        let _ = self.sender.write_fmt(sender);
        let _ = self.arguments.write_fmt(arguments);
        if self.arguments.len() > ARGUMENTS_BYTES {
            let digest = Sha256::digest(self.arguments.as_bytes());
            self.arguments.truncate(self.arguments.floor_char_boundary(ARGUMENTS_BYTES));
            let _ = write!(self.arguments, "... (SHA-256 {digest:02x?})");
        }
    }

    fn own(&mut self, event: &str) {
        self.channel = SenderChannel::Daemon;
        self.method.push_str(event);
    }
}

impl std::fmt::Display for StepSource {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { method, sender, arguments, .. } = self;
        match (sender.as_str(), arguments.as_str()) {
            ("", _) => write!(formatter, "the daemon's own step {method:?}"),
            (sender, "") => write!(formatter, "{method} of {sender}"),
            (sender, arguments) => write!(formatter, "{method} ({arguments}) of {sender}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::ParsedQuery;
    use crate::model::FactNumber;

    fn source(event: &Event) -> StepSource {
        let mut source = StepSource::default();
        // As after another event.
        source
            .describe(&Event::SubmissionRequested { id: "job_1_0001".parse().unwrap(), caller: Caller::named("bob") });
        source.describe(event);
        source
    }

    fn kill(user: &str, id: &str) -> StepSource {
        source(&Event::KillJob { id: id.parse().unwrap(), caller: Caller::named(user) })
    }

    fn query(raw: &str) -> StepSource {
        let query = ParsedQuery::parse(raw).unwrap();
        source(&Event::Market(Box::new(ServletRequest { verified: None, query })))
    }

    #[test]
    fn a_call_is_that_of_its_user_with_its_arguments() {
        let one = kill("alice", "job_1_0001");
        assert_eq!(one.to_string(), "killJob (job_1_0001) of user alice");
        assert_eq!(one, kill("alice", "job_1_0001"));
        let others = [kill("bob", "job_1_0001"), kill("alice", "job_1_0002")];
        assert!(others.iter().all(|other| *other != one && other.file_name() != one.file_name()));
        assert!(one.can_be_refused() && one.file_name().starts_with("killJob-"), "{}", one.file_name());
    }

    #[test]
    fn a_request_signed_again_is_the_same() {
        let one = query("setSpending=1&queue=a&user=a&timestamp=1");
        assert_eq!(one, query("setSpending=1&queue=a&user=a&timestamp=2"));
        assert_ne!(one, query("setSpending=2&queue=a&user=a&timestamp=1"));
        let long = format!("info={}", "a".repeat(ARGUMENTS_BYTES));
        assert_ne!(query(&format!("{long}b")).arguments, query(&format!("{long}c")).arguments);
    }

    #[test]
    fn the_daemons_own_work_cannot_be_refused() {
        let timer = source(&Event::Timer { durable: FactNumber(1) });
        assert!(!timer.can_be_refused());
        assert_eq!((timer.to_string(), &*timer.arguments), ("the daemon's own step \"timer\"".to_owned(), ""));
    }
}
