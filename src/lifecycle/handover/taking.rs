//! The new process: proves that it could go on, and takes over.

use std::collections::BTreeSet;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use crate::channel::Channel;
use crate::ipc::{Carried, CarriedTracker, Introduction};
use crate::model::JobId;
use crate::wire::protocol::Protocol;

use super::message::{
    ConnectionEntry, FromSuccessor, IntroductionEntry, Inventory, Offer, Port, ToSuccessor, TrackerEntry, VERSION,
};

/// The running daemon that this process goes on for.
#[derive(Debug)]
pub struct Predecessor {
    channel: Channel,
    offer: Offer,
}

/// What a predecessor leaves.
#[derive(Debug)]
pub(in crate::lifecycle) struct Inheritance {
    pub(in crate::lifecycle) rpc: TcpListener,
    pub(in crate::lifecycle) http: TcpListener,
    pub(in crate::lifecycle) control: Option<UnixListener>,
    pub(in crate::lifecycle) trackers: BTreeSet<Arc<str>>,
    pub(in crate::lifecycle) open_ids: Vec<(JobId, Arc<str>)>,
    pub(in crate::lifecycle) connections: Vec<Carried>,
}

// === impl Predecessor ===

impl Predecessor {
    /// The one at the other end of this process's standard input.
    ///
    /// # Errors
    /// Nobody is there, or one that hands over in another way.
    pub fn of_stdin() -> io::Result<Self> {
        let channel = Channel::of_stdin()?;
        // The version is told first of all; what else a later one tells may not be understood.
        let offer: serde_json::Value = channel.hear(None)?;
        let theirs = offer.get("version").cloned().unwrap_or_default();
        if theirs != VERSION {
            let why = format!(
                "the running daemon hands over by version {theirs}, this program by {VERSION}: restart it plainly"
            );
            let _ = channel.tell(&FromSuccessor::Refused { why: why.clone() });
            return Err(io::Error::other(why));
        }
        Ok(Self { channel, offer: serde_json::from_value(offer)? })
    }

    /// What there is to take.
    pub(in crate::lifecycle) fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Says why this process does not go on.
    pub fn refuse(&self, why: &str) {
        // Who has gone needs no reason.
        let _ = self.channel.tell(&FromSuccessor::Refused { why: why.to_owned() });
    }

    /// Says that this process could go on, and takes what is handed over then.
    pub(in crate::lifecycle) fn take(&self) -> io::Result<Inheritance> {
        let program_version = env!("CARGO_PKG_VERSION").to_owned();
        self.channel.tell(&FromSuccessor::Ready { version: VERSION, program_version })?;
        let Inventory { has_control, trackers, open_ids, connections } = self.channel.hear(None)?;
        let mut said = Vec::with_capacity(connections.len());
        for entry in connections {
            let unread = self.channel.hear_bytes(entry.unread_bytes)?;
            let unsent = self.channel.hear_bytes(entry.unsent_bytes)?;
            said.push((entry, unread, unsent));
        }
        let fixed = 2 + usize::from(has_control);
        let mut descriptors = self.channel.take(fixed + said.len())?.into_iter();
        let mut next = || descriptors.next().ok_or(io::ErrorKind::UnexpectedEof);
        let (rpc, http) = (next()?.into(), next()?.into());
        let control = has_control.then(&mut next).transpose()?.map(UnixListener::from);
        let connections = said.into_iter().zip(descriptors).map(|((entry, unread, unsent), socket)| {
            let ConnectionEntry { introduction, has_beaten, trackers, .. } = entry;
            let introduction = match introduction {
                IntroductionEntry::Opening(stage) => Introduction::Opening(stage),
                IntroductionEntry::Done { protocol, user } => Introduction::Done { protocol, user: user.into() },
            };
            let names_trackers_protocol = introduction.protocol() == Some(Protocol::InterTracker.class_name());
            let trackers = trackers
                .into_iter()
                .map(|TrackerEntry { name, is_sure }| CarriedTracker { name: name.into(), is_sure });
            Carried {
                number: 0,
                socket,
                introduction,
                has_beaten: has_beaten.unwrap_or(names_trackers_protocol),
                trackers: trackers.collect(),
                unread,
                unsent,
            }
        });
        let trackers = trackers.into_iter().map(Arc::from).collect();
        let open_ids = open_ids.into_iter().filter_map(|(id, user)| Some((id.parse().ok()?, user.into())));
        let (open_ids, connections) = (open_ids.collect(), connections.collect());
        Ok(Inheritance { rpc, http, control, trackers, open_ids, connections })
    }

    /// Says that everything is here, and waits for the word to serve. A predecessor that dies now has said it: it dies
    /// with the store closed.
    pub(in crate::lifecycle) fn restored(&self) {
        let _ = self.channel.tell(&FromSuccessor::Restored);
        let _ = self.channel.hear::<ToSuccessor>(None);
        let _ = self.channel.tell(&FromSuccessor::Serving);
    }

    /// Blocks until the supervisor knows of this process: the predecessor has told it, or is gone.
    pub(in crate::lifecycle) fn await_farewell(self) {
        let _ = self.channel.hear::<ToSuccessor>(None);
    }
}

// === impl Offer ===

impl Offer {
    /// An offer by this program.
    pub(in crate::lifecycle) fn new(state_dir: std::path::PathBuf, rpc: Port, http: Port) -> Self {
        Self { version: VERSION, state_dir, rpc, http }
    }
}
