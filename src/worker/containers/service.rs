//! The worker's side of containers: beats with the daemon over a connection of their own, and what its answers ask for.
//!
//! An end is said at once, while the beat before may still be held; that a container runs waits a moment for its end: short commands
//! take one beat, not three. A daemon that does not know the protocol, as the Java
//! JobTracker, gets no more than one connection a minute; containers are then not for this worker.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::api::{BeatAnswer, ContainerLaunch, ContextId, DeclaredBag};
use crate::config::HostPort;
use crate::ipc::client::{IpcError, PipelinedClient};
use crate::model::{Capability, ContainerExit, ContainerId};
use crate::wire::Text;
use crate::wire::protocol::{Call, ContainerBeatCall, Protocol, ReturnType, Value};

use super::super::memory_monitor::MemoryMonitor;
use super::super::node_health::NodeHealth;
use super::control::ContainerControl;
use super::conversation::{BeatIdentity, BeatNews, ContainerOffer, Conversation, LaunchContexts};
use super::fault::LaunchFault;
use super::run::end_without_start;
use super::runner::ContainerRunner;
use super::table::{ContainerEvent, ContainerMessage, LaunchedContainer, TrackedContainers};

/// The first pause after a failed connection; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(3);
/// Between two attempts at a JobTracker that does not know the protocol.
const UNKNOWN_PAUSE: Duration = Duration::from_secs(60);
/// Without any answer for so long a connection is given up: the daemon holds a beat for 10 s.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Between two looks at the free room on the disks.
const HEALTH_INTERVAL: Duration = Duration::from_secs(5);
/// Between two measurements of what containers and attempts use.
const MEASURE_INTERVAL: Duration = Duration::from_secs(2);
/// That a container runs is said so much later, with whatever else there is by then.
const TOGETHER: Duration = Duration::from_millis(20);
/// Keepers that had no command for so long end.
const MOST_IDLE: Duration = Duration::from_secs(30);
/// Unanswered beats: the one that is held, and the one that ends its wait.
const MOST_UNANSWERED: usize = 2;
/// Beyond the longest grace, for the ends of containers and their reports, when the worker stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct ContainerService {
    pub(crate) jobtracker: HostPort,
    pub(crate) user: String,
    pub(crate) identity: BeatIdentity,
    pub(crate) health: Arc<NodeHealth>,
    /// The largest container that could not start, which stays possible while less is offered.
    pub(crate) least: Capability,
    /// Longest time between TERM and KILL when the worker stops.
    pub(crate) max_stop_grace: Duration,
    pub(crate) table: TrackedContainers,
    pub(crate) contexts: LaunchContexts,
    pub(crate) runner: Arc<ContainerRunner>,
    pub(crate) memory_monitor: Arc<MemoryMonitor>,
    /// The control of containers that ended at once, since no descriptor was left for their own.
    pub(crate) spare: Arc<ContainerControl>,
    pub(crate) events: UnboundedReceiver<ContainerMessage>,
    /// How often the JobTracker has registered this worker.
    pub(crate) registered: watch::Receiver<u64>,
    /// When the worker gives up waiting for ends, since it stops.
    pub(crate) stops_at: Option<Instant>,
}

enum ConversationEnd {
    /// The daemon has registered the worker again, or all is done that a worker which stops waits for.
    Over,
    /// The daemon does not know the protocol.
    Unknown(IpcError),
    Failed(IpcError),
}

impl ContainerService {
    /// Beats, once the JobTracker has registered the worker, without end.
    pub(crate) async fn run(&mut self) -> Infallible {
        let (mut pause, mut has_said_unknown, mut failed_since) = (FIRST_PAUSE, false, None::<Instant>);
        loop {
            let until = match self.connect_and_beat(&mut pause).await {
                ConversationEnd::Over => Instant::now(),
                ConversationEnd::Unknown(error) => {
                    if !std::mem::replace(&mut has_said_unknown, true) {
                        let jobtracker = &self.jobtracker;
                        tracing::info!("the JobTracker at {jobtracker} knows no containers ({error}): none run here");
                    }
                    Instant::now() + UNKNOWN_PAUSE
                }
                ConversationEnd::Failed(error) => {
                    // An answer has set it back.
                    if pause == FIRST_PAUSE {
                        failed_since = None;
                        tracing::warn!("containers: the JobTracker at {}: {error}; retrying", self.jobtracker);
                    }
                    let until = Instant::now() + pause;
                    pause = (pause * 2).min(MAX_PAUSE);
                    let since = *failed_since.get_or_insert_with(Instant::now);
                    self.health.set_lost_beats(Some((since, error.to_string())));
                    until
                }
            };
            self.wait(until).await;
        }
    }

    /// Ends all containers, each with its own grace within that of a stop, and reports their ends.
    pub(crate) async fn shut_down(&mut self) {
        if self.table.live_count() == 0 {
            return;
        }
        let grace = self.table.kill_all(ContainerExit::ABORTED, "the worker was stopped", self.max_stop_grace);
        let until = Instant::now() + grace + STOP_TIMEOUT;
        self.stops_at = Some(until);
        let mut pause = FIRST_PAUSE;
        while !self.is_done() && Instant::now() < until {
            match timeout_at(until, self.connect_and_beat(&mut pause)).await {
                Ok(ConversationEnd::Failed(_)) => self.wait(until.min(Instant::now() + FIRST_PAUSE)).await,
                Ok(ConversationEnd::Unknown(_)) => self.wait(until).await,
                Ok(ConversationEnd::Over) | Err(_) => {}
            }
        }
        let left = self.table.live_count();
        if left > 0 {
            tracing::warn!("{left} containers did not end in time");
        }
    }

    /// Whether a worker that stops has nothing left to wait for.
    fn is_done(&self) -> bool {
        self.stops_at.is_some() && self.table.is_empty()
    }

    /// Waits until a time, or until the JobTracker registers the worker again; containers change meanwhile.
    async fn wait(&mut self, until: Instant) {
        loop {
            tokio::select! {
                Some(message) = self.events.recv() => {
                    self.apply(message);
                    if self.stops_at.is_some() && self.table.live_count() == 0 {
                        return;
                    }
                }
                Ok(()) = self.registered.changed() => return,
                () = sleep_until(until) => return,
            }
        }
    }

    async fn connect_and_beat(&mut self, pause: &mut Duration) -> ConversationEnd {
        while *self.registered.borrow_and_update() == 0 {
            // Its first heartbeat makes it known, and the secret of its beats.
            self.wait(Instant::now() + UNKNOWN_PAUSE).await;
            if self.stops_at.is_some() {
                return ConversationEnd::Over;
            }
        }
        let address = (self.jobtracker.host.as_str(), self.jobtracker.port);
        let connecting = PipelinedClient::connect(address, Protocol::ContainerBeats, &self.user, ReturnType::Text);
        let mut client = match connecting.await {
            Ok(client) => client,
            Err(error @ (IpcError::Closed | IpcError::Remote { .. } | IpcError::Version { .. })) => {
                return ConversationEnd::Unknown(error);
            }
            Err(error) => return ConversationEnd::Failed(error),
        };
        match self.converse(&mut client, pause).await {
            Ok(()) => ConversationEnd::Over,
            Err(error) => ConversationEnd::Failed(error),
        }
    }

    /// Beats on a connection until it fails, or until the worker was registered again.
    async fn converse(&mut self, client: &mut PipelinedClient, pause: &mut Duration) -> Result<(), IpcError> {
        let mut conversation = Conversation::default();
        let mut give_up_at = Instant::now() + ANSWER_TIMEOUT;
        let mut look_at = Instant::now() + HEALTH_INTERVAL;
        let mut measure_at = Instant::now() + MEASURE_INTERVAL;
        // When starts that wait for more news are said.
        let mut say_at = None;
        // The last answer was a portion: the daemon has the rest ready.
        let mut has_more = false;
        loop {
            if self.is_done() {
                return Ok(());
            }
            let offer = self.offer();
            let may_send = client.unanswered() < MOST_UNANSWERED;
            let is_due = match conversation.news(&self.table, &offer) {
                BeatNews::Nothing => false,
                BeatNews::Urgent => true,
                BeatNews::Started => *say_at.get_or_insert_with(|| Instant::now() + TOGETHER) <= Instant::now(),
            };
            if client.unanswered() == 0 || (may_send && (is_due || has_more)) {
                (say_at, has_more) = (None, false);
                let call = self.next_call(&mut conversation, offer)?;
                let sent = timeout_at(give_up_at, client.send(&call)).await;
                conversation.on_sent(sent.map_err(|_| IpcError::Timeout(ANSWER_TIMEOUT))??);
                continue;
            }
            tokio::select! {
                answer = client.next_answer() => {
                    let (call, answer) = answer?;
                    let answer = answer.map_err(|exception| IpcError::Remote { exception, fatal: false })?;
                    (*pause, give_up_at) = (FIRST_PAUSE, Instant::now() + ANSWER_TIMEOUT);
                    self.health.set_lost_beats(None);
                    if let (true, Value::Text(Text(text))) = (conversation.on_answered(call), answer) {
                        let answer = serde_json::from_str(&text);
                        has_more = self.obey(answer.map_err(|error| IpcError::Io(error.into()))?)?;
                    }
                }
                Some(message) = self.events.recv() => {
                    self.apply(message);
                    // What comes together is said together.
                    while let Ok(message) = self.events.try_recv() {
                        self.apply(message);
                    }
                }
                Ok(()) = self.registered.changed() => return Ok(()),
                () = sleep_until(say_at.unwrap_or(look_at)), if may_send && say_at.is_some() => {}
                () = sleep_until(look_at) => {
                    look_at = Instant::now() + HEALTH_INTERVAL;
                    self.runner.folders.look_at_room(&self.health);
                    self.runner.end_idle_keepers(MOST_IDLE);
                }
                () = sleep_until(measure_at) => {
                    measure_at = Instant::now() + MEASURE_INTERVAL;
                    self.measure();
                }
                () = sleep_until(give_up_at) => return Err(IpcError::Timeout(ANSWER_TIMEOUT)),
            }
        }
    }

    fn next_call(&self, conversation: &mut Conversation, offer: ContainerOffer) -> Result<Call, IpcError> {
        let beat = conversation.next_beat(&self.identity, &self.table, &self.contexts, offer);
        let text = serde_json::to_string(&beat).map_err(|error| IpcError::Io(error.into()))?;
        Ok(Call::ContainerBeats(ContainerBeatCall::Beat { beat: Text(text) }))
    }

    /// Has what containers use measured, which comes as events, and takes what the memory monitor says of attempts.
    fn measure(&mut self) {
        self.table.measure_attempts(self.memory_monitor.uses());
        let running = self.table.running();
        if !running.is_empty() {
            let runner = self.runner.clone();
            // The panic hook logs a panic there.
            drop(tokio::task::spawn_blocking(move || runner.measure(&running)));
        }
    }

    fn offer(&self) -> ContainerOffer {
        let offer = self.health.offer(Instant::now());
        let DeclaredBag { capability: all, slot } = self.identity.declared;
        let part = |all: u32, least: u32, slot: u32| offer.of(all).max(least).max(slot).min(all);
        let capability = Capability::new(
            part(all.memory_mb, self.least.memory_mb, slot.memory_mb),
            part(all.vcores, self.least.vcores, slot.vcores),
        );
        let unhealthy = match self.stops_at {
            Some(_) => Some("the worker stops".to_owned()),
            None => offer.complaint.filter(|_| offer.is_ill),
        };
        ContainerOffer { capability, unhealthy }
    }

    /// Changes a container by an event. One that could not start for want of something lowers what is offered.
    fn apply(&mut self, message: ContainerMessage) {
        match &message {
            (_, ContainerEvent::Started { .. }) => self.health.on_started(),
            (id, ContainerEvent::Ended(end)) => {
                if let Some((capability, wave)) = self.table.failed_start(*id, end) {
                    self.least.memory_mb = self.least.memory_mb.max(capability.memory_mb);
                    self.least.vcores = self.least.vcores.max(capability.vcores);
                    // A disk without room is its own complaint.
                    match end.exit {
                        ContainerExit::DISKS_FAILED => self.runner.folders.look_at_room(&self.health),
                        _ => self.on_shortage(wave, &end.diagnostics),
                    }
                }
            }
            (_, ContainerEvent::Measured(_)) => {}
        }
        self.table.apply(message);
    }

    fn on_shortage(&self, wave: u64, why: &str) {
        let used_permille = self.table.running_permille(self.identity.declared.capability);
        self.health.on_shortage(wave, why, used_permille, Instant::now());
    }

    /// Does what an answer says; whether there is more. What is repeated in it changes nothing.
    fn obey(&mut self, answer: BeatAnswer) -> Result<bool, IpcError> {
        let BeatAnswer { launches, contexts, launches_by_context, kills, noted, dropped_contexts, has_more } = answer;
        let forgotten: Vec<ContainerId> = noted.into_iter().filter(|id| self.table.forget(*id)).collect();
        // Beats do not wait for a disk.
        self.runner.clear_later(forgotten);
        self.contexts.keep(contexts);
        launches.into_iter().for_each(|launch| self.launch(launch));
        for launch in launches_by_context {
            // The first beat of the next connection says which contexts are here.
            let lacks = |context: ContextId| IpcError::Io(io::Error::other(format!("{context:?} was not sent")));
            let launch = self.contexts.resolve(launch).map_err(lacks)?;
            self.launch(launch);
        }
        self.contexts.forget(&dropped_contexts);
        kills.into_iter().for_each(|kill| self.table.kill(kill));
        Ok(has_more)
    }

    fn launch(&mut self, launch: ContainerLaunch) {
        if self.stops_at.is_some() || self.table.has(launch.id) {
            return;
        }
        let (id, capability, wave) = (launch.id, launch.capability, self.health.wave());
        let launched =
            LaunchedContainer { id, capability, wave, grace: Duration::from_millis(launch.context.kill_grace_ms) };
        match ContainerControl::new() {
            Ok(control) => {
                let control = Arc::new(control);
                if self.table.launch(launched, control.clone()) {
                    self.runner.start(launch, control);
                }
            }
            // It has an end at once, so that the daemon has others wait until the worker can start them.
            Err(error) => {
                self.table.launch(launched, self.spare.clone());
                let end = end_without_start(&LaunchFault::System(error), None);
                self.apply((id, ContainerEvent::Ended(end)));
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/service.rs"]
mod tests;
