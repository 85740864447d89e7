//! The daemons of a demo, each on its own threads: a JobTracker and two workers, run as by `serve` and `tasktracker`.

use std::thread::JoinHandle;

use tokio::sync::{mpsc, watch};

use crate::config::Settings;
use crate::lifecycle::{ServeOptions, Serving, serve};
use crate::supervisor::process::THIS_PROGRAM;
use crate::worker::{TaskTrackerSettings, run as run_worker};

use super::error::DemoError;
use super::scratch::{Scratch, WORKERS};

const JOBTRACKER: &str = "jobtracker";

enum DaemonEvent {
    Serving(Serving),
    WorkerRuns,
    Ended { daemon: String, why: String },
}

struct RunningDaemon {
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

pub(super) struct DemoCluster {
    /// In the order of their start.
    running: Vec<RunningDaemon>,
    events: mpsc::UnboundedSender<DaemonEvent>,
    received: mpsc::UnboundedReceiver<DaemonEvent>,
}

impl DemoCluster {
    pub(super) fn new() -> Self {
        let (events, received) = mpsc::unbounded_channel();
        Self { running: Vec::new(), events, received }
    }

    /// Starts the JobTracker and the workers; returns once all of them run.
    pub(super) async fn start(&mut self, scratch: &Scratch) -> Result<Serving, DemoError> {
        let (settings, warnings) = Settings::load(&scratch.jobtracker_options())?;
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        let events = self.events.clone();
        self.run(JOBTRACKER, move |stop| {
            let options = ServeOptions { stop: Some(stop), ..ServeOptions::default() };
            let started = |serving: &Serving| drop(events.send(DaemonEvent::Serving(serving.clone())));
            serve(&settings, options, started).map_err(|error| error.to_string())
        })?;
        let serving = loop {
            match self.next().await? {
                DaemonEvent::Serving(serving) => break serving,
                DaemonEvent::WorkerRuns | DaemonEvent::Ended { .. } => {}
            }
        };
        for worker in WORKERS {
            let options = scratch.worker_options(worker, &serving.rpc.to_string());
            let settings = TaskTrackerSettings::read(options.configuration()?, false)?;
            let (environment, events) = (scratch.task_environment(), self.events.clone());
            self.run(worker, move |mut stop| {
                let stopped = async move { drop(stop.wait_for(|stop| *stop).await) };
                let started = |_: &_| drop(events.send(DaemonEvent::WorkerRuns));
                run_worker(settings, environment, Some(THIS_PROGRAM.into()), stopped, started)
                    .map_err(|error| error.to_string())
            })?;
        }
        let mut working = 0;
        while working < WORKERS.len() {
            working += usize::from(matches!(self.next().await?, DaemonEvent::WorkerRuns));
        }
        Ok(serving)
    }

    pub(super) async fn wait_for_failure(&mut self) -> DemoError {
        loop {
            if let Err(error) = self.next().await {
                return error;
            }
        }
    }

    /// Stops the workers, then the JobTracker; afterwards no process of a task is left.
    pub(super) fn stop(&mut self) {
        let workers = self.running.split_off(self.running.len().min(1));
        for ending in [workers, std::mem::take(&mut self.running)] {
            for daemon in &ending {
                let _ = daemon.stop.send(true);
            }
            for daemon in ending {
                // A panic was reported when it happened.
                let _ = daemon.thread.join();
            }
        }
    }

    async fn next(&mut self) -> Result<DaemonEvent, DemoError> {
        match self.received.recv().await {
            Some(DaemonEvent::Ended { daemon, why }) => Err(DemoError::Daemon { daemon, why }),
            Some(event) => Ok(event),
            // Never: `events` is a sender too.
            None => std::future::pending().await,
        }
    }

    fn run(
        &mut self,
        daemon: &str,
        work: impl FnOnce(watch::Receiver<bool>) -> Result<(), String> + Send + 'static,
    ) -> Result<(), DemoError> {
        let (stop, stopped) = watch::channel(false);
        let (name, events) = (daemon.to_owned(), self.events.clone());
        let thread = std::thread::Builder::new().name(daemon.to_owned()).spawn(move || {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(stopped)));
            let why = match ended {
                Ok(Ok(())) => "it was not stopped".to_owned(),
                Ok(Err(error)) => error,
                Err(_) => "it panicked".to_owned(),
            };
            // The receiver is gone after the demo.
            let _ = events.send(DaemonEvent::Ended { daemon: name, why });
        });
        self.running.push(RunningDaemon { stop, thread: thread.map_err(DemoError::system)? });
        Ok(())
    }
}

impl Drop for DemoCluster {
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
    async fn a_daemon_that_ends_by_itself_is_named_with_its_error() {
        for (work, text) in [
            ((|_| Err("no port".to_owned())) as fn(_) -> _, "worker-1 has ended: no port"),
            (|_| Ok(()), "worker-1 has ended: it was not stopped"),
            (|_| panic!("a bug"), "worker-1 has ended: it panicked"),
        ] {
            let mut cluster = DemoCluster::new();
            cluster.run(JOBTRACKER, waits).unwrap();
            cluster.run(WORKERS[0], work).unwrap();
            assert_eq!(cluster.wait_for_failure().await.to_string(), text);
            // Stops the others, or this test hangs.
            drop(cluster);
        }
    }
}
