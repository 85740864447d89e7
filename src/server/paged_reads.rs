//! Pages of answers over HTTP that grow with a job or the cluster, and where else than in the owner's memory jobs are read.

use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinSet;

use crate::engine::{Caller, Event, Read, Refusal, Reply, TaskCursor, TaskPage, WorkerPage};
use crate::mapreduce::StoredJob;
use crate::market::Answer;
use crate::model::JobId;
use crate::store::FinishedJobReader;
use crate::web::{ClusterPart, MarketReply};

use super::owner::Owner;
use super::submission::MapInputs;

/// Concurrent reads of one kind.
const READS_AT_ONE_TIME: usize = 2;

/// Where else than in the owner's memory jobs are read.
#[derive(Clone, Debug)]
pub(crate) struct JobSources {
    finished: Option<FinishedJobReader>,
    pub(super) inputs: Option<MapInputs>,
    permits: Arc<Semaphore>,
}

/// The answer to a request for a page of attempts.
type TaskReply = Result<Option<TaskPage>, Refusal>;

/// A request for a page, or for a change of where work starts.
#[derive(Debug)]
pub(super) enum PagedRequest {
    Tasks {
        job: JobId,
        is_running_only: bool,
        viewer: Option<Caller>,
        from: TaskCursor,
        reply: oneshot::Sender<TaskReply>,
    },
    Workers {
        after: Option<Arc<str>>,
        reply: oneshot::Sender<WorkerPage>,
    },
    Starts {
        part: ClusterPart,
        is_stopped: bool,
        caller: Caller,
        reply: oneshot::Sender<Result<MarketReply, Refusal>>,
    },
}

impl Default for JobSources {
    fn default() -> Self {
        Self { finished: None, inputs: None, permits: Arc::new(Semaphore::new(READS_AT_ONE_TIME)) }
    }
}

impl JobSources {
    pub(crate) fn set_finished(&mut self, finished: FinishedJobReader) {
        self.finished = Some(finished);
    }

    /// Adds the files of submitted jobs.
    pub(crate) fn set_inputs(&mut self, inputs: MapInputs) {
        self.inputs = Some(inputs);
    }

    /// The database of finished jobs, where there is one.
    pub(super) fn reader(&self) -> Option<FinishedJobReader> {
        self.finished.clone()
    }

    /// Leave to read, as long as it is kept.
    pub(super) async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        self.permits.clone().acquire_owned().await.ok()
    }

    /// A job of before a restart; none if it cannot be read.
    pub(super) async fn finished(&self, job: JobId) -> Option<StoredJob> {
        let reader = self.finished.clone()?;
        let permit = self.permit().await?;
        let read = tokio::task::spawn_blocking(move || {
            // Held until the read ends, even if no caller waits any more.
            let _permit = permit;
            reader.job(job)
        });
        match read.await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                tracing::warn!("cannot read the attempts of {job}: {error}");
                None
            }
            Err(_) => None,
        }
    }
}

impl PagedRequest {
    /// Answers once what the answer shows is durable.
    pub(super) fn answer(self, owner: &Rc<Owner>, in_hand: &mut JoinSet<()>) {
        match self {
            Self::Tasks { job, is_running_only, viewer, from, reply } => {
                let read = owner.with_engine(|engine| engine.task_page(job, is_running_only, viewer.as_ref(), from));
                match read {
                    Err(refusal) => drop(reply.send(Err(refusal))),
                    Ok(Read { value, wait_for }) => {
                        let owner = owner.clone();
                        in_hand.spawn_local(async move {
                            if owner.wait_durable(wait_for).await.is_ok() {
                                // The requester may have left.
                                let _ = reply.send(Ok(value));
                            }
                        });
                    }
                }
            }
            Self::Workers { after, reply } => {
                let now = owner.clock().now();
                let Read { value, wait_for } = owner.with_engine(|engine| engine.worker_page(after.as_deref(), now));
                let owner = owner.clone();
                in_hand.spawn_local(async move {
                    if owner.wait_durable(wait_for).await.is_ok() {
                        let _ = reply.send(value);
                    }
                });
            }
            Self::Starts { part, is_stopped: is_on, caller, reply } => {
                let (answer, wait_for) = owner.step(match part {
                    ClusterPart::Worker(worker) => Event::DrainWorker { worker, is_on, caller },
                    ClusterPart::Work(target) => Event::Pause { target, is_on, caller },
                });
                let answer = match answer {
                    Reply::Market(answer) => Ok(answer),
                    Reply::Done => Ok(Ok(Answer::Frame)),
                    Reply::Refused(refusal) => Err(refusal),
                    // Without a reply the request is refused.
                    _ => return,
                };
                let owner = owner.clone();
                in_hand.spawn_local(async move {
                    if owner.wait_durable(wait_for).await.is_ok() {
                        let _ = reply.send(answer);
                    }
                });
            }
        }
    }
}
