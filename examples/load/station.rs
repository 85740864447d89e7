//! A fake tracker with its connection.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{bail, ensure};
use tokio::time::Instant;

use crate::steady_tracker::{Ending, Slots, SteadyTracker, Told};

use jobtracker::ipc::client::IpcClient;
use jobtracker::wire::Action;
use jobtracker::wire::protocol::{Call, InterTrackerCall, Protocol, Value};

/// The tracker and its connection.
#[derive(Debug)]
pub struct Station {
    tracker: SteadyTracker,
    client: IpcClient,
}

// === impl Station ===

impl Station {
    /// Connects; nothing is told yet.
    pub async fn connect(jobtracker: SocketAddr, number: u32, slots: Slots, ending: Ending) -> anyhow::Result<Self> {
        let client = IpcClient::connect(jobtracker, Protocol::InterTracker, "load").await?;
        Ok(Self { tracker: SteadyTracker::new(number, slots, ending), client })
    }

    /// One heartbeat; what it brought, and how long the answer took. An answer out of turn is an error.
    pub async fn beat(&mut self) -> anyhow::Result<(Told, Duration)> {
        let request = Box::new(self.tracker.heartbeat());
        let next_id = request.response_id.wrapping_add(1);
        let call = Call::InterTracker(InterTrackerCall::Heartbeat { request });
        let sent = Instant::now();
        let value = self.client.call(&call).await?;
        let took = sent.elapsed();
        match value {
            Value::Heartbeat(answer) => {
                // Neither a repeated answer nor a tracker thrown out is the load that was meant.
                ensure!(answer.response_id == next_id, "answer {} instead of {next_id}", answer.response_id);
                ensure!(!answer.actions.contains(&Action::ReinitTracker), "a tracker was told to register anew");
                Ok((self.tracker.obey(&answer), took))
            }
            other => bail!("a heartbeat was answered by {other:?}"),
        }
    }
}
