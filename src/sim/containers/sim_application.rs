//! An application and its program, as they see themselves: what was asked, what was answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::api::applications::{
    AllocateAnswer, AllocateCall, ContainerStart, LaunchSource, Placement, RegisterAnswer, Submission,
};
use crate::engine::RequestType;
use crate::model::{ApplicationId, Capability, ContainerId, LaunchContext};
use crate::sim::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) struct Program {
    pub(crate) run_ms: u64,
    /// Whether only KILL ends it before.
    pub(crate) ignores_term: bool,
    /// Time between TERM and KILL that it asks for, ms.
    pub(crate) kill_grace_ms: u64,
}

const NAME: &str = "played";

impl Program {
    pub(in crate::sim) fn context(self) -> LaunchContext {
        let Self { run_ms, ignores_term, kill_grace_ms } = self;
        let command = vec![NAME.to_owned(), run_ms.to_string(), ignores_term.to_string()];
        LaunchContext { kill_grace_ms, ..LaunchContext::of_command(command) }
    }

    /// That of a context; none: another one.
    pub(in crate::sim) fn of(context: &LaunchContext) -> Option<Self> {
        let [name, run_ms, ignores_term] = context.command.as_slice() else { return None };
        let (run_ms, ignores_term) = (run_ms.parse().ok()?, ignores_term.parse().ok()?);
        (name == NAME).then_some(Self { run_ms, ignores_term, kill_grace_ms: context.kill_grace_ms })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum ApplicationKind {
    Program,
    Unattended,
    /// A program calls, beside a master that the daemon starts.
    Master,
}

#[derive(Clone, Debug)]
pub(in crate::sim) enum ApplicationPhase {
    /// Its submission has no answer that arrived.
    Submitting(Box<Submission>),
    Submitted,
}

#[derive(Clone, Debug)]
pub(in crate::sim) struct SentCall {
    pub(crate) call: AllocateCall,
    /// When the wait at the daemon is over, by the world's clock, ms; none: it does not wait there.
    pub(crate) waits_until_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct KnownContainer {
    pub(crate) is_launched: bool,
}

#[derive(Debug)]
pub(in crate::sim) struct SimApplication {
    pub(crate) user: usize,
    pub(crate) id: ApplicationId,
    pub(crate) kind: ApplicationKind,
    pub(crate) phase: ApplicationPhase,
    pub(crate) random: Random,
    /// When it acts next, by the world's clock, ms; earlier events are void.
    pub(crate) due_mono_ms: u64,
    pub(crate) expiry_ms: u64,
    /// 0: it must register.
    pub(crate) attempt: u32,
    pub(crate) response_id: u64,
    pub(crate) pending: Option<SentCall>,
    /// The last call that was answered, with its answer.
    pub(crate) last: Option<(AllocateCall, Arc<[u8]>)>,
    /// Containers that are still wanted, as the program sees it.
    pub(crate) wanted: BTreeMap<RequestType, u32>,
    /// Containers that were named and not said to be complete.
    pub(crate) held: BTreeMap<ContainerId, KnownContainer>,
    /// Types that had items in this attempt: of them items count, not numbers.
    with_items: BTreeSet<RequestType>,
    named: BTreeSet<ContainerId>,
    completed: BTreeSet<ContainerId>,
    /// How far the end of the run has brought it.
    pub(crate) farewell: u32,
    /// A hoarder holds until then, by the world's clock, ms.
    pub(crate) holds_until_ms: u64,
}

impl SimApplication {
    pub(in crate::sim) fn new(
        user: usize,
        id: ApplicationId,
        kind: ApplicationKind,
        submission: Submission,
        random: Random,
    ) -> Self {
        Self {
            user,
            id,
            kind,
            expiry_ms: submission.expiry_ms,
            phase: ApplicationPhase::Submitting(Box::new(submission)),
            random,
            due_mono_ms: 0,
            attempt: 0,
            response_id: 0,
            pending: None,
            last: None,
            wanted: BTreeMap::new(),
            held: BTreeMap::new(),
            with_items: BTreeSet::new(),
            named: BTreeSet::new(),
            completed: BTreeSet::new(),
            farewell: 0,
            holds_until_ms: 0,
        }
    }

    /// Containers that it knows of, and whose end it does not know.
    pub(in crate::sim) fn known(&self) -> impl Iterator<Item = ContainerId> {
        self.held.keys().copied()
    }

    /// Starts all that it has not started yet.
    pub(in crate::sim) fn starts(&self, program: Program) -> Vec<ContainerStart> {
        let unlaunched = self.held.iter().filter(|(_, known)| !known.is_launched);
        let start = |container_id: ContainerId| ContainerStart {
            container_id,
            source: LaunchSource::Context(Box::new(program.context())),
            item: None,
        };
        unlaunched.map(|(id, _)| start(*id)).collect()
    }

    /// Takes what `register` is answered: nothing is asked for any more, and these live.
    pub(in crate::sim) fn on_registered(&mut self, answer: &RegisterAnswer) -> Result<(), String> {
        if answer.attempt <= self.attempt {
            return Err(format!("attempt {} follows attempt {}", answer.attempt, self.attempt));
        }
        (self.attempt, self.response_id) = (answer.attempt, answer.response_id);
        self.pending = None;
        self.last = None;
        self.wanted.clear();
        self.with_items.clear();
        for container in &answer.containers {
            let id = container.container_id;
            if self.completed.contains(&id) {
                return Err(format!("{id} lives, and was said to be complete"));
            }
            self.named.insert(id);
            let is_launched = matches!(container.state.as_deref(), Some("LAUNCHING" | "RUNNING"));
            self.held.insert(id, KnownContainer { is_launched });
        }
        Ok(())
    }

    pub(in crate::sim) fn on_answer(
        &mut self,
        body: &Arc<[u8]>,
        minimum: Capability,
    ) -> Result<AllocateAnswer, String> {
        let answer: AllocateAnswer = serde_json::from_slice(body).map_err(|error| format!("no answer: {error}"))?;
        let Some(SentCall { call, .. }) = self.pending.take() else {
            return Err("an answer without a call".to_owned());
        };
        if (answer.attempt, answer.response_id) != (self.attempt, self.response_id + 1) {
            let text = format!("answer {} of attempt {}", answer.response_id, answer.attempt);
            return Err(format!("{text} follows answer {} of attempt {}", self.response_id, self.attempt));
        }
        self.response_id = answer.response_id;
        let before = self.wanted.clone();
        self.take_asked(&call, minimum);
        self.take_named(&answer, &before)?;
        self.take_completed(&answer)?;
        self.last = Some((call, Arc::clone(body)));
        Ok(answer)
    }

    /// What a call asked for and launched is wanted and launched, once it is answered.
    fn take_asked(&mut self, call: &AllocateCall, minimum: Capability) {
        for row in call.ask.iter().filter(|row| row.resource_name == Placement::Any) {
            let capability = row.capability.rounded_up(minimum);
            let request = RequestType { priority: row.priority, request_id: row.allocation_request_id, capability };
            let items = row.launch.as_ref().and_then(|launch| launch.items.as_deref());
            if items.is_some() {
                self.with_items.insert(request);
            }
            let count = items.map_or(row.num_containers, |items| items_of(items).len() as u32);
            self.wanted.insert(request, count);
        }
        for start in &call.launch {
            if let Some(held) = self.held.get_mut(&start.container_id) {
                held.is_launched = true;
            }
        }
    }

    /// Takes the containers that an answer names; `before`: what was wanted before its call.
    fn take_named(&mut self, answer: &AllocateAnswer, before: &BTreeMap<RequestType, u32>) -> Result<(), String> {
        let mut named: BTreeMap<RequestType, u32> = BTreeMap::new();
        for container in &answer.allocated_containers {
            let id = container.container_id;
            if !self.named.insert(id) {
                return Err(format!("{id} is named twice"));
            }
            let request = RequestType {
                priority: container.priority,
                request_id: container.allocation_request_id,
                capability: container.capability,
            };
            let is_launched = container.item.is_some();
            self.held.insert(id, KnownContainer { is_launched });
            // What an earlier attempt wanted is not known here.
            if id.attempt == self.attempt {
                *named.entry(request).or_default() += 1;
            }
        }
        for (request, named) in named {
            // What was granted before the number was lowered is named nevertheless.
            let most = self.wanted.get(&request).max(before.get(&request)).copied().unwrap_or(0);
            if named > most && !self.with_items.contains(&request) {
                return Err(format!("{named} containers of {request} are named, and {most} were wanted"));
            }
            if let Some(wanted) = self.wanted.get_mut(&request) {
                *wanted = wanted.saturating_sub(named);
            }
        }
        Ok(())
    }

    fn take_completed(&mut self, answer: &AllocateAnswer) -> Result<(), String> {
        for status in &answer.completed_container_statuses {
            let id = status.container_id;
            // An answer to an earlier attempt may have been lost.
            if !self.named.contains(&id) && id.attempt >= self.attempt {
                return Err(format!("{id} is complete, and was never named"));
            }
            if !self.completed.insert(id) {
                return Err(format!("{id} is said to be complete twice"));
            }
            self.held.remove(&id);
        }
        Ok(())
    }

    /// Statuses that no later call has acknowledged come again after `register`.
    pub(in crate::sim) fn forget_unacknowledged(&mut self) {
        let Some((_, body)) = &self.last else { return };
        let Ok(answer) = serde_json::from_slice::<AllocateAnswer>(body) else { return };
        for status in &answer.completed_container_statuses {
            self.completed.remove(&status.container_id);
        }
    }
}

/// The items of a text such as `1-4,7,10-20:5`.
pub(in crate::sim) fn items_of(text: &str) -> Vec<u32> {
    let number = |text: &str| text.parse::<u32>().unwrap_or_default();
    let part = |part: &str| -> Vec<u32> {
        let Some((first, rest)) = part.split_once('-') else { return vec![number(part)] };
        let (last, step) = rest.split_once(':').map_or((number(rest), 1), |(last, step)| (number(last), number(step)));
        (number(first)..=last).step_by(step.max(1) as usize).collect()
    };
    text.split(',').flat_map(part).collect()
}

/// SHA-256 of what stands for a body.
pub(in crate::sim) fn digest_of(body: &impl std::fmt::Debug) -> [u8; 32] {
    Sha256::digest(format!("{body:?}")).into()
}

/// The numbers by which the world knows its applications.
pub(in crate::sim) type ApplicationNumbers = BTreeMap<ApplicationId, u64>;
