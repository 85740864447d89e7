//! The daemons of a demo, each on threads of its own: a JobTracker and two workers, as `serve` and `tasktracker` run them.

use std::thread::JoinHandle;

use tokio::sync::{mpsc, watch};

use crate::config::Settings;
use crate::lifecycle::{Launch, Serving, serve};
use crate::supervisor::process::THIS_PROGRAM;
use crate::worker::{TaskTrackerSettings, run as run_worker};

use super::error::DemoError;
use super::scratch::{Scratch, WORKERS};

const JOBTRACKER: &str = "jobtracker";

/// What a daemon's thread tells.
enum Told {
    Serving(Serving),
    Works,
    Ended { daemon: String, why: String },
}

/// A daemon that runs.
struct Running {
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

/// All that runs.
pub(super) struct Cluster {
    /// In the order of their start.
    running: Vec<Running>,
    tell: mpsc::UnboundedSender<Told>,
    told: mpsc::UnboundedReceiver<Told>,
}

// === impl Cluster ===

impl Cluster {
    /// Nothing runs yet.
    pub(super) fn new() -> Self {
        let (tell, told) = mpsc::unbounded_channel();
        Self { running: Vec::new(), tell, told }
    }

    /// Starts all of it, and tells where the JobTracker is once everything runs.
    pub(super) async fn start(&mut self, scratch: &Scratch) -> Result<Serving, DemoError> {
        let (settings, warnings) = Settings::load(&scratch.jobtracker_options())?;
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        let tell = self.tell.clone();
        self.run(JOBTRACKER, move |stop| {
            let launch = Launch { stop: Some(stop), ..Launch::default() };
            // It is heard as long as anybody waits for it.
            let started = |serving: &Serving| drop(tell.send(Told::Serving(serving.clone())));
            serve(&settings, launch, started).map_err(|error| error.to_string())
        })?;
        let serving = loop {
            match self.next().await? {
                Told::Serving(serving) => break serving,
                Told::Works | Told::Ended { .. } => {}
            }
        };
        for worker in WORKERS {
            let options = scratch.worker_options(worker, &serving.rpc.to_string());
            let settings = TaskTrackerSettings::read(options.configuration()?)?;
            let (environment, tell) = (scratch.task_environment(), self.tell.clone());
            self.run(worker, move |mut stop| {
                let stopped = async move { drop(stop.wait_for(|stop| *stop).await) };
                let started = |_: &_| drop(tell.send(Told::Works));
                run_worker(settings, environment, Some(THIS_PROGRAM.into()), stopped, started)
                    .map_err(|error| error.to_string())
            })?;
        }
        let mut working = 0;
        while working < WORKERS.len() {
            working += usize::from(matches!(self.next().await?, Told::Works));
        }
        Ok(serving)
    }

    /// Completes when a daemon has ended that should not have.
    pub(super) async fn broken(&mut self) -> DemoError {
        loop {
            if let Err(error) = self.next().await {
                return error;
            }
        }
    }

    /// Ends the workers, then the JobTracker; when this returns no process of a task is left.
    pub(super) fn stop(&mut self) {
        let workers = self.running.split_off(self.running.len().min(1));
        for ending in [workers, std::mem::take(&mut self.running)] {
            for daemon in &ending {
                let _ = daemon.stop.send(true);
            }
            for daemon in ending {
                // Its own panic was told when it happened.
                let _ = daemon.thread.join();
            }
        }
    }

    async fn next(&mut self) -> Result<Told, DemoError> {
        match self.told.recv().await {
            Some(Told::Ended { daemon, why }) => Err(DemoError::Daemon { daemon, why }),
            Some(told) => Ok(told),
            // We hold a sender ourselves.
            None => std::future::pending().await,
        }
    }

    fn run(
        &mut self,
        daemon: &str,
        work: impl FnOnce(watch::Receiver<bool>) -> Result<(), String> + Send + 'static,
    ) -> Result<(), DemoError> {
        let (stop, stopped) = watch::channel(false);
        let (name, tell) = (daemon.to_owned(), self.tell.clone());
        let thread = std::thread::Builder::new().name(daemon.to_owned()).spawn(move || {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(stopped)));
            let why = match ended {
                Ok(Ok(())) => "nobody told it to".to_owned(),
                Ok(Err(error)) => error,
                Err(_) => "it panicked".to_owned(),
            };
            // Nobody hears it any more when all is over.
            let _ = tell.send(Told::Ended { daemon: name, why });
        });
        self.running.push(Running { stop, thread: thread.map_err(DemoError::system)? });
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(stop: watch::Receiver<bool>) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut stop = stop;
        runtime.block_on(async { stop.wait_for(|stop| *stop).await.map(drop) }).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_daemon_that_ends_by_itself_is_named_with_its_words() {
        for (work, told) in [
            ((|_| Err("no port".to_owned())) as fn(_) -> _, "worker-1 has ended: no port"),
            (|_| Ok(()), "worker-1 has ended: nobody told it to"),
            (|_| panic!("a bug"), "worker-1 has ended: it panicked"),
        ] {
            let mut cluster = Cluster::new();
            cluster.run(JOBTRACKER, waits).unwrap();
            cluster.run(WORKERS[0], work).unwrap();
            assert_eq!(cluster.broken().await.to_string(), told);
            // The others end now, or this test does not.
            drop(cluster);
        }
    }
}
