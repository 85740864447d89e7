//! What the supervisor receives from the program: a socket of ours in the place of systemd's.

use std::fs;
use std::os::unix::net::UnixDatagram;

use rustix::process::Signal;

use crate::daemon::child::{ChildDaemon, DaemonFolders, TIMEOUT};

use super::{BUDGETS, send};

struct Supervisor {
    socket: UnixDatagram,
}

// === impl Supervisor ===

impl Supervisor {
    /// Listens for a daemon of that place that will be started.
    fn of(place: &mut DaemonFolders) -> Self {
        let path = place.path("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        place.environment.push(("NOTIFY_SOCKET", Box::leak(path.display().to_string().into_boxed_str())));
        Self { socket }
    }

    fn receive(&self) -> String {
        let mut room = [0; 4096];
        let length = self.socket.recv(&mut room).unwrap();
        String::from_utf8(room[..length].to_vec()).unwrap()
    }

    /// The next that is not about life.
    fn receive_news(&self) -> String {
        loop {
            let text = self.receive();
            if text != "WATCHDOG=1\n" {
                return text;
            }
        }
    }
}

fn started(place: &DaemonFolders, supervisor: &Supervisor) -> ChildDaemon {
    let serving = place.start();
    assert!(supervisor.receive_news().starts_with("STATUS=starting"));
    let ready = supervisor.receive_news();
    assert!(ready.starts_with("READY=1\nSTATUS=serving RPC on 127.0.0.1:"), "{ready}");
    assert!(ready.contains(&format!("web on {}", serving.http)), "{ready}");
    serving
}

#[test]
fn it_is_told_of_start_reload_and_stop() {
    let mut place = DaemonFolders::new(BUDGETS);
    let supervisor = Supervisor::of(&mut place);
    let serving = started(&place, &supervisor);
    assert_eq!(serving.get("/readyz", "").status, 200);
    send(&serving, Signal::HUP);
    let reloading = supervisor.receive_news();
    assert!(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{reloading}");
    let ready = supervisor.receive_news();
    assert!(ready.starts_with("READY=1\nSTATUS=reloaded "), "{ready}");
    // A failed reload is reported, too; the daemon serves all the same.
    fs::write(place.acl(), "alice\n").unwrap();
    send(&serving, Signal::HUP);
    assert!(supervisor.receive_news().starts_with("RELOADING=1\n"));
    let ready = supervisor.receive_news();
    assert!(ready.starts_with("READY=1\nSTATUS=reload failed, nothing changed: "), "{ready}");
    send(&serving, Signal::TERM);
    assert!(supervisor.receive_news().starts_with("STOPPING=1\n"));
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn it_hears_again_and_again_that_the_daemon_lives() {
    let mut place = DaemonFolders::new(BUDGETS);
    let supervisor = Supervisor::of(&mut place);
    place.environment.push(("WATCHDOG_USEC", "100000"));
    let serving = started(&place, &supervisor);
    for _ in 0..5 {
        assert_eq!(supervisor.receive(), "WATCHDOG=1\n");
    }
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn a_watchdog_of_another_process_is_not_ours_and_a_failed_start_is_reported() {
    let mut place = DaemonFolders::new(BUDGETS);
    let supervisor = Supervisor::of(&mut place);
    place.environment.extend([("WATCHDOG_USEC", "1000"), ("WATCHDOG_PID", "1")]);
    let serving = started(&place, &supervisor);
    let Err((status, _)) = place.try_start(&[]) else { panic!("two daemons on one state folder") };
    assert_eq!(status.code(), Some(1));
    assert!(supervisor.receive().starts_with("STATUS=starting"));
    let output = supervisor.receive();
    assert!(output.starts_with("STATUS=") && output.contains("only one JobTracker"), "{output}");
    send(&serving, Signal::TERM);
    assert!(supervisor.receive().starts_with("STOPPING=1\n"));
    assert_eq!(serving.stop().0, 0);
}
