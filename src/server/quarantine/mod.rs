//! Senders whose steps stopped the daemon by a bug.
//!
//! A step that panics ends the process, and a restart continues from durable state. The same sender would send the same
//! again, and the daemon would never stay up. So the process notes the sender in a file before it ends, and after the
//! second time the next ones refuse that sender, until the file is removed, the program is another build, or two days
//! have passed without a further stop.

mod panic_step;
mod record;
mod source;

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::watch;

use crate::clock::wall_ms;
use crate::engine::{Event, Refusal, Reply};
use crate::market::MarketError;

pub(super) use panic_step::panic_if_chosen;
use record::{MAX_FRAME_BYTES, MAX_RECORDS, StopRecord};
use source::{SenderChannel, StepSource};

const FOLDER: &str = "quarantine";
/// Stops after which a sender is refused.
const TOLERATED_STOPS: u32 = 2;
/// How long a sender is remembered after its last stop, ms: two days.
const REMEMBERED_MS: i64 = 2 * 24 * 60 * 60 * 1000;
/// Refused TaskTrackers beyond which none is refused: then the cause is no tracker, and each refusal ends one.
const MAX_REFUSED_TRACKERS: usize = 3;
/// Interval of the check for removed files, while there are any.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// The senders to refuse, and the step in progress. Lives on the owner's thread.
#[derive(Debug)]
pub(crate) struct Quarantine {
    folder: PathBuf,
    program: String,
    known: RefCell<Vec<KnownSender>>,
    complaint: watch::Sender<Option<String>>,
    /// The sender of the step in progress.
    source: RefCell<StepSource>,
    /// The bytes of the call that is being handled; empty if they are unknown.
    frame: RefCell<Vec<u8>>,
}

/// A sender that has stopped the daemon.
#[derive(Debug)]
struct KnownSender {
    record: StopRecord,
    is_logged: Cell<bool>,
}

/// The line for health while senders are refused. Cheap to clone, for any thread.
#[derive(Clone, Debug)]
pub(crate) struct RefusedSenders(watch::Receiver<Option<String>>);

impl Quarantine {
    /// Reads the senders that stopped earlier processes of this build from a state folder; removes what is out of date.
    /// Blocking.
    pub(crate) fn open(state_dir: &Path) -> Self {
        Self::open_as(state_dir, this_build(), wall_ms())
    }

    fn open_as(state_dir: &Path, program: String, now_ms: i64) -> Self {
        let folder = state_dir.join(FOLDER);
        let (records, problems) = StopRecord::read_all(&folder);
        problems.iter().for_each(|problem| tracing::warn!("ignored in the quarantine: {problem}"));
        let (kept, outdated): (Vec<StopRecord>, Vec<StopRecord>) =
            records.into_iter().partition(|record| record.program == program && !is_expired(record, now_ms));
        outdated.iter().chain(kept.iter().skip(MAX_RECORDS)).for_each(StopRecord::remove_file);
        for record in kept.iter().take(MAX_RECORDS) {
            let StopRecord { source, times, panic, path, .. } = record;
            tracing::error!("a bug stopped the daemon {times} times in {source}: {panic}; see {}", path.display());
        }
        let known = |record| KnownSender { record, is_logged: Cell::new(false) };
        let quarantine = Self {
            folder,
            program,
            known: RefCell::new(kept.into_iter().take(MAX_RECORDS).map(known).collect()),
            complaint: watch::Sender::new(None),
            source: RefCell::default(),
            frame: RefCell::default(),
        };
        quarantine.publish();
        quarantine
    }

    pub(crate) fn refused_senders(&self) -> RefusedSenders {
        RefusedSenders(self.complaint.subscribe())
    }

    /// Forgets senders whose files an administrator has removed, and those whose time is over. Completes when none is
    /// left.
    pub(crate) async fn forget_released(&self) {
        while !self.known.borrow().is_empty() {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let paths: Vec<PathBuf> = self.known.borrow().iter().map(|known| known.record.path.clone()).collect();
            let exist = move || paths.into_iter().filter(|path| path.exists()).collect::<Vec<_>>();
            // The pool stops with the daemon.
            let Ok(there) = tokio::task::spawn_blocking(exist).await else { return };
            self.retain(&there, wall_ms());
        }
    }

    fn retain(&self, there: &[PathBuf], now_ms: i64) {
        let is_kept =
            |known: &mut KnownSender| there.contains(&known.record.path) && !is_expired(&known.record, now_ms);
        let released: Vec<KnownSender> = self.known.borrow_mut().extract_if(.., |known| !is_kept(known)).collect();
        self.publish();
        for known in released {
            known.record.remove_file();
            tracing::info!("accepted again: {}", known.record.source);
        }
    }

    /// The reply to an event whose sender is refused.
    pub(super) fn refusal(&self, event: &Event) -> Option<Reply> {
        let known = self.known.borrow();
        if known.is_empty() {
            return None;
        }
        let mut source = self.source.borrow_mut();
        source.describe(event);
        let known = known.iter().find(|known| known.record.source == *source)?;
        if !self.is_refused(&known.record) {
            return None;
        }
        let text = format!(
            "the JobTracker refuses this request because a bug in it stopped the JobTracker {} times: {source}; an \
             administrator frees it by removing {FOLDER}/{} from the state directory, or by installing a fixed program",
            known.record.times,
            source.file_name()
        );
        if !known.is_logged.replace(true) {
            tracing::error!("{text}");
        }
        Some(match source.channel {
            SenderChannel::Heartbeat => Reply::Refused(Refusal::DisallowedTracker(text)),
            SenderChannel::Web => Reply::Market(Err(MarketError::Quarantined(text))),
            SenderChannel::Call | SenderChannel::Daemon => Reply::Refused(Refusal::IllegalArgument(text)),
        })
    }

    fn is_refused(&self, record: &StopRecord) -> bool {
        let has_stopped_twice = record.times >= TOLERATED_STOPS && record.source.can_be_refused();
        has_stopped_twice && (record.source.channel != SenderChannel::Heartbeat || !self.are_too_many_trackers())
    }

    fn are_too_many_trackers(&self) -> bool {
        let is_of_tracker = |known: &&KnownSender| {
            known.record.times >= TOLERATED_STOPS && known.record.source.channel == SenderChannel::Heartbeat
        };
        self.known.borrow().iter().filter(is_of_tracker).count() > MAX_REFUSED_TRACKERS
    }

    /// Keeps the bytes of the call that is handled until the next one; a step of it may use them.
    pub(super) fn keep_frame(&self, frame: &[u8]) {
        let mut kept = self.frame.borrow_mut();
        kept.clear();
        kept.extend_from_slice(&frame[..frame.len().min(MAX_FRAME_BYTES)]);
    }

    pub(super) fn begin_step(&self, event: &Event) {
        self.source.borrow_mut().describe(event);
    }

    /// The step that has begun has panicked: notes its sender. Returns a line for the log.
    pub(super) fn record_panic(&self, panic: &str) -> String {
        let source = self.source.borrow();
        let frame = self.frame.borrow();
        // Only a heartbeat is stepped while its call is being handled.
        let frame = if source.channel == SenderChannel::Heartbeat { &frame[..] } else { &[] };
        match StopRecord::count(&self.folder, &source, &self.program, panic, frame, wall_ms()) {
            Ok(record) if record.times < TOLERATED_STOPS || !source.can_be_refused() => {
                format!("{source}, noted in {}", record.path.display())
            }
            Ok(record) => format!("{source}, noted in {}: refused from now on", record.path.display()),
            Err(error) => format!("{source}, which cannot be noted: {error}"),
        }
    }

    fn publish(&self) {
        let refused: Vec<String> = {
            let known = self.known.borrow();
            let refused = known.iter().map(|known| &known.record).filter(|record| self.is_refused(record));
            refused.map(|record| format!("{} ({FOLDER}/{})", record.source, record.source.file_name())).collect()
        };
        let complaint = match refused.len() {
            0 if self.are_too_many_trackers() => Some(format!(
                "heartbeats of more than {MAX_REFUSED_TRACKERS} TaskTrackers have stopped the daemon by a bug, so none is \
                 refused: see the log"
            )),
            0 => None,
            _ => Some(format!(
                "refused because they stopped the daemon by a bug: {}; after the fix, remove the files from the state \
                 directory",
                refused.join(", ")
            )),
        };
        self.complaint.send_replace(complaint);
    }
}

fn is_expired(record: &StopRecord, now_ms: i64) -> bool {
    now_ms.saturating_sub(record.last_ms) >= REMEMBERED_MS
}

/// Names this build: its version, and size and date of its file.
fn this_build() -> String {
    let version = env!("CARGO_PKG_VERSION");
    // Of the running program, also if another was installed under its name.
    let file = std::fs::metadata("/proc/self/exe");
    let modified = file.as_ref().ok().and_then(|file| file.modified().ok());
    let since_epoch = modified.and_then(|modified| modified.duration_since(std::time::UNIX_EPOCH).ok());
    let bytes = file.map_or(0, |file| file.len());
    format!("{version}, {bytes} bytes of {}", since_epoch.unwrap_or_default().as_millis())
}

impl RefusedSenders {
    /// The line for health, if senders are refused.
    pub(super) fn complaint(&self) -> Option<String> {
        self.0.borrow().clone()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::engine::Caller;
    use crate::model::FactNumber;

    const DAY_MS: i64 = 24 * 60 * 60 * 1000;

    fn kill(user: &str) -> Event {
        Event::KillJob { id: "job_1_0001".parse().unwrap(), caller: Caller::named(user) }
    }

    /// The daemon dies in a step of the event.
    fn stop_in(state: &Path, event: &Event) -> String {
        let quarantine = open(state);
        quarantine.begin_step(event);
        quarantine.record_panic("index out of bounds")
    }

    fn open(state: &Path) -> Quarantine {
        Quarantine::open_as(state, "a".to_owned(), wall_ms())
    }

    fn text(reply: Option<Reply>) -> Option<String> {
        reply.map(|reply| match reply {
            Reply::Refused(refusal) => refusal.to_string(),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn a_sender_is_refused_after_the_second_stop_and_others_are_not() {
        let state = tempfile::tempdir().unwrap();
        assert!(open(state.path()).refusal(&kill("alice")).is_none());
        assert!(!state.path().join(FOLDER).exists(), "nothing is made before it is needed");
        stop_in(state.path(), &kill("alice"));
        assert!(open(state.path()).refusal(&kill("alice")).is_none(), "once may be chance");
        let line = stop_in(state.path(), &kill("alice"));
        assert!(line.ends_with("refused from now on"), "{line}");
        let quarantine = open(state.path());
        let refusal = text(quarantine.refusal(&kill("alice"))).unwrap();
        assert!(
            refusal.contains("killJob (job_1_0001) of user alice; an administrator frees it by removing"),
            "{refusal}"
        );
        assert!(quarantine.refusal(&kill("bob")).is_none());
        let health = quarantine.refused_senders().complaint().unwrap();
        assert!(health.contains("killJob (job_1_0001) of user alice (quarantine/killJob-"), "{health}");
        let file = std::fs::read_dir(state.path().join(FOLDER)).unwrap().next().unwrap().unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(state.path().join(FOLDER).metadata().unwrap().permissions().mode() & 0o777, 0o700);
        // An administrator removes the file.
        quarantine.retain(&[], wall_ms());
        assert!(quarantine.refusal(&kill("alice")).is_none());
        assert_eq!(quarantine.refused_senders().complaint(), None);
    }

    #[test]
    fn another_build_and_two_days_without_a_stop_free_the_sender() {
        for (program, later_ms, is_kept) in
            [("a", 2 * DAY_MS - 60_000, true), ("a", 2 * DAY_MS + 60_000, false), ("b", 0, false)]
        {
            let state = tempfile::tempdir().unwrap();
            (0..2).for_each(|_| drop(stop_in(state.path(), &kill("alice"))));
            let quarantine = Quarantine::open_as(state.path(), program.to_owned(), wall_ms() + later_ms);
            assert_eq!(quarantine.refusal(&kill("alice")).is_some(), is_kept, "{program} {later_ms}");
            let files = std::fs::read_dir(state.path().join(FOLDER)).unwrap().count();
            assert_eq!(files, usize::from(is_kept));
        }
    }

    #[test]
    fn the_daemons_own_work_is_noted_and_never_refused() {
        let state = tempfile::tempdir().unwrap();
        let timer = || Event::Timer { durable: FactNumber(0) };
        (0..3).for_each(|_| drop(stop_in(state.path(), &timer())));
        let quarantine = open(state.path());
        assert_eq!(quarantine.known.borrow()[0].record.times, 3);
        assert!(quarantine.refusal(&timer()).is_none());
        assert_eq!(quarantine.refused_senders().complaint(), None);
    }

    #[test]
    fn a_heartbeat_keeps_its_bytes_and_few_trackers_are_refused() {
        use crate::engine::Event::Heartbeat;
        use crate::wire::{HealthStatus, HeartbeatRequest, ResourceStatus, TaskTrackerStatus};
        let heartbeat = |name: &str| {
            let status = TaskTrackerStatus {
                name: name.into(),
                host: "h".into(),
                http_port: 50060,
                task_failures: 0,
                dir_failures: 0,
                max_map_slots: 2,
                max_reduce_slots: 2,
                resources: ResourceStatus::of_space(-1),
                tasks: Vec::new(),
                health: HealthStatus { healthy: true, report: "".into(), last_reported_ms: 0 },
            };
            let request = HeartbeatRequest {
                status,
                restarted: true,
                initial_contact: true,
                accept_new_tasks: true,
                response_id: -1,
            };
            Heartbeat { request, connection: 1, address: None }
        };
        let state = tempfile::tempdir().unwrap();
        for number in 0..=MAX_REFUSED_TRACKERS {
            let event = heartbeat(&format!("tracker_{number}"));
            for _ in 0..TOLERATED_STOPS {
                let quarantine = open(state.path());
                quarantine.begin_step(&event);
                quarantine.keep_frame(b"frame");
                quarantine.record_panic("a bug");
            }
            let quarantine = open(state.path());
            assert_eq!(quarantine.known.borrow()[0].record.frame.as_deref(), Some("ZnJhbWU="));
            let reply = quarantine.refusal(&event);
            if number < MAX_REFUSED_TRACKERS {
                assert!(matches!(reply, Some(Reply::Refused(Refusal::DisallowedTracker(_)))), "{reply:?}");
            } else {
                assert!(reply.is_none() && quarantine.refusal(&heartbeat("tracker_0")).is_none());
                assert!(quarantine.refused_senders().complaint().unwrap().contains("so none is refused"));
            }
        }
    }

    #[test]
    fn the_number_of_records_is_bounded_and_foreign_files_are_ignored() {
        let state = tempfile::tempdir().unwrap();
        for number in 0..MAX_RECORDS + 3 {
            stop_in(state.path(), &kill(&format!("user{number}")));
        }
        std::fs::write(state.path().join(FOLDER).join("notes"), "look here").unwrap();
        let quarantine = open(state.path());
        assert_eq!(quarantine.known.borrow().len(), MAX_RECORDS);
        assert_eq!(std::fs::read_dir(state.path().join(FOLDER)).unwrap().count(), MAX_RECORDS + 1);
    }
}
