//! SIGHUP reloads what can change while the daemon runs.

use std::fs;

use rustix::process::Signal;

use crate::daemon::child::{ACL, ChildDaemon, DaemonFolders};

use super::{BUDGETS, send};

/// Names and values.
type Properties<'a> = &'a [(&'a str, &'a str)];

/// A conf folder of these properties.
fn write_conf(place: &DaemonFolders, properties: Properties<'_>) {
    let property =
        |(name, value): &(&str, &str)| format!("<property><name>{name}</name><value>{value}</value></property>\n");
    let properties: String = properties.iter().map(property).collect();
    fs::write(place.path("conf/mapred-site.xml"), format!("<configuration>\n{properties}</configuration>\n")).unwrap();
}

fn place_with_conf(properties: Properties<'_>) -> (DaemonFolders, ChildDaemon) {
    let place = DaemonFolders::new(BUDGETS);
    fs::create_dir(place.path("conf")).unwrap();
    write_conf(&place, properties);
    let conf = place.path("conf").display().to_string();
    let serving = place.try_start(&["--conf", &conf]).unwrap_or_else(|(status, log)| panic!("{status}:\n{log}"));
    (place, serving)
}

#[test]
fn what_can_change_is_taken_over_and_told_in_one_line() {
    let (place, serving) = place_with_conf(&[("mapred.queue.names", "default")]);
    let hosts = place.path("etc/hosts");
    fs::write(&hosts, "n1 n2\nn3\n").unwrap();
    fs::write(place.acl(), format!("{ACL}carol user carolkey\n")).unwrap();
    write_conf(
        &place,
        &[
            ("mapred.queue.names", "default,alice"),
            ("mapred.hosts", &hosts.display().to_string()),
            ("jobtracker.ledger.detail-days", "7"),
        ],
    );
    send(&serving, Signal::HUP);
    let line = serving.log.wait_for("SIGHUP: ");
    let conf = place.path("conf");
    let expected = format!(
        "SIGHUP: reloaded {0}: 2 queues, 3 hosts included, 0 excluded, 4 users may sign; queue alice is new; 3 hosts \
         came to the included ones, 0 left; changed, but require a restart: jobtracker.ledger.detail-days ({0}/mapred-site.xml:4)",
        conf.display()
    );
    assert!(line.ends_with(&expected), "{line}\n{expected}");
    assert_eq!(serving.ask("carol", "time").status, 200);
    // And again, as often as wanted.
    fs::write(&hosts, "n1\n").unwrap();
    send(&serving, Signal::HUP);
    serving.log.wait_for("1 host included");
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn one_wrong_file_changes_nothing_and_is_named_with_its_line() {
    let (place, serving) = place_with_conf(&[("mapred.queue.names", "default")]);
    let hosts = place.path("etc/hosts");
    let hosts_text = hosts.display().to_string();
    fs::write(&hosts, "n1\n").unwrap();
    let conf = place.path("conf/mapred-site.xml").display().to_string();
    let added = ("mapred.queue.names", "default,added");
    let wrong: [(Properties<'_>, &[&str]); 4] = [
        (
            &[added, ("mapred.hosts", &hosts_text), ("mapred.queue.added.state", "resting")],
            &["mapred.queue.added.state", "resting", &conf, ":4"],
        ),
        (&[added, ("mapred.hosts", "/nowhere/hosts")], &["mapred.hosts", "/nowhere/hosts", &conf, ":3"]),
        (
            &[added, ("mapred.hosts", &hosts_text), ("mapred.tasktracker.expiry.interval", "many")],
            &["expiry.interval", "many", &conf, ":4"],
        ),
        (&[("mapred.queue.names", "added"), ("mapred.hosts", &hosts_text)], &["Couldn't find queue 'default'"]),
    ];
    for (properties, expected) in wrong {
        write_conf(&place, properties);
        send(&serving, Signal::HUP);
        let line = serving.log.wait_for(expected[0]);
        assert!(line.contains("SIGHUP: reload failed, nothing changed: "), "{line}");
        assert!(expected.iter().all(|words| line.contains(words)), "{line}: {expected:?}");
    }
    // A bad list of users holds the rest back, too.
    write_conf(&place, &[added]);
    fs::write(place.acl(), format!("{ACL}carol\n")).unwrap();
    send(&serving, Signal::HUP);
    let expected = format!("SIGHUP: reload failed, nothing changed: {}", place.acl().display());
    let line = serving.log.wait_for(&expected);
    assert!(line.contains("4") && line.contains("the last good list stays in force"), "{line}");
    assert!(!serving.log.text().contains("SIGHUP: reloaded"));
    fs::write(place.acl(), ACL).unwrap();
    send(&serving, Signal::HUP);
    serving.log.wait_for("SIGHUP: reloaded");
    assert!(serving.log.text().contains(": 2 queues, 0 hosts included"), "{}", serving.log.text());
    assert_eq!(serving.stop().0, 0);
}
