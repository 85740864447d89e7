//! What a worker's beat is answered: what the worker is owed, in portions.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::api::{BEAT_ANSWER_BYTES, BeatAnswer, ContainerKill, ContainerLaunch, ContextId, LaunchedItem, SentContext};
use crate::model::{ContainerId, LaunchContext, LogKey};

use super::beat::BeatNotes;
use super::container::Container;
use super::record::is_master;
use super::table::Applications;
use super::worker::ContainerWorker;

/// Bytes of a launch, a kill or an id in JSON, without texts of users.
const FIXED_BYTES: usize = 512;

/// An answer that grows up to its limit.
struct Portion {
    answer: BeatAnswer,
    new_contexts: BTreeSet<ContextId>,
    bytes: usize,
}

impl Portion {
    fn new(notes: BeatNotes) -> Self {
        let BeatNotes { noted, kills, refused_use: _ } = notes;
        let bytes = noted.len().saturating_add(kills.len()).saturating_mul(FIXED_BYTES);
        let answer = BeatAnswer { noted, kills, ..BeatAnswer::default() };
        Self { answer, new_contexts: BTreeSet::new(), bytes }
    }

    /// Whether nothing more goes into it, if it has anything that is owed.
    fn is_full(&self) -> bool {
        self.bytes >= BEAT_ANSWER_BYTES && !self.has_nothing_owed()
    }

    fn has_nothing_owed(&self) -> bool {
        self.answer.launches.is_empty() && self.answer.launches_by_context.is_empty() && self.answer.kills.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.has_nothing_owed() && self.answer.noted.is_empty()
    }

    fn add_kill(&mut self, kill: ContainerKill) {
        self.bytes += FIXED_BYTES + kill.diagnostics.len();
        self.answer.kills.push(kill);
    }

    /// Adds a launch, and its context unless the worker keeps it.
    fn add_launch(&mut self, launch: ContainerLaunch<u64>, context: &LaunchContext, worker: &ContainerWorker) {
        self.bytes += FIXED_BYTES + launch.user.len() + launch.server.len();
        if !worker.keeps_contexts {
            self.bytes += json_bytes(context);
            return self.answer.launches.push(launch.in_context(context.clone()));
        }
        let id = ContextId { application: launch.id.application, number: launch.context };
        if !worker.contexts.contains(&id) && self.new_contexts.insert(id) {
            self.bytes += FIXED_BYTES + json_bytes(context);
            self.answer.contexts.push(SentContext { id, context: context.clone() });
        }
        self.answer.launches_by_context.push(launch);
    }
}

/// Counted exactly, since each control character of a text takes six bytes.
fn json_bytes(context: &LaunchContext) -> usize {
    serde_json::to_vec(context).map_or(0, |text| text.len())
}

impl Applications {
    /// What a worker is owed, as far as one answer goes; none: nothing new, and the beat may wait.
    pub(crate) fn answer_beat(&mut self, tracker: &str, notes: BeatNotes, is_over: bool) -> Option<BeatAnswer> {
        let mut portion = Portion::new(notes);
        let worker = self.workers.get_mut(tracker)?;
        let after = worker.portion_ended_at.take();
        let is_due = worker.has_news || after.is_some() || is_over || !portion.is_empty();
        // News of what comes before the rest of a round waits for the next round.
        worker.has_news &= after.is_some();
        let (has_news, ended_at) =
            (worker.has_news, self.fill(&mut portion, tracker, after.filter(|_| is_due), is_due));
        if portion.is_empty() && has_news {
            return self.answer_beat(tracker, BeatNotes::default(), is_over);
        }
        if portion.is_empty() && !is_over {
            return None;
        }
        let Portion { mut answer, new_contexts, .. } = portion;
        let worker = self.workers.get_mut(tracker)?;
        answer.has_more = ended_at.is_some();
        worker.portion_ended_at = ended_at;
        worker.sent.extend(answer.launches.iter().map(|launch| launch.id));
        worker.sent.extend(answer.launches_by_context.iter().map(|launch| launch.id));
        answer.dropped_contexts = std::mem::take(&mut worker.dropped_contexts).into_iter().collect();
        self.worker_news.remove(tracker);
        self.note_sent_contexts(tracker, new_contexts);
        Some(answer)
    }

    /// Fills an answer with what a worker is owed after a container. Returns the last one in it, if there are more.
    fn fill(
        &self,
        portion: &mut Portion,
        tracker: &str,
        after: Option<ContainerId>,
        is_due: bool,
    ) -> Option<ContainerId> {
        let worker = self.workers.get(tracker).filter(|_| is_due)?;
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut last = None;
        for container in worker.owed.range((begin, Bound::Unbounded)).filter_map(|id| self.container(*id)) {
            if portion.is_full() {
                return last;
            }
            self.add_what_is_owed(container, worker, portion);
            last = Some(container.id);
        }
        None
    }

    fn add_what_is_owed(&self, container: &Container, worker: &ContainerWorker, portion: &mut Portion) {
        // Also one that is to be killed: the answer that ordered it may be lost, and a worker reports the end only of what it has.
        if worker.lacks_launch(container)
            && let Some((launch, context)) = self.launch_order(container)
        {
            portion.add_launch(launch, context, worker);
        }
        if let Some(kill) = &container.kill {
            let (exit, diagnostics) = (kill.exit, kill.diagnostics.clone());
            portion.add_kill(ContainerKill { id: container.id, exit, diagnostics, grace_ms: kill.grace_ms });
        }
    }

    fn launch_order(&self, container: &Container) -> Option<(ContainerLaunch<u64>, &LaunchContext)> {
        let application = self.get(container.id.application)?;
        let launch = container.launch?;
        let context = application.contexts.get(&launch.context)?;
        let secret = application.submitted.secret;
        let key = LogKey::of_token(secret.as_bytes());
        let runs_master = is_master(container.request);
        let launch = ContainerLaunch {
            id: container.id,
            capability: container.request.capability,
            user: application.submitted.user.to_string(),
            context: launch.context,
            item: launch.item.map(|number| LaunchedItem { number, attempt: launch.item_attempt }),
            secret: runs_master.then(|| secret.to_hex()),
            log_key: key.to_hex(),
            server: self.settings.server.clone(),
        };
        Some((launch, context))
    }
}
