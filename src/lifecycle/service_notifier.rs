//! Notifies the service manager that started the daemon: ready, reloading, stopping, watchdog.
//!
//! Speaks systemd's `sd_notify` protocol: datagrams to the socket that `NOTIFY_SOCKET` names, if any. Never waits: a
//! service manager that does not read delays no heartbeat.

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

/// Interval of the store's health check unless the watchdog needs a shorter one.
const HEALTH_INTERVAL: Duration = Duration::from_secs(10);

/// The notification socket, if there is one.
#[derive(Clone, Debug)]
pub(super) struct ServiceNotifier(Option<Rc<Socket>>);

#[derive(Debug)]
struct Socket {
    ours: UnixDatagram,
    theirs: SocketAddr,
    /// The service manager's watchdog timeout.
    watchdog: Option<Duration>,
}

impl ServiceNotifier {
    /// The service manager of this process, from its environment.
    pub(super) fn of_process() -> Self {
        let Some(name) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else { return Self(None) };
        match Socket::to(&name, sd_notify::watchdog_enabled()) {
            Ok(socket) => Self(Some(Rc::new(socket))),
            Err(error) => {
                tracing::warn!("NOTIFY_SOCKET={}: cannot notify the service manager: {error}", name.display());
                Self(None)
            }
        }
    }

    pub(super) fn is_present(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn status(&self, text: &str) {
        self.notify(&[NotifyState::Status(&one_line(text))]);
    }

    /// Reports that the daemon serves, or has reloaded.
    pub(super) fn ready(&self, status: &str) {
        self.notify(&[NotifyState::Ready, NotifyState::Status(&one_line(status))]);
    }

    /// Reports a reload; [`Self::ready`] must follow.
    pub(super) fn reloading(&self) {
        match NotifyState::monotonic_usec_now() {
            // systemd matches the reload by the time.
            Ok(now) => self.notify(&[NotifyState::Reloading, now]),
            Err(_) => self.notify(&[NotifyState::Reloading]),
        }
    }

    /// Reports the process that takes over. From now on the service manager accepts only its messages.
    pub(super) fn succeeded_by(&self, process: u32) {
        self.notify(&[NotifyState::MainPid(process)]);
    }

    /// Sends watchdog messages while `work` runs, for the time when [`Self::report_health`] does not run.
    pub(super) async fn keep_alive_during<T>(&self, work: impl Future<Output = T>) -> T {
        let Some(silence) = self.0.as_ref().and_then(|socket| socket.watchdog) else { return work.await };
        let mut work = std::pin::pin!(work);
        let mut ticks = tokio::time::interval((silence / 2).max(Duration::from_millis(1)));
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = ticks.tick() => self.notify(&[NotifyState::Watchdog]),
            }
        }
    }

    pub(super) fn stopping(&self) {
        self.notify(&[NotifyState::Stopping, NotifyState::Status("stopping: answering the calls in progress")]);
    }

    /// Reports that this thread serves, then sends watchdog messages and reports a failing store. Completes only without a service manager.
    pub(super) async fn report_health(self, store: watch::Receiver<Durable>, serving_status: String) {
        let Some(socket) = &self.0 else { return };
        self.ready(&serving_status);
        // Half of the timeout, as `sd_watchdog_enabled` advises.
        let pause = socket.watchdog.map_or(HEALTH_INTERVAL, |silence| (silence / 2).min(HEALTH_INTERVAL));
        let mut ticks = tokio::time::interval(pause.max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut was_good = true;
        loop {
            ticks.tick().await;
            if socket.watchdog.is_some() {
                self.notify(&[NotifyState::Watchdog]);
            }
            let health = store.borrow().health.clone();
            match &health {
                Health::Good if was_good => {}
                Health::Good => self.status(&serving_status),
                Health::Failing { text, .. } | Health::Broken { text } => {
                    self.status(&format!("state.db cannot be written: {text}"));
                }
            }
            was_good = health == Health::Good;
        }
    }

    fn notify(&self, states: &[NotifyState<'_>]) {
        let Some(socket) = &self.0 else { return };
        if let Err(error) = socket.send(states) {
            tracing::debug!("cannot notify the service manager: {error}");
        }
    }
}

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

/// Joins lines: each line would be another message.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use crate::model::FactNumber;

    use super::*;

    const SILENCE: Duration = Duration::from_millis(20);

    fn pair(watchdog: Option<Duration>) -> (tempfile::TempDir, UnixDatagram, ServiceNotifier) {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("notify");
        let theirs = UnixDatagram::bind(&path).unwrap();
        let socket = Socket::to(path.as_os_str(), watchdog).unwrap();
        (scratch, theirs, ServiceNotifier(Some(Rc::new(socket))))
    }

    fn received(socket: &UnixDatagram) -> Option<String> {
        let mut room = [0; 4096];
        let length = socket.recv(&mut room).ok()?;
        Some(String::from_utf8(room[..length].to_vec()).unwrap())
    }

    #[test]
    fn each_message_is_of_whole_lines() {
        let (_scratch, theirs, service) = pair(None);
        service.ready("serving\nREADY=0");
        assert_eq!(received(&theirs).unwrap(), "READY=1\nSTATUS=serving READY=0\n");
        service.reloading();
        let text = received(&theirs).unwrap();
        let time = text.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap().trim_end();
        assert!(time.parse::<u64>().unwrap() > 0, "{text}");
        service.stopping();
        assert!(received(&theirs).unwrap().starts_with("STOPPING=1\nSTATUS="));
    }

    #[test]
    fn an_abstract_name_is_a_name_too() {
        let name = format!("jobtracker-test-{}", std::process::id());
        let theirs = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let socket = Socket::to(OsStr::new(&format!("@{name}")), None).unwrap();
        socket.send(&[NotifyState::Ready]).unwrap();
        assert_eq!(received(&theirs).unwrap(), "READY=1\n");
    }

    #[test]
    fn who_does_not_read_is_not_waited_for() {
        let (_scratch, theirs, service) = pair(None);
        // More than any socket queue holds.
        for _ in 0..10_000 {
            service.status("still here");
        }
        drop(theirs);
        service.status("no receiver");
    }

    /// The stuck thread is the one that would send.
    #[test]
    fn a_thread_that_is_stuck_says_nothing() {
        let (_scratch, theirs, service) = pair(Some(SILENCE));
        let (_sender, store) = watch::channel(Durable { number: FactNumber(0), ..Durable::default() });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(tokio::runtime::LocalOptions::default())
            .unwrap();
        theirs.set_read_timeout(Some(3 * SILENCE)).unwrap();
        theirs.set_nonblocking(true).unwrap();
        let next = async || {
            loop {
                match received(&theirs) {
                    Some(text) => return text,
                    None => tokio::task::yield_now().await,
                }
            }
        };
        runtime.block_on(async {
            tokio::task::spawn_local(service.report_health(store, "serving".to_owned()));
            assert_eq!(next().await, "READY=1\nSTATUS=serving\n");
            assert_eq!(next().await, "WATCHDOG=1\n");
            assert_eq!(next().await, "WATCHDOG=1\n");
            // Stuck: for longer than the timeout this thread does nothing else.
            theirs.set_nonblocking(false).unwrap();
            assert_eq!(received(&theirs), None);
            theirs.set_nonblocking(true).unwrap();
            assert_eq!(next().await, "WATCHDOG=1\n");
        });
    }

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn a_failing_store_is_reported_until_it_recovers() {
        let (_scratch, theirs, service) = pair(None);
        let (sender, store) = watch::channel(Durable { number: FactNumber(0), ..Durable::default() });
        theirs.set_nonblocking(true).unwrap();
        let mut follow = std::pin::pin!(service.report_health(store, "serving".to_owned()));
        // Half an interval later than the task's own checks.
        let mut pause = HEALTH_INTERVAL / 2;
        let mut next_status = async |health: Health| {
            sender.send_modify(|durable| durable.health = health);
            tokio::select! {
                () = &mut follow => panic!("ended"),
                () = tokio::time::sleep(pause) => {}
            }
            pause = HEALTH_INTERVAL;
            received(&theirs)
        };
        assert_eq!(next_status(Health::Good).await.unwrap(), "READY=1\nSTATUS=serving\n");
        assert_eq!(next_status(Health::Good).await, None);
        let failing = Health::Failing { since_ms: 0, tries: 1, text: "disk full".to_owned() };
        assert_eq!(next_status(failing).await.unwrap(), "STATUS=state.db cannot be written: disk full\n");
        assert_eq!(next_status(Health::Good).await.unwrap(), "STATUS=serving\n");
        assert_eq!(next_status(Health::Good).await, None);
    }
}
