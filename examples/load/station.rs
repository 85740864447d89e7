//! A fake tracker with its connection.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::bail;
use jobtracker::client::ipc::IpcClient;
use jobtracker::wire::protocol::{Call, InterTrackerCall, Protocol, Value};
use tokio::time::Instant;

use crate::fake_tracker::{Ending, FakeTracker, Slots, Told};

/// The tracker and its connection.
#[derive(Debug)]
pub struct Station {
    tracker: FakeTracker,
    client: IpcClient,
}

// === impl Station ===

impl Station {
    /// Connects; nothing is told yet.
    pub async fn connect(jobtracker: SocketAddr, number: u32, slots: Slots, ending: Ending) -> anyhow::Result<Self> {
        let client = IpcClient::connect(jobtracker, Protocol::InterTracker, "load").await?;
        Ok(Self { tracker: FakeTracker::new(number, slots, ending), client })
    }

    /// One heartbeat; what it brought, and how long the answer took.
    pub async fn beat(&mut self) -> anyhow::Result<(Told, Duration)> {
        let request = Box::new(self.tracker.heartbeat());
        let call = Call::InterTracker(InterTrackerCall::Heartbeat { request });
        let sent = Instant::now();
        let value = self.client.call(&call).await?;
        let took = sent.elapsed();
        match value {
            Value::Heartbeat(answer) => Ok((self.tracker.obey(answer), took)),
            other => bail!("a heartbeat was answered by {other:?}"),
        }
    }
}
