//! What was open before an upgrade is used after it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::daemon::child::{TIMEOUT, wait_for_files};
use crate::daemon::clients::IntoCall;
use crate::daemon::scripted_tracker::ScriptedTracker;
use crate::upgrade::stage::{RawClient, client, client_of, place, unsigned_place, upgrade};

use jobtracker::model::{AttemptState, RunState};
use jobtracker::wire::Action;
use jobtracker::wire::protocol::{JobSubmissionCall, Protocol, Value};

#[test]
fn connections_go_on_wherever_they_stand() {
    let place = place();
    let mut serving = place.start();
    let mut idle = client(&serving, Protocol::JobSubmission);
    // Nothing said; within the preamble; within the header; within a call; with all but its last byte.
    let raw = [0, 3, 12, -20, -1].map(|count| RawClient::that_says(&serving, count));
    // All of them are accepted: connections are taken in their order.
    client(&serving, Protocol::JobSubmission);
    let output = upgrade(&place, &mut serving, &[]);
    assert!(output.contains(" with 6 connections; calls waited "), "{output}");
    for client in raw {
        client.ends_well();
    }
    idle.asks();
    // And new ones are let in.
    client(&serving, Protocol::JobSubmission).asks();
    assert_eq!(serving.get("/readyz", "").status, 200);
    let (code, log) = serving.stop();
    assert_eq!(code, 0, "{log}");
    assert_eq!(place.names("state"), ["lock", "state.db"]);
}

#[test]
fn money_is_what_it_was() {
    let place = place();
    let mut serving = place.start();
    serving.top_up("alice", "5");
    // Shown from the next tick on.
    while serving.ask("alice", "info=alice").queue()[0] != "105.0" {
        std::thread::yield_now();
    }
    let seen = |serving: &crate::daemon::child::ChildDaemon| {
        (
            serving.ask("alice", "info=alice").queue(),
            serving.ask("root", "infos").body,
            serving.get("/scheduler?price", "").body,
        )
    };
    let before = seen(&serving);
    upgrade(&place, &mut serving, &[]);
    assert_eq!(seen(&serving), before);
    // The word of an administrator at the start was for that start. The file is written beside what is asked.
    wait_for_files(&place.path("etc"), || place.read_budget().contains("alice 105"));
    assert!(!serving.log.text().contains("NOT TAKEN OVER") && !serving.log.text().contains("was edited"));
    serving.top_up("alice", "1");
    assert_eq!(serving.stop().0, 0);
    assert!(place.read_budget().contains("alice 106"), "{}", place.read_budget());
}

/// A running attempt continues; nothing is launched twice, also where restarts end jobs.
#[test]
fn a_job_goes_on_with_its_client_and_its_tracker() {
    let mut place = unsigned_place();
    place.overrides.push("mapred.jobtracker.restart.recover=false".to_owned());
    let mut serving = place.start();
    let mut alice = client(&serving, Protocol::JobSubmission);
    let mut calls = client(&serving, Protocol::InterTracker);
    let job = alice.submit(&place, 3);
    let mut tracker = ScriptedTracker::new();
    let mut launched = Vec::new();
    let status = JobSubmissionCall::GetJobStatus { job: Some(job) };
    for beat in 0.. {
        let heartbeat = tracker.heartbeat();
        let response = tracker.obey(calls.call(&heartbeat));
        for action in response.actions {
            match action {
                Action::LaunchTask(task) => launched.push(task.status.attempt.to_string()),
                Action::KillJob(_) | Action::CommitTask(_) => {}
                // A setup or cleanup that is over may be forgotten.
                Action::KillTask(attempt) if attempt.task.number >= 3 => {}
                Action::KillTask(_) | Action::ReinitTracker => panic!("{action:?} at {beat}"),
            }
        }
        let Value::JobStatus(Some(output)) = alice.call(&status.clone().into_call()) else { panic!() };
        if output.run_state == RunState::Succeeded {
            break;
        }
        assert!(beat < 60, "{output:?}");
        // Each launch is seen running by both processes, and ends under the second. One that has just taken over
        // launches nothing at the first heartbeat, which after a restart may report the past.
        if beat % 3 == 1 {
            upgrade(&place, &mut serving, &[]);
        }
        if beat % 3 == 2 {
            tracker.all_are(AttemptState::Succeeded);
        }
    }
    launched.sort();
    let count = launched.len();
    launched.dedup();
    assert_eq!((launched.len(), count), (5, 5), "setup, three maps, cleanup: {launched:?}");
    assert_eq!(serving.stop().0, 0);
}

#[test]
fn a_request_over_http_is_answered_by_the_one_that_has_it() {
    let place = place();
    let mut serving = place.start();
    let mut held = TcpStream::connect(serving.http).unwrap();
    held.set_read_timeout(Some(TIMEOUT)).unwrap();
    held.write_all(b"GET /healthz HTTP/1.1\r\nHost: h\r\n").unwrap();
    assert_eq!(serving.get("/healthz", "").status, 200);
    let mut asked =
        crate::upgrade::stage::ask_for_upgrade(&place, &[]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    serving.log.wait_for("requested an upgrade");
    held.write_all(b"\r\n").unwrap();
    let mut answer = String::new();
    held.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
    assert!(asked.wait().unwrap().success());
    let mut output = String::new();
    asked.stdout.unwrap().read_to_string(&mut output).unwrap();
    serving.succeeded_by(output.split(' ').nth(1).unwrap().parse().unwrap());
    assert_eq!(serving.stop().0, 0);
}

/// Another configuration comes with another process: here, another port for the web.
#[test]
fn a_changed_address_is_bound_anew_and_connections_go_on() {
    let place = place();
    let serving_on = |port: u16| format!("mapred.job.tracker.http.address=127.0.0.1:{port}");
    std::fs::create_dir(place.path("conf")).unwrap();
    let conf = |text: &str| {
        let (name, value) = text.split_once('=').unwrap();
        let text =
            format!("<configuration><property><name>{name}</name><value>{value}</value></property></configuration>");
        std::fs::write(place.path("conf/mapred-site.xml"), text).unwrap();
    };
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (old, new) = (free(), free());
    conf(&serving_on(old.port()));
    let mut arguments = place.arguments();
    let any = arguments.iter().position(|text| text.starts_with("mapred.job.tracker.http.address")).unwrap();
    arguments.drain(any - 1..=any);
    arguments.extend(["--conf".to_owned(), place.path("conf").display().to_string()]);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_jobtracker"));
    command.args(arguments);
    let mut serving =
        crate::daemon::child::ChildDaemon::of(command).unwrap_or_else(|(status, log)| panic!("{status}\n{log}"));
    let mut idle = client(&serving, Protocol::JobSubmission);
    assert_eq!(serving.http, old);
    conf(&serving_on(new.port()));
    upgrade(&place, &mut serving, &[]);
    assert!(TcpStream::connect(old).is_err(), "nothing listens on the old address");
    serving.http = new;
    // Once a call is answered, the new process serves.
    idle.asks();
    assert_eq!(serving.get("/readyz", "").status, 200);
    assert_eq!(serving.stop().0, 0);
}

/// The new process knows the connection that each tracker is served on.
#[test]
fn a_tracker_is_served_on_its_own_connection_alone_after_an_upgrade_too() {
    let place = unsigned_place();
    let mut serving = place.start();
    let mut own = client(&serving, Protocol::InterTracker);
    let mut tracker = ScriptedTracker::new();
    let registration = tracker.heartbeat();
    tracker.obey(own.call(&registration));
    upgrade(&place, &mut serving, &[]);
    let heartbeat = tracker.heartbeat();
    let mut stranger = client(&serving, Protocol::InterTracker);
    let refused = std::thread::spawn(move || stranger.refused(&heartbeat));
    // Whenever the stranger is taken, the tracker calls after it.
    while !refused.is_finished() {
        let before = tracker.fake.response_id;
        let heartbeat = tracker.heartbeat();
        tracker.obey(own.call(&heartbeat));
        assert_eq!(tracker.fake.response_id, before.wrapping_add(1));
    }
    let text = refused.join().unwrap();
    assert!(text.contains("DisallowedTaskTrackerException: TaskTracker tracker_"), "{text}");
    let (code, log) = serving.stop();
    assert_eq!(code, 0, "{log}");
}

/// A client that got its id before an upgrade submits after it, and no other user does in its place.
#[test]
fn a_job_id_keeps_its_user_over_an_upgrade() {
    let place = unsigned_place();
    let mut serving = place.start();
    let mut alice = client(&serving, Protocol::JobSubmission);
    let (id, submission) = alice.staged(&place, 1);
    for _ in 0..2 {
        upgrade(&place, &mut serving, &[]);
        let text = client_of("bob", &serving).refused(&submission);
        assert!(text.contains(&format!("{id} was given to another user than bob")), "{text}");
    }
    assert!(matches!(alice.call(&submission), Value::JobStatus(Some(status)) if status.id == id));
    assert_eq!(serving.stop().0, 0);
}
