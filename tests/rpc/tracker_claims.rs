//! Who speaks for a tracker: a second connection in its name changes nothing while the first one lives, and is the tracker
//! once its network broke.

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::broken_network::Network;
use crate::daemon::clients::{IntoCall, new_job_id, submit};
use crate::daemon::in_process::{DaemonOptions, InProcessDaemon, TIMEOUT, with_daemon};
use crate::daemon::scripted_tracker::ScriptedTracker;

use jobtracker::ipc::client::{IpcClient, IpcError};
use jobtracker::model::{AttemptState, JobId, RunState};
use jobtracker::wire::protocol::{Call, JobSubmissionCall, Value};

const DISALLOWED: &str = "org.apache.hadoop.mapred.DisallowedTaskTrackerException";

async fn beat(line: &mut IpcClient, tracker: &mut ScriptedTracker) {
    let heartbeat = tracker.heartbeat();
    tracker.obey(line.call(&heartbeat).await.unwrap());
}

/// A tracker that has registered, and its connection.
async fn registered(rig: &InProcessDaemon) -> (IpcClient, ScriptedTracker) {
    let (mut line, mut tracker) = (rig.tracker_client().await, ScriptedTracker::new());
    beat(&mut line, &mut tracker).await;
    (line, tracker)
}

/// What somebody else says in its name.
fn stolen(tracker: &ScriptedTracker, response_id: i16) -> Call {
    let mut thief = tracker.clone();
    thief.fake.response_id = response_id;
    thief.heartbeat()
}

fn refusal(outcome: Result<Value, IpcError>) -> String {
    match outcome {
        Err(IpcError::Remote { exception, fatal: false }) if exception.class == DISALLOWED => exception.message,
        other => panic!("{other:?}"),
    }
}

fn calling(mut line: IpcClient, call: Call) -> JoinHandle<Result<Value, IpcError>> {
    tokio::task::spawn_local(async move { line.call(&call).await })
}

/// A job whose only map runs on the tracker.
async fn map_running(rig: &InProcessDaemon) -> (JobId, IpcClient, ScriptedTracker) {
    let mut client = rig.client("alice").await;
    let id = new_job_id(&mut client).await;
    let directory = rig.stage("alice", id, &[("mapred.map.tasks", "1"), ("mapred.reduce.tasks", "0")], 1);
    client.call(&submit(id, directory)).await.unwrap();
    let (mut line, mut tracker) = registered(rig).await;
    for _ in 0..3 {
        tracker.all_are(AttemptState::Succeeded);
        beat(&mut line, &mut tracker).await;
        if tracker.fake.attempts.iter().any(|attempt| attempt.id.task.number == 0) {
            break;
        }
    }
    assert_eq!(tracker.fake.attempts.len(), 1, "the map was launched");
    tracker.all_are(AttemptState::Running);
    beat(&mut line, &mut tracker).await;
    (id, line, tracker)
}

async fn run_state(rig: &InProcessDaemon, id: JobId) -> RunState {
    let call = JobSubmissionCall::GetJobStatus { job: Some(id) }.into_call();
    match rig.client("alice").await.call(&call).await.unwrap() {
        Value::JobStatus(Some(status)) => status.run_state,
        other => panic!("{other:?}"),
    }
}

#[test]
fn while_a_tracker_beats_no_other_connection_reports_for_it_or_gets_its_answers() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let (id, mut line, mut tracker) = map_running(&rig).await;
        let response_id = tracker.fake.response_id;
        // One with the right response id and one that would be answered with the last answer, which has it.
        for said in [response_id, response_id.wrapping_sub(7)] {
            let mut lie = tracker.clone();
            lie.all_are(AttemptState::Succeeded);
            let newcomer = calling(rig.tracker_client().await, stolen(&lie, said));
            rig.settle().await;
            assert!(!newcomer.is_finished(), "held, until the tracker itself calls");
            let before = tracker.fake.response_id;
            beat(&mut line, &mut tracker).await;
            assert_eq!(tracker.fake.response_id, before.wrapping_add(1), "the tracker notices nothing");
            let text = refusal(newcomer.await.unwrap());
            assert!(text.contains("is already connected"), "{text}");
        }
        assert_eq!(run_state(&rig, id).await, RunState::Running);
        tracker.all_are(AttemptState::Succeeded);
        for _ in 0..3 {
            beat(&mut line, &mut tracker).await;
            tracker.all_are(AttemptState::Succeeded);
        }
        assert_eq!(run_state(&rig, id).await, RunState::Succeeded);
    });
}

#[test]
fn a_tracker_that_is_silent_for_a_moment_is_found_alive_by_its_kernel() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let (mut line, mut tracker) = registered(&rig).await;
        let newcomer = calling(rig.tracker_client().await, stolen(&tracker, tracker.fake.response_id));
        // Others are answered meanwhile, and so is one that registers under the same name, like a duplicate.
        let duplicate = calling(rig.tracker_client().await, ScriptedTracker::new().heartbeat());
        let mut other = ScriptedTracker::new();
        other.fake.name = "tracker_n9:localhost/127.0.0.1:9999".into();
        let mut other_line = rig.tracker_client().await;
        beat(&mut other_line, &mut other).await;
        assert!(!newcomer.is_finished() && !duplicate.is_finished());
        refusal(tokio::time::timeout(TIMEOUT, newcomer).await.expect("no verdict").unwrap());
        let text = refusal(tokio::time::timeout(TIMEOUT, duplicate).await.expect("no verdict").unwrap());
        assert!(text.starts_with(&format!("{DISALLOWED}: another TaskTracker named tracker_")), "{text}");
        beat(&mut line, &mut tracker).await;
    });
}

#[test]
fn a_tracker_whose_connection_was_closed_comes_back_at_once() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let (mut line, mut tracker) = registered(&rig).await;
        for _ in 0..20 {
            // The new one may be seen before the end of the old one.
            let mut next = rig.tracker_client().await;
            drop(line);
            tokio::time::timeout(Duration::from_secs(3), beat(&mut next, &mut tracker)).await.expect("held too long");
            line = next;
        }
    });
}

#[test]
fn one_connection_speaks_for_many_trackers_and_its_end_frees_them_all() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let mut line = rig.tracker_client().await;
        let mut trackers: Vec<ScriptedTracker> = (0..10).map(|_| ScriptedTracker::new()).collect();
        for (number, tracker) in trackers.iter_mut().enumerate() {
            tracker.fake.name = format!("tracker_n{number}:localhost/127.0.0.1:{}", 9_000 + number);
            beat(&mut line, tracker).await;
        }
        // One moves to a connection of its own, and back to the common one.
        let newcomer = calling(rig.tracker_client().await, stolen(&trackers[3], 0));
        rig.settle().await;
        for (number, tracker) in trackers.iter_mut().enumerate() {
            assert_eq!(newcomer.is_finished(), number > 3, "what others say proves nothing");
            beat(&mut line, tracker).await;
            rig.settle().await;
        }
        refusal(newcomer.await.unwrap());
        let mut next = rig.tracker_client().await;
        drop(line);
        for tracker in &mut trackers {
            tokio::time::timeout(Duration::from_secs(3), beat(&mut next, tracker)).await.expect("held too long");
        }
    });
}

#[test]
fn who_hangs_up_while_it_is_held_is_never_served() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let (id, line, mut tracker) = map_running(&rig).await;
        let mut lie = tracker.clone();
        lie.all_are(AttemptState::Succeeded);
        let newcomer = calling(rig.tracker_client().await, stolen(&lie, tracker.fake.response_id));
        rig.settle().await;
        newcomer.abort();
        rig.settle().await;
        // Now the own connection ends, too: the tracker comes back to find everything as it was.
        drop(line);
        let mut line = rig.tracker_client().await;
        let before = tracker.fake.response_id;
        beat(&mut line, &mut tracker).await;
        assert_eq!(tracker.fake.response_id, before.wrapping_add(1));
        assert_eq!(run_state(&rig, id).await, RunState::Running);
    });
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a stop has a time limit")]
fn held_newcomers_do_not_keep_the_daemon_from_stopping() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        rig.gate.open();
        let (_line, tracker) = registered(&rig).await;
        let newcomer = calling(rig.tracker_client().await, stolen(&tracker, 0));
        rig.settle().await;
        let began = Instant::now();
        rig.stop();
        assert!(newcomer.await.unwrap().is_err());
        while !rig.has_ended() {
            tokio::task::yield_now().await;
        }
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}: calls in hand have 5 s", began.elapsed());
    });
}

/// The tracker's machine lost its power and came back under the same address, or its kernel gave the connection up.
#[test]
fn a_tracker_whose_machine_has_forgotten_the_connection_is_served_on_a_new_one() {
    let Some(network) = Network::new("a tracker whose machine has forgotten the connection") else { return };
    network.with_daemon(async |rig: InProcessDaemon| {
        let mut line = network.connect(&rig).await;
        let mut tracker = ScriptedTracker::new();
        line.beat(&mut tracker).await;
        network.forget_trackers_machine();
        drop(line);
        let mut line = network.connect(&rig).await;
        let response_id = tracker.fake.response_id;
        line.beat(&mut tracker).await;
        assert_eq!(tracker.fake.response_id, response_id.wrapping_add(1));
    });
}

/// Its address changed, and nothing answers under the old one: silent, or with an answer that got lost on its way.
#[test]
fn a_tracker_that_comes_from_another_address_is_served_when_the_old_one_does_not_answer() {
    for is_answer_lost in [false, true] {
        let Some(network) = Network::new("a tracker that comes from another address") else { return };
        network.with_daemon(async |rig: InProcessDaemon| {
            let mut client = rig.client("alice").await;
            let id = new_job_id(&mut client).await;
            let mut line = network.connect(&rig).await;
            let mut tracker = ScriptedTracker::new();
            line.beat(&mut tracker).await;
            let directory = rig.stage("alice", id, &[("mapred.map.tasks", "1"), ("mapred.reduce.tasks", "0")], 1);
            client.call(&submit(id, directory)).await.unwrap();
            if is_answer_lost {
                network.cut_answers();
                // It reaches us; what we say, a launch, does not come through.
                line.say(&tracker.heartbeat()).await;
                rig.settle().await;
            }
            network.change_trackers_address();
            let mut second = network.connect(&rig).await;
            second.beat(&mut tracker).await;
            assert_eq!(tracker.fake.attempts.len(), 1, "the launch, first or again");
            second.beat(&mut tracker).await;
        });
    }
}
