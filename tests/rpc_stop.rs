//! A daemon that is told to stop answers what is in hand, and nothing else.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod rpc_rig;

use jobtracker::web::Owner as _;
use jobtracker::wire::protocol::{JobSubmissionCall, Value};
use tokio::net::TcpStream;

use rpc_rig::cluster::{IntoCall, new_job_id, submit};
use rpc_rig::{Rig, Wanted, with_daemon};

#[test]
fn what_is_in_hand_is_answered_and_nobody_else_let_in() {
    with_daemon(Wanted::default(), async |rig: Rig| {
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
