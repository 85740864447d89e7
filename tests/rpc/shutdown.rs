//! A daemon that is stopped answers the calls in progress, and nothing else.

use std::time::Duration;

use tokio::net::TcpStream;

use crate::daemon::clients::{IntoCall, market_request, new_job_id, submit};
use crate::daemon::in_process::{DaemonOptions, InProcessDaemon, with_daemon};

use jobtracker::web::Owner as _;
use jobtracker::wire::protocol::{JobSubmissionCall, Value};

#[test]
fn what_is_in_hand_is_answered_and_nobody_else_let_in() {
    with_daemon(DaemonOptions::default(), async |rig: InProcessDaemon| {
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let directory = rig.stage("alice", id, &[("mapred.map.tasks", "1")], 1);
        let submitting = rig.ask(client, submit(id, directory)).await;
        let mut idle = rig.client("bob").await;
        idle.call(&JobSubmissionCall::GetSystemDir.into_call()).await.unwrap();
        rig.stop();
        while TcpStream::connect(rig.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        assert!(!rig.handle.health().is_ready);
        assert!(!submitting.is_answered(), "its facts are not durable");
        rig.gate.open();
        let accepted = submitting.answer().await;
        assert!(matches!(accepted, Value::JobStatus(Some(status)) if status.id == id));
        // The owner is gone for other threads, too.
        while rig.handle.health().is_alive {
            tokio::task::yield_now().await;
        }
        assert!(rig.handle.overview().await.is_err());
    });
}

#[test]
fn changes_of_the_market_in_hand_are_answered_too() {
    let wanted = DaemonOptions { acl: Some("root admin k\n"), budgets: "alice 10 1\n", ..DaemonOptions::default() };
    with_daemon(wanted, async |rig: InProcessDaemon| {
        rig.all_durable().await;
        let handle = rig.handle.clone();
        let changing = tokio::task::spawn_local(async move { handle.market(market_request("addQueue=bob", 0)).await });
        rig.settle().await;
        rig.stop();
        // Until the market is closed to others.
        while rig.handle.health().is_alive {
            tokio::task::yield_now().await;
        }
        assert!(!changing.is_finished(), "its facts are not durable");
        assert!(!rig.has_ended(), "who has asked would wait in vain for what this thread no longer does");
        assert!(rig.handle.market(market_request("price", 1)).await.is_err(), "nothing more is taken");
        rig.gate.open();
        changing.await.unwrap().expect("it was in hand").expect("it was done");
    });
}

#[test]
fn what_the_store_does_not_take_is_waited_for_four_seconds() {
    let wanted = DaemonOptions { skipped: Duration::from_secs(5), ..DaemonOptions::default() };
    with_daemon(wanted, async |rig: InProcessDaemon| {
        let mut client = rig.client("alice").await;
        let id = new_job_id(&mut client).await;
        let directory = rig.stage("alice", id, &[("mapred.map.tasks", "1")], 1);
        let submitting = rig.ask(client, submit(id, directory)).await;
        rig.stop();
        while TcpStream::connect(rig.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(3)).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert!(!rig.has_ended(), "a disk that is slow may yet take them");
        tokio::time::advance(Duration::from_secs(1)).await;
        tokio::time::resume();
        while !rig.has_ended() {
            tokio::task::yield_now().await;
        }
        assert!(!submitting.is_answered(), "what is not durable is not sent");
    });
}
