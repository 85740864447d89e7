//! Beats of workers about containers, as the engine takes and answers them.

use core::net::IpAddr;

use crate::api::{BeatAnswer, WorkerBeat};

/// A beat, or one that waits and asks again.
#[derive(Clone, Debug)]
pub enum WorkerBeatEvent {
    Came {
        beat: Box<WorkerBeat>,
        /// The address that it came from; none where it is unknown.
        address: Option<IpAddr>,
    },
    /// A beat that was answered by [`BeatReply::Waits`] asks again.
    Waited {
        tracker: String,
        incarnation: u64,
        /// Whether it is to be answered now, with whatever there is.
        is_over: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeatReply {
    Answer(BeatAnswer),
    /// Nothing yet: it waits until [`Effect::WorkerHasNews`](crate::engine::Effect::WorkerHasNews), or until a newer beat of
    /// the worker or the end of its time.
    Waits,
    /// The worker is not believed; it should register, or is not what it says.
    Refused(BeatRefusal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BeatRefusal {
    /// No tracker of that name is registered.
    #[error("no TaskTracker of that name is registered")]
    NotRegistered,
    /// The tracker is not one of this program's workers.
    #[error("the TaskTracker of that name is no built-in worker")]
    NotBuiltIn,
    /// The beat comes from another address than the tracker's heartbeats.
    #[error("the TaskTracker of that name has another address")]
    WrongAddress,
    /// The tracker's heartbeats carry the digest of another secret.
    #[error("the secret is not that of the TaskTracker of that name")]
    WrongSecret,
    /// A newer process beats under that name, or none has sent a whole list of its containers.
    #[error("the first beat of a worker lists all that it has")]
    NoFirstBeat,
    /// Containers are switched off (`jobtracker.containers.enabled`).
    #[error("containers are switched off")]
    SwitchedOff,
}
