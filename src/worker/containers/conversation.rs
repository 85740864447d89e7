//! The beats of one connection: what each says, and what of it was answered.

use std::collections::BTreeMap;

use crate::api::{BeatContainer, BeatContainerState, ContainerLaunch, ContextId, DeclaredBag, SentContext, WorkerBeat};
use crate::model::{Capability, LaunchContext};
use crate::wire::limits::{BEAT_BYTES, shorten};

use super::table::TrackedContainers;

#[derive(Clone, Debug)]
pub(crate) struct BeatIdentity {
    /// The tracker's name, as in its heartbeats.
    pub(crate) tracker: String,
    /// A random number of this process.
    pub(crate) incarnation: u64,
    /// Random, 64 hex digits.
    pub(crate) secret: String,
    pub(crate) declared: DeclaredBag,
}

#[derive(Debug)]
struct SentBeat {
    number: u64,
    /// The last change that it, or one before, has reported.
    change: u64,
}

/// What there is to say that no beat has said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BeatNews {
    Nothing,
    /// That containers have come and run: their ends often follow at once.
    Started,
    /// An end, which makes room; or the worker offers more or less.
    Urgent,
}

/// The beats of one connection.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    number: u64,
    sent: BTreeMap<i32, SentBeat>,
    /// The latest beat that was answered.
    answered: u64,
    /// The last change whose report was answered.
    answered_change: u64,
    /// The last change that was reported.
    sent_change: u64,
    /// What the last beat said that the worker offers.
    sent_offer: Option<ContainerOffer>,
}

/// What the worker offers to containers now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContainerOffer {
    /// Memory and cores, shared with its slots.
    pub(crate) capability: Capability,
    /// Why it takes no container; none: it does.
    pub(crate) unhealthy: Option<String>,
}

/// Bytes of all texts about ends in one beat: a beat beyond the daemon's limit would be refused again and again. A control
/// character of a text takes six in JSON.
const MAX_TEXT_BYTES: usize = BEAT_BYTES / 16;

fn text_of(container: &mut BeatContainer) -> Option<&mut String> {
    match &mut container.state {
        BeatContainerState::Ended(end) => Some(&mut end.diagnostics),
        BeatContainerState::Launching | BeatContainerState::Running { .. } => None,
    }
}

/// Cuts texts about ends where there are so many that a beat would be too long.
fn with_short_texts(mut containers: Vec<BeatContainer>) -> Vec<BeatContainer> {
    let mut texts: Vec<&mut String> = containers.iter_mut().filter_map(text_of).collect();
    let (count, bytes) = (texts.len(), texts.iter().map(|text| text.len()).sum::<usize>());
    if bytes > MAX_TEXT_BYTES {
        texts.iter_mut().for_each(|text| shorten(text, MAX_TEXT_BYTES / count.max(1)));
    }
    containers
}

impl Conversation {
    /// What there is to say that no beat has said.
    pub(crate) fn news(&self, table: &TrackedContainers, offer: &ContainerOffer) -> BeatNews {
        let is_urgent = table.last_end() > self.sent_change || self.sent_offer.as_ref() != Some(offer);
        match table.last_change() > self.sent_change {
            _ if self.number == 0 || is_urgent => BeatNews::Urgent,
            true => BeatNews::Started,
            false => BeatNews::Nothing,
        }
    }

    /// The next beat: all there is in the first, then what no answered beat has said.
    pub(crate) fn next_beat(
        &mut self,
        identity: &BeatIdentity,
        table: &TrackedContainers,
        contexts: &LaunchContexts,
        offer: ContainerOffer,
    ) -> WorkerBeat {
        let is_first = self.number == 0;
        let since = if is_first { 0 } else { self.answered_change };
        self.number += 1;
        self.sent_change = table.last_change();
        let is_declared = self.sent_offer.as_ref().is_some_and(|sent| sent.capability == offer.capability);
        let declared = DeclaredBag { capability: offer.capability, slot: identity.declared.slot };
        self.sent_offer = Some(offer.clone());
        WorkerBeat {
            tracker: identity.tracker.clone(),
            incarnation: identity.incarnation,
            secret: identity.secret.clone(),
            number: self.number,
            declared: (!is_declared).then_some(declared),
            is_full: is_first,
            containers: with_short_texts(table.to_report(since)),
            unhealthy: offer.unhealthy,
            usage: table.used_since(since),
            attempt_usage: table.attempts_since(since),
            keeps_contexts: true,
            contexts: if is_first { contexts.list() } else { Vec::new() },
        }
    }

    /// Records the call in which the last beat was sent.
    pub(crate) fn on_sent(&mut self, call: i32) {
        self.sent.insert(call, SentBeat { number: self.number, change: self.sent_change });
    }

    /// Records the answer to a call; `false`: it is older than one that was answered, so that what it says may be outdated.
    pub(crate) fn on_answered(&mut self, call: i32) -> bool {
        let Some(sent) = self.sent.remove(&call) else { return false };
        self.answered_change = self.answered_change.max(sent.change);
        let is_latest = sent.number > self.answered;
        self.answered = self.answered.max(sent.number);
        is_latest
    }
}

#[derive(Debug, Default)]
pub(crate) struct LaunchContexts {
    kept: BTreeMap<ContextId, LaunchContext>,
}

impl LaunchContexts {
    pub(crate) fn keep(&mut self, contexts: Vec<SentContext>) {
        self.kept.extend(contexts.into_iter().map(|sent| (sent.id, sent.context)));
    }

    pub(crate) fn forget(&mut self, contexts: &[ContextId]) {
        contexts.iter().for_each(|id| drop(self.kept.remove(id)));
    }

    /// A launch in its context. Errors: the context, if it is not here.
    pub(crate) fn resolve(&self, launch: ContainerLaunch<u64>) -> Result<ContainerLaunch, ContextId> {
        let id = ContextId { application: launch.id.application, number: launch.context };
        let context = self.kept.get(&id).ok_or(id)?.clone();
        Ok(launch.in_context(context))
    }

    pub(crate) fn list(&self) -> Vec<ContextId> {
        self.kept.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::control::ContainerControl;
    use super::super::table::{ContainerEvent, LaunchedContainer};
    use super::*;
    use crate::api::ContainerEnd;
    use crate::model::{ApplicationId, ContainerExit, ContainerId};
    use crate::wire::limits::BEAT_CONTAINERS;

    fn identity() -> BeatIdentity {
        let declared = DeclaredBag { capability: Capability::new(8_192, 8), slot: Capability::new(1_024, 1) };
        let (tracker, secret) = ("tracker_h:localhost/127.0.0.1:1".to_owned(), "00".repeat(32));
        BeatIdentity { tracker, incarnation: 7, secret, declared }
    }

    fn launched(id: ContainerId) -> LaunchedContainer {
        LaunchedContainer { id, capability: Capability::new(512, 1), wave: 0, grace: Duration::ZERO }
    }

    /// After a long silence of the daemon: each end has 4 kB to say.
    #[test]
    fn the_ends_of_the_most_containers_of_a_beat_are_one_that_is_taken() {
        let end = |number: u64| BeatContainer {
            id: ApplicationId::new(1_700_000_000_000, 1).container(1, number),
            state: BeatContainerState::Ended(ContainerEnd {
                exit: ContainerExit(1),
                diagnostics: "\u{1}".repeat(4 << 10),
                started_ms: Some(1_700_000_000_000),
                ended_ms: 1_700_000_000_000,
                peak_memory_mb: 1_000,
                cpu_ms: 1_000_000,
            }),
        };
        let containers = with_short_texts((0..BEAT_CONTAINERS as u64).map(end).collect());
        let bytes = serde_json::to_vec(&containers).unwrap().len();
        assert!(bytes < BEAT_BYTES, "{bytes}");
        assert_eq!(with_short_texts(vec![end(1)]), [end(1)]);
    }

    #[test]
    fn the_first_beat_says_all_and_later_ones_what_no_answered_one_has_said() {
        let (mut table, contexts, identity) = (TrackedContainers::default(), LaunchContexts::default(), identity());
        let ids = [1, 2].map(|number| ApplicationId::new(5, 1).container(1, number));
        let control = Arc::new(ContainerControl::new().unwrap());
        table.launch(launched(ids[0]), control.clone());
        let mut conversation = Conversation::default();
        let well = ContainerOffer { capability: identity.declared.capability, unhealthy: None };
        let ill = ContainerOffer { unhealthy: Some("full".to_owned()), ..well.clone() };
        assert_eq!(conversation.news(&table, &well), BeatNews::Urgent);
        let first = conversation.next_beat(&identity, &table, &contexts, well.clone());
        assert!(first.is_full && first.declared.is_some() && first.number == 1 && first.containers.len() == 1);
        conversation.on_sent(0);
        assert_eq!(conversation.news(&table, &well), BeatNews::Nothing);
        assert_eq!(conversation.news(&table, &ill), BeatNews::Urgent);
        // A change while the first is held.
        table.launch(launched(ids[1]), control);
        assert_eq!(conversation.news(&table, &well), BeatNews::Started);
        let second = conversation.next_beat(&identity, &table, &contexts, well.clone());
        assert!(!second.is_full && second.declared.is_none() && second.number == 2);
        assert_eq!(second.containers.len(), 2, "the first was not answered yet");
        conversation.on_sent(1);
        assert!(conversation.on_answered(1));
        assert!(!conversation.on_answered(0), "an older answer may be outdated");
        table.apply((ids[0], ContainerEvent::Started { pid: 1, started_ms: 1 }));
        let third = conversation.next_beat(&identity, &table, &contexts, well.clone());
        assert_eq!(third.containers.iter().map(|container| container.id).collect::<Vec<_>>(), [ids[0]]);
        let (exit, diagnostics) = (ContainerExit::SUCCESS, String::new());
        let end = ContainerEnd { exit, diagnostics, started_ms: None, ended_ms: 2, peak_memory_mb: 0, cpu_ms: 0 };
        table.apply((ids[0], ContainerEvent::Ended(end)));
        assert_eq!(conversation.news(&table, &well), BeatNews::Urgent, "it makes room");
        conversation.next_beat(&identity, &table, &contexts, well.clone());
        assert_eq!(conversation.news(&table, &well), BeatNews::Nothing, "it was said");
        let less = ContainerOffer { capability: Capability::new(1_024, 1), unhealthy: None };
        assert_eq!(conversation.news(&table, &less), BeatNews::Urgent);
        let declared = conversation.next_beat(&identity, &table, &contexts, less.clone()).declared;
        assert_eq!(declared.map(|bag| bag.capability), Some(less.capability));
        assert_eq!(conversation.next_beat(&identity, &table, &contexts, less).declared, None);
    }
}
