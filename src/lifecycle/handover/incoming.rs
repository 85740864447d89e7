//! The new process: checks that it can take over, then does.

use std::io;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use crate::channel::Channel;
use crate::ipc::{InheritedConnection, InheritedTracker, Introduction};
use crate::wire::protocol::Protocol;

use super::message::{
    ConnectionEntry, FromSuccessor, HandoverState, IntroductionEntry, Inventory, Offer, Port, ToSuccessor,
    TrackerEntry, VERSION,
};

/// The running daemon that this process replaces.
#[derive(Debug)]
pub(crate) struct Predecessor {
    channel: Channel,
    offer: Offer,
}

impl Predecessor {
    pub(crate) fn of_stdin() -> io::Result<Self> {
        let channel = Channel::of_stdin()?;
        // The version first: other members of a later version may not parse.
        let offer: serde_json::Value = channel.receive(None)?;
        let theirs = offer.get("version").cloned().unwrap_or_default();
        if theirs != VERSION {
            let why = format!(
                "the running daemon speaks hand-over version {theirs}, this program {VERSION}: restart the daemon instead"
            );
            let _ = channel.send(&FromSuccessor::Refused { why: why.clone() });
            return Err(io::Error::other(why));
        }
        Ok(Self { channel, offer: serde_json::from_value(offer)? })
    }

    pub(crate) fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Its process, as the kernel says who made the channel.
    pub(crate) fn process_id(&self) -> Option<u32> {
        self.channel.maker()
    }

    pub(crate) fn refuse(&self, why: &str) {
        // A predecessor that is gone needs no reason.
        let _ = self.channel.send(&FromSuccessor::Refused { why: why.to_owned() });
    }

    /// Reports that this process is ready, and receives the state.
    pub(crate) fn receive_state(&self) -> io::Result<HandoverState> {
        let program_version = env!("CARGO_PKG_VERSION").to_owned();
        self.channel.send(&FromSuccessor::Ready { version: VERSION, program_version })?;
        let Inventory { has_control, trackers, open_ids, connections } = self.channel.receive(None)?;
        let mut entries = Vec::with_capacity(connections.len());
        for entry in connections {
            let unread = self.channel.receive_bytes(entry.unread_bytes)?;
            let unsent = self.channel.receive_bytes(entry.unsent_bytes)?;
            entries.push((entry, unread, unsent));
        }
        let fixed = 2 + usize::from(has_control);
        let mut descriptors = self.channel.receive_descriptors(fixed + entries.len())?.into_iter();
        let mut next = || descriptors.next().ok_or(io::ErrorKind::UnexpectedEof);
        let (rpc, http) = (next()?.into(), next()?.into());
        let control = has_control.then(&mut next).transpose()?.map(UnixListener::from);
        let connections = entries.into_iter().zip(descriptors).map(|((entry, unread, unsent), socket)| {
            let ConnectionEntry { introduction, has_beaten, trackers, .. } = entry;
            let introduction = match introduction {
                IntroductionEntry::Opening(stage) => Introduction::Opening(stage),
                IntroductionEntry::Done { protocol, user, real_user } => {
                    Introduction::Done { protocol, user: user.into(), real_user: real_user.map(Into::into) }
                }
            };
            let names_trackers_protocol = introduction.protocol() == Some(Protocol::InterTracker.class_name());
            let trackers = trackers
                .into_iter()
                .map(|TrackerEntry { name, is_sure }| InheritedTracker { name: name.into(), is_sure });
            InheritedConnection {
                number: 0,
                socket,
                introduction,
                has_sent_heartbeat: has_beaten.unwrap_or(names_trackers_protocol),
                trackers: trackers.collect(),
                unread,
                unsent,
            }
        });
        let trackers = trackers.into_iter().map(Arc::from).collect();
        let open_ids = open_ids.into_iter().filter_map(|(id, user)| Some((id.parse().ok()?, user.into())));
        let (open_ids, connections) = (open_ids.collect(), connections.collect());
        Ok(HandoverState { rpc, http, control, trackers, open_ids, connections })
    }

    /// Reports the state as loaded, and waits for permission to serve. If the predecessor dies here, its store is
    /// closed, so serving is safe.
    pub(crate) fn await_permission(&self) {
        let _ = self.channel.send(&FromSuccessor::Restored);
        let _ = self.channel.receive::<ToSuccessor>(None);
    }

    pub(crate) fn report_serving(&self) {
        let _ = self.channel.send(&FromSuccessor::Serving);
    }

    /// Blocks until the predecessor has reported this process to the service manager, or is gone.
    pub(crate) fn await_acknowledgement(self) {
        let _ = self.channel.receive::<ToSuccessor>(None);
    }
}

impl Offer {
    /// An offer of this program's version.
    pub(crate) fn new(state_dir: std::path::PathBuf, rpc: Port, http: Port) -> Self {
        Self { version: VERSION, state_dir, rpc, http }
    }
}
