//! Requests about applications: one step of the engine each, answered once its facts are durable, and held while the
//! engine has nothing to say.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::config::keys;
use crate::config::settings::ApplicationKeys;
use crate::engine::{
    ApplicationAnswer, ApplicationCaller, ApplicationQuestion, ApplicationRefusal, ApplicationRequest, ApplicationWait,
    Caller, Event, Reply,
};
use crate::http::cut_short;
use crate::model::{ApplicationId, FactNumber};
use crate::store::FaultPoint;
use crate::web::{ApplicationReply, NewsWait};

use super::acl_file::{AclFile, AclFileError};
use super::application_waits::{ApplicationWaits, TOGETHER, Waiting, application_of};
use super::durability_queue::MemoryReservation;
use super::owner::Owner;
use super::owner_requests::OwnerThread;

/// What is left of a request once the engine has taken it in.
type Answering = Pin<Box<dyn Future<Output = ()>>>;

/// Memory of a short answer that waits for the store, bytes.
const ANSWER_BYTES: usize = 4 << 10;
/// The same of an application, a container or a node in a list, bytes.
const ROW_BYTES: usize = 2 << 10;

#[derive(Debug)]
pub(super) struct ApplicationOfWeb {
    pub(super) request: ApplicationRequest,
    /// How long it may wait for news.
    pub(super) wait: NewsWait,
    pub(super) reply: oneshot::Sender<ApplicationReply>,
}

/// A call of `allocate`, by which it takes over the wait of an earlier one.
#[derive(Clone, Copy)]
struct TakenCall {
    application: ApplicationId,
    attempt: u32,
    response_id: u64,
}

impl ApplicationOfWeb {
    /// Passes the request to the engine; what takes longer becomes one of `in_hand`.
    pub(super) fn ask(mut self, thread: OwnerThread, in_hand: &mut JoinSet<()>) {
        let OwnerThread { owner, dispatcher, waits } = thread;
        let submitter = self.submitter().map(|caller| caller.user.clone());
        match submitter.filter(|user| dispatcher.needs_groups_to_submit(user)) {
            None => drop(self.take(&owner, &waits).map(|answering| in_hand.spawn_local(answering))),
            Some(user) => {
                in_hand.spawn_local(async move {
                    let groups = dispatcher.groups_of(None, &user).await;
                    if let Some(caller) = self.submitter() {
                        caller.groups = groups;
                    }
                    if let Some(answering) = self.take(&owner, &waits) {
                        answering.await;
                    }
                });
            }
        }
    }

    /// The user who submits an application.
    fn submitter(&mut self) -> Option<&mut Caller> {
        match &mut self.request {
            ApplicationRequest::Asked { caller: ApplicationCaller::User { caller, .. }, question }
                if matches!(**question, ApplicationQuestion::Submit { .. }) =>
            {
                Some(caller)
            }
            _ => None,
        }
    }

    /// The engine's step; what is left to do.
    fn take(self, owner: &Rc<Owner>, waits: &Rc<ApplicationWaits>) -> Option<Answering> {
        let Self { request, wait: patience, reply } = self;
        if let Some(why) = owner.store_complaint() {
            // Nothing of the request is done, so that its signature may come again. The requester may have left.
            let _ = reply.send(Err(ApplicationRefusal::Unavailable(why)));
            return None;
        }
        let Some(mut reservation) = owner.reserve_answer(ANSWER_BYTES) else {
            let why = "too many changes wait for the state store: try again soon".to_owned();
            // The requester may have left.
            let _ = reply.send(Err(ApplicationRefusal::Unavailable(why)));
            return None;
        };
        let call = TakenCall::of(&request);
        let before = owner.last_fact();
        let (answer, wait_for) = step(owner, request)?;
        let has_facts = owner.last_fact() > before;
        if has_facts {
            FaultPoint::ApplicationRequestDecided.pass();
        }
        if let (Some(call), Ok(_)) = (call, &answer) {
            waits.take_over(call.application, call.attempt, call.response_id);
        }
        let (owner, waits) = (owner.clone(), waits.clone());
        if let Some(wait) = wait_of(&answer) {
            let taken = owner.last_fact();
            return Some(Box::pin(hold(owner, waits, wait, patience, taken, reply)));
        }
        reserve_for(&owner, &answer, &mut reservation);
        Some(Box::pin(async move {
            answer_when_durable(&owner, wait_for, answer, reply, has_facts).await;
            drop(reservation);
        }))
    }
}

impl TakenCall {
    fn of(request: &ApplicationRequest) -> Option<Self> {
        let ApplicationRequest::Asked { question, .. } = request else { return None };
        let ApplicationQuestion::Allocate { application, call, .. } = &**question else { return None };
        Some(Self { application: *application, attempt: call.attempt, response_id: call.response_id })
    }
}

/// Holds a request until there is news, its time is over or cut, a newer call takes over, or the server ends all waits. `taken`:
/// the facts of the call itself, which must be durable before any answer to it.
async fn hold(
    owner: Rc<Owner>,
    waits: Rc<ApplicationWaits>,
    wait: ApplicationWait,
    patience: NewsWait,
    taken: FactNumber,
    mut reply: oneshot::Sender<ApplicationReply>,
) {
    let until_ms = owner.clock().mono_ms().saturating_add(patience.ms);
    let mut cut = pin!(cut_short(patience.cut));
    // Without a place it is answered at once.
    let waiting = waits.begin(wait);
    let (answer, wait_for) = loop {
        let changed = match &waiting {
            Some(waiting) => tokio::select! {
                changed = next_change(&owner, waiting, until_ms) => changed,
                () = &mut cut => WaitOutcome::Over,
                () = reply.closed() => return,
            },
            None => WaitOutcome::Over,
        };
        let is_over = match changed {
            WaitOutcome::TakenOver => break (Err(ApplicationRefusal::TakenOver(application_of(wait))), taken),
            WaitOutcome::News => waits.are_ended(),
            WaitOutcome::Over => true,
        };
        let Some((answer, wait_for)) = step(&owner, ApplicationRequest::Waited { wait, is_over }) else { return };
        match wait_of(&answer) {
            None => break (answer, wait_for.max(taken)),
            // Never; without a reply the request is refused.
            Some(_) if is_over => return,
            Some(_) => {}
        }
    };
    drop(waiting);
    answer_when_durable(&owner, wait_for, answer, reply, true).await;
}

/// Answers once the facts are durable; while the store cannot write, with that: what was asked may be asked again.
async fn answer_when_durable(
    owner: &Owner,
    wait_for: FactNumber,
    answer: ApplicationReply,
    reply: oneshot::Sender<ApplicationReply>,
    has_facts: bool,
) {
    let answer = tokio::select! {
        biased;
        durable = owner.wait_durable(wait_for) => match durable {
            Ok(()) => answer,
            Err(_) => return,
        },
        why = owner.store_failure() => Err(ApplicationRefusal::Unavailable(why)),
    };
    if has_facts && answer.is_ok() {
        FaultPoint::ApplicationRequestDurable.pass();
    }
    // The requester may have left.
    let _ = reply.send(answer);
}

/// What became of a request that waits.
enum WaitOutcome {
    /// The engine has news, or all waits end.
    News,
    Over,
    /// A newer call has its wait now.
    TakenOver,
}

async fn next_change(owner: &Owner, waiting: &Waiting, until_ms: u64) -> WaitOutcome {
    let until = owner.clock().instant(until_ms);
    let is_over = tokio::select! {
        () = waiting.changed() => false,
        () = tokio::time::sleep_until(until) => true,
    };
    if !is_over && !waiting.is_taken_over() {
        tokio::time::sleep(TOGETHER).await;
    }
    match waiting.is_taken_over() {
        true => WaitOutcome::TakenOver,
        false if is_over => WaitOutcome::Over,
        false => WaitOutcome::News,
    }
}

fn wait_of(answer: &ApplicationReply) -> Option<ApplicationWait> {
    match answer.as_deref() {
        Ok(ApplicationAnswer::Waits(wait)) => Some(*wait),
        _ => None,
    }
}

/// One step of the engine; none after a reply of another kind, without which the request is refused.
fn step(owner: &Owner, request: ApplicationRequest) -> Option<(ApplicationReply, FactNumber)> {
    match owner.step(Event::Application(Box::new(request))) {
        (Reply::Application(answer), wait_for) => Some((answer, wait_for)),
        // A sender in quarantine.
        (Reply::Market(Err(error)), wait_for) => {
            Some((Err(ApplicationRefusal::Unavailable(error.to_string())), wait_for))
        }
        _ => None,
    }
}

/// The step is done and must be answered; its memory is charged as far as possible.
fn reserve_for(owner: &Owner, answer: &ApplicationReply, reservation: &mut MemoryReservation) {
    let bytes = match answer.as_deref() {
        Ok(ApplicationAnswer::Allocated(bytes)) => bytes.len(),
        Ok(ApplicationAnswer::Applications { applications, .. }) => applications.len() * ROW_BYTES,
        Ok(ApplicationAnswer::Containers { containers, .. }) => containers.len() * ROW_BYTES,
        Ok(ApplicationAnswer::Nodes(nodes)) => nodes.len() * ROW_BYTES,
        Ok(ApplicationAnswer::Registered(answer)) => answer.containers.len() * ROW_BYTES,
        _ => 0,
    };
    if bytes > 0
        && let Some(all) = owner.answer_memory().try_reserve(bytes)
    {
        reservation.merge(all);
    }
}

/// Whose requests about applications are taken.
#[derive(Clone, Debug, Default)]
pub(crate) enum ApplicationUsers {
    /// None: containers are switched off.
    #[default]
    Off,
    /// Of users who sign with a key of this file.
    Signed(Arc<AclFile>),
    /// Of users of this machine, over loopback.
    Loopback,
}

impl ApplicationUsers {
    /// As configured; `of_market`: the file of the market, where there is one.
    pub(crate) fn open(keys: &ApplicationKeys, of_market: Option<&Arc<AclFile>>) -> Result<Self, AclFileError> {
        let path = match keys {
            ApplicationKeys::Off => return Ok(Self::Off),
            ApplicationKeys::Loopback => return Ok(Self::Loopback),
            ApplicationKeys::File(path) => path,
        };
        if let Some(acl) = of_market.filter(|acl| acl.path() == path) {
            return Ok(Self::Signed(acl.clone()));
        }
        let acl = AclFile::open_named_by(path.clone(), keys::CONTAINERS_ACL_FILE.name)?;
        Ok(Self::Signed(Arc::new(acl)))
    }

    /// What is wrong with the file; the last good list stays in force.
    pub(super) fn error(&self) -> Option<String> {
        match self {
            Self::Signed(acl) => acl.error(),
            Self::Off | Self::Loopback => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_key_that_names_the_file() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("applications.acl");
        let refused = |keys| ApplicationUsers::open(&keys, None).unwrap_err().to_string();
        let text = refused(ApplicationKeys::File(path.clone()));
        assert!(text.contains("applications.acl") && text.ends_with("(jobtracker.containers.acl-file)"), "{text}");
        let of_market = AclFile::open(path).unwrap_err().to_string();
        assert!(of_market.ends_with("(mapred.priority-scheduler.acl-file)"), "{of_market}");
    }
}
