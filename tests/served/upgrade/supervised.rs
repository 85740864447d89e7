//! What the supervisor receives during an upgrade.

use std::os::unix::net::UnixDatagram;

use crate::daemon::child::TIMEOUT;
use crate::upgrade::stage::{fail_to_upgrade, place, upgrade};

#[test]
fn it_hears_who_serves_before_that_one_is_ready() {
    let mut place = place();
    let path = place.path("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    place.environment.push(("NOTIFY_SOCKET", Box::leak(path.display().to_string().into_boxed_str())));
    let receive = || {
        let mut room = [0; 4096];
        let length = socket.recv(&mut room).unwrap();
        String::from_utf8(room[..length].to_vec()).unwrap()
    };
    let mut serving = place.start();
    assert!(receive().starts_with("STATUS=starting"));
    assert!(receive().starts_with("READY=1\nSTATUS=serving "));
    for _ in 0..2 {
        upgrade(&place, &mut serving, &[]);
        assert!(receive().starts_with("RELOADING=1\nMONOTONIC_USEC="));
        assert_eq!(receive(), format!("MAINPID={}\n", serving.process_id()));
        let ready = receive();
        assert!(ready.starts_with("READY=1\nSTATUS=serving "), "{ready}");
    }
    assert_eq!(fail_to_upgrade(&place, &["--program", "/bin/false"]).0, 1);
    assert!(receive().starts_with("RELOADING=1\n"));
    let ready = receive();
    assert!(ready.starts_with("READY=1\nSTATUS=serving ") && ready.contains("; upgrade failed: "), "{ready}");
    assert_eq!(serving.stop().0, 0);
    assert!(receive().starts_with("STOPPING=1\n"));
}

/// The one that serves says that it lives, the one before does so until then.
#[test]
fn it_hears_all_the_time_that_somebody_lives() {
    let mut place = place();
    let path = place.path("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    place.environment.push(("NOTIFY_SOCKET", Box::leak(path.display().to_string().into_boxed_str())));
    place.environment.push(("WATCHDOG_USEC", "100000"));
    // Read from the beginning: a socket holds few messages, and the daemon waits for none to be read.
    let heard = std::thread::spawn(move || {
        let (mut after, mut is_new) = (0, false);
        while after < 5 {
            let mut room = [0; 4096];
            let length = socket.recv(&mut room).unwrap();
            let text = String::from_utf8(room[..length].to_vec()).unwrap();
            is_new = is_new || text.starts_with("MAINPID=");
            after += u32::from(is_new && text == "WATCHDOG=1\n");
        }
    });
    let mut serving = place.start();
    upgrade(&place, &mut serving, &[]);
    heard.join().unwrap();
    assert_eq!(serving.stop().0, 0);
}
