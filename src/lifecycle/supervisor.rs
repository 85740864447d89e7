//! What the supervisor is told: that the daemon is ready, reloads, stops, lives.
//!
//! As systemd's `sd_notify` has it: datagrams to the socket that `NOTIFY_SOCKET` names. Without one nothing is told.
//! Nothing here waits: a supervisor that does not read keeps no heartbeat waiting.

use std::ffi::OsStr;
use std::fmt::Write;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::rc::Rc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::store::{Durable, Health};

/// How often the store's health is looked at where nobody wants to hear oftener that the daemon lives.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The way to the supervisor, if there is one.
#[derive(Clone, Debug)]
pub(super) struct Supervisor(Option<Rc<Socket>>);

#[derive(Debug)]
struct Socket {
    ours: UnixDatagram,
    theirs: SocketAddr,
    /// Silence after which the daemon counts as stuck.
    watchdog: Option<Duration>,
}

// === impl Supervisor ===

impl Supervisor {
    /// The one that started this process, by its environment.
    pub(super) fn of_process() -> Self {
        let Some(name) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else { return Self(None) };
        match Socket::to(&name, sd_notify::watchdog_enabled()) {
            Ok(socket) => Self(Some(Rc::new(socket))),
            Err(error) => {
                tracing::warn!("NOTIFY_SOCKET={}: nothing can be told there: {error}", name.display());
                Self(None)
            }
        }
    }

    /// Says in one line what the daemon is at.
    pub(super) fn status(&self, text: &str) {
        self.tell(&[NotifyState::Status(&one_line(text))]);
    }

    /// It serves, or has reloaded.
    pub(super) fn ready(&self, status: &str) {
        self.tell(&[NotifyState::Ready, NotifyState::Status(&one_line(status))]);
    }

    /// It reads its configuration anew; [`Self::ready`] must follow.
    pub(super) fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            // systemd tells by the time which reload is meant.
            Ok(now) => self.tell(&[NotifyState::Reloading, now]),
            Err(_) => self.tell(&[NotifyState::Reloading]),
        }
    }

    /// Another process goes on. From now on only that one is listened to.
    pub(super) fn succeeded_by(&self, process: u32) {
        self.tell(&[NotifyState::MainPid(process)]);
    }

    /// Says that the daemon lives for as long as `work` takes, while [`Self::follow`] does not run.
    pub(super) async fn follow_meanwhile<T>(&self, work: impl Future<Output = T>) -> T {
        let Some(silence) = self.0.as_ref().and_then(|socket| socket.watchdog) else { return work.await };
        let mut work = std::pin::pin!(work);
        let mut ticks = tokio::time::interval((silence / 2).max(Duration::from_millis(1)));
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = ticks.tick() => self.tell(&[NotifyState::Watchdog]),
            }
        }
    }

    /// It stops.
    pub(super) fn stopping(&self) {
        self.tell(&[NotifyState::Stopping, NotifyState::Status("stopping: calls in hand are answered")]);
    }

    /// Says that the thread this runs on serves, then again and again that it turns, and tells of a store that fails.
    /// Ends only without a supervisor.
    pub(super) async fn follow(self, store: watch::Receiver<Durable>, good: String) {
        let Some(socket) = &self.0 else { return };
        self.ready(&good);
        // Half of the silence that is borne, as `sd_watchdog_enabled` advises.
        let pause = socket.watchdog.map_or(LOOK_EVERY, |silence| (silence / 2).min(LOOK_EVERY));
        let mut ticks = tokio::time::interval(pause.max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut was_good = true;
        loop {
            ticks.tick().await;
            if socket.watchdog.is_some() {
                self.tell(&[NotifyState::Watchdog]);
            }
            let health = store.borrow().health.clone();
            match &health {
                Health::Good if was_good => {}
                Health::Good => self.status(&good),
                Health::Failing { text, .. } | Health::Broken { text } => {
                    self.status(&format!("state.db cannot be written: {text}"));
                }
            }
            was_good = health == Health::Good;
        }
    }

    fn tell(&self, states: &[NotifyState<'_>]) {
        let Some(socket) = &self.0 else { return };
        if let Err(error) = socket.send(states) {
            tracing::debug!("the supervisor does not hear: {error}");
        }
    }
}

// === impl Socket ===

impl Socket {
    fn to(name: &OsStr, watchdog: Option<Duration>) -> io::Result<Self> {
        let theirs = match name.as_bytes().strip_prefix(b"@") {
            Some(abstract_name) => SocketAddr::from_abstract_name(abstract_name)?,
            None => SocketAddr::from_pathname(name)?,
        };
        let ours = UnixDatagram::unbound()?;
        ours.set_nonblocking(true)?;
        Ok(Self { ours, theirs, watchdog: watchdog.filter(|silence| !silence.is_zero()) })
    }

    fn send(&self, states: &[NotifyState<'_>]) -> io::Result<()> {
        let mut lines = String::new();
        for state in states {
            // Writing into a String cannot fail.
            let _ = writeln!(lines, "{state}");
        }
        self.ours.send_to_addr(lines.as_bytes(), &self.theirs).map(drop)
    }
}

/// A line of its own would be another message.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use crate::model::FactNumber;

    use super::*;

    const SILENCE: Duration = Duration::from_millis(20);

    fn pair(watchdog: Option<Duration>) -> (tempfile::TempDir, UnixDatagram, Supervisor) {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("notify");
        let theirs = UnixDatagram::bind(&path).unwrap();
        let socket = Socket::to(path.as_os_str(), watchdog).unwrap();
        (scratch, theirs, Supervisor(Some(Rc::new(socket))))
    }

    fn heard(socket: &UnixDatagram) -> Option<String> {
        let mut room = [0; 4096];
        let length = socket.recv(&mut room).ok()?;
        Some(String::from_utf8(room[..length].to_vec()).unwrap())
    }

    #[test]
    fn each_message_is_of_whole_lines() {
        let (_scratch, theirs, supervisor) = pair(None);
        supervisor.ready("serving\nREADY=0");
        assert_eq!(heard(&theirs).unwrap(), "READY=1\nSTATUS=serving READY=0\n");
        supervisor.reloading();
        let text = heard(&theirs).unwrap();
        let time = text.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap().trim_end();
        assert!(time.parse::<u64>().unwrap() > 0, "{text}");
        supervisor.stopping();
        assert!(heard(&theirs).unwrap().starts_with("STOPPING=1\nSTATUS="));
    }

    #[test]
    fn an_abstract_name_is_a_name_too() {
        let name = format!("jobtracker-test-{}", std::process::id());
        let theirs = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let socket = Socket::to(OsStr::new(&format!("@{name}")), None).unwrap();
        socket.send(&[NotifyState::Ready]).unwrap();
        assert_eq!(heard(&theirs).unwrap(), "READY=1\n");
    }

    #[test]
    fn who_does_not_read_is_not_waited_for() {
        let (_scratch, theirs, supervisor) = pair(None);
        // More than any queue of a socket holds.
        for _ in 0..10_000 {
            supervisor.status("still here");
        }
        drop(theirs);
        supervisor.status("nobody is there");
    }

    /// The thread that is stuck is the one that would speak.
    #[test]
    fn a_thread_that_is_stuck_says_nothing() {
        let (_scratch, theirs, supervisor) = pair(Some(SILENCE));
        let (_sender, store) = watch::channel(Durable { number: FactNumber(0), ..Durable::default() });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(tokio::runtime::LocalOptions::default())
            .unwrap();
        theirs.set_read_timeout(Some(3 * SILENCE)).unwrap();
        theirs.set_nonblocking(true).unwrap();
        let next = async || {
            loop {
                match heard(&theirs) {
                    Some(text) => return text,
                    None => tokio::task::yield_now().await,
                }
            }
        };
        runtime.block_on(async {
            tokio::task::spawn_local(supervisor.follow(store, "serving".to_owned()));
            assert_eq!(next().await, "READY=1\nSTATUS=serving\n");
            assert_eq!(next().await, "WATCHDOG=1\n");
            assert_eq!(next().await, "WATCHDOG=1\n");
            // Stuck: for longer than is borne, this thread does nothing else.
            theirs.set_nonblocking(false).unwrap();
            assert_eq!(heard(&theirs), None);
            theirs.set_nonblocking(true).unwrap();
            assert_eq!(next().await, "WATCHDOG=1\n");
        });
    }

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn a_store_that_fails_is_told_until_it_is_well() {
        let (_scratch, theirs, supervisor) = pair(None);
        let (sender, store) = watch::channel(Durable { number: FactNumber(0), ..Durable::default() });
        theirs.set_nonblocking(true).unwrap();
        let mut follow = std::pin::pin!(supervisor.follow(store, "serving".to_owned()));
        // Between two looks of its own.
        let mut pause = LOOK_EVERY / 2;
        let mut look = async |health: Health| {
            sender.send_modify(|durable| durable.health = health);
            tokio::select! {
                () = &mut follow => panic!("ended"),
                () = tokio::time::sleep(pause) => {}
            }
            pause = LOOK_EVERY;
            heard(&theirs)
        };
        assert_eq!(look(Health::Good).await.unwrap(), "READY=1\nSTATUS=serving\n");
        assert_eq!(look(Health::Good).await, None);
        let failing = Health::Failing { since_ms: 0, tries: 1, text: "disk full".to_owned() };
        assert_eq!(look(failing).await.unwrap(), "STATUS=state.db cannot be written: disk full\n");
        assert_eq!(look(Health::Good).await.unwrap(), "STATUS=serving\n");
        assert_eq!(look(Health::Good).await, None);
    }
}
