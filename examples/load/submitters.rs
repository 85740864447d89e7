//! Users that submit jobs of one kind, each into a queue of its own.

use std::net::SocketAddr;

use anyhow::Context;

use crate::arguments::QueueSpread;
use crate::job_client::JobClient;
use crate::staging::{JobShape, signed};

use jobtracker::clock::wall_ms;
use jobtracker::market::Key;

/// Submits jobs round robin over queues.
#[derive(Debug)]
pub struct Submitters {
    spread: QueueSpread,
    /// One for each account, or one for all queues.
    clients: Vec<JobClient>,
    submitted: u32,
}

// === impl Submitters ===

impl Submitters {
    /// Connects as `user`, or as each account.
    pub async fn connect(jobtracker: SocketAddr, user: &str, spread: QueueSpread) -> anyhow::Result<Self> {
        let mut clients = Vec::new();
        if spread.signed {
            for queue in 0..spread.queues {
                clients.push(JobClient::connect(jobtracker, &queue_name(queue)).await?);
            }
        } else {
            clients.push(JobClient::connect(jobtracker, user).await?);
        }
        Ok(Self { spread, clients, submitted: 0 })
    }

    /// Submits so many jobs, one after the other.
    pub async fn submit(&mut self, count: u32, shape: &JobShape) -> anyhow::Result<()> {
        let accounts = self.clients.len();
        for _ in 0..count {
            let job = self.submitted;
            let mut files = shape.files();
            files.properties.extend(self.queue_properties(job)?);
            let client = usize::try_from(job)?.checked_rem(accounts).and_then(|place| self.clients.get_mut(place));
            let client = client.context("no queue to submit to")?;
            let staged = client.stage(&files).await?;
            client.submit(&staged).await?;
            self.submitted += 1;
        }
        Ok(())
    }

    fn queue_properties(&self, job: u32) -> anyhow::Result<Vec<(String, String)>> {
        let Some(queue) = job.checked_rem(self.spread.queues) else { return Ok(Vec::new()) };
        let name = queue_name(queue);
        if !self.spread.signed {
            return Ok(vec![("mapred.job.queue.name".to_owned(), name)]);
        }
        let key = Key::new(&format!("key-of-{name}"));
        Ok(signed(&name, &key, &wall_ms().to_string()))
    }
}

/// The name of a queue, and of the account that it is under the market.
fn queue_name(queue: u32) -> String {
    format!("queue-{queue}")
}
