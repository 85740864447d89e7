//! A call of `allocate`: it is checked as a whole, taken in once, and answered once something is there.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::applications::{
    AllocateCall, ApplicationState, Blacklist, ContainerStart, LaunchSource, Placement, RefusedLaunch,
};
use crate::model::{ApplicationId, ContainerExit, ContainerId, LaunchContext, Now};

use super::answer::Headroom;
use super::application::Application;
use super::change::ApplicationChange;
use super::container::{ContainerStep, Kill, Launched};
use super::contexts::check_specs;
use super::record::TakenIn;
use super::refusal::{ApplicationRefusal, BodyFault};
use super::rows::check_rows;
use super::settings::{LARGEST_NUMBER, MAX_BLACKLIST, MAX_CONTAINERS_OF_CALL};
use super::table::Applications;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallResult {
    Answer(Arc<[u8]>),
    /// It is taken in and not to be answered before there is something, or its time is over.
    TakenIn,
}

impl Applications {
    /// Takes a call in, or finds that it was. Nothing is answered that was not answered before: grants may follow first.
    /// An error: nothing of the call is done.
    pub(crate) fn allocate(
        &mut self,
        application: ApplicationId,
        call: AllocateCall,
        digest: [u8; 32],
        now: Now,
    ) -> Result<CallResult, ApplicationRefusal> {
        let calling = self.unfinished(application)?;
        match calling.order_of_call(call.attempt, call.response_id, &digest)? {
            CallOrder::Answered(answer) => {
                self.hear(application, now);
                self.note_call(application, call.wait_ms, now.mono_ms);
                return Ok(CallResult::Answer(answer));
            }
            CallOrder::Again => {
                let ends_ms = now.mono_ms.saturating_add(call.wait_ms);
                self.hear_until(application, ends_ms);
                self.note_call(application, call.wait_ms, ends_ms);
                return Ok(CallResult::TakenIn);
            }
            CallOrder::New => {}
        }
        if call.release.len() > MAX_CONTAINERS_OF_CALL || call.launch.len() > MAX_CONTAINERS_OF_CALL {
            let text = format!("a call has at most {MAX_CONTAINERS_OF_CALL} releases and as many launches");
            return Err(ApplicationRefusal::TooMany(text));
        }
        let specs: BTreeSet<&str> = calling.specs.keys().chain(call.specs.keys()).map(String::as_str).collect();
        check_specs(&call.specs, Some(calling))?;
        check_launches(&call.launch, &specs)?;
        check_blacklist(&call.blacklist, &calling.blacklist)?;
        let rows = check_rows(&call.ask, Some(calling), &specs, false, &self.settings)?;
        // From here on nothing is refused.
        let ends_ms = now.mono_ms.saturating_add(call.wait_ms);
        self.hear_until(application, ends_ms);
        self.note_call(application, call.wait_ms, ends_ms);
        let unknown_releases = self.release(application, &call.release, now);
        self.keep_specs(application, call.specs);
        let unknown_launches = self.launch_all(application, call.launch, now);
        self.ask(application, rows);
        let listed = |name: &String| self.get(application).is_some_and(|calling| calling.blacklist.contains(name));
        let additions: Vec<String> = call.blacklist.additions.into_iter().filter(|name| !listed(name)).collect();
        let removals: Vec<String> = call.blacklist.removals.into_iter().filter(listed).collect();
        for (names, is_on) in [(additions, true), (removals, false)] {
            for name in names {
                self.change(ApplicationChange::Blacklisted { application, name, is_on });
            }
        }
        self.restand(application, |standing| {
            standing.progress_ppm = call.progress.map_or(standing.progress_ppm, |progress| progress.0);
            standing.taken_in = Some(TakenIn { digest, unknown_releases, unknown_launches });
        });
        Ok(CallResult::TakenIn)
    }

    /// A program calls: it may get containers, and has the time of its wait before it counts as silent.
    fn note_call(&mut self, application: ApplicationId, wait_ms: u64, ends_ms: u64) {
        self.lapses.on_call(application, ends_ms, wait_ms);
        self.restand(application, |standing| standing.has_lapsed = false);
    }

    pub(crate) fn is_new_call(&self, id: ApplicationId, call: &AllocateCall, digest: &[u8; 32]) -> bool {
        let order = self.get(id).map(|calling| calling.order_of_call(call.attempt, call.response_id, digest));
        matches!(order, Some(Ok(CallOrder::New)))
    }

    /// Gives containers back. Returns those that are unknown, complete or another's.
    fn release(&mut self, application: ApplicationId, containers: &[ContainerId], now: Now) -> Vec<ContainerId> {
        let mut unknown = Vec::new();
        for &id in containers {
            let is_live = id.application == application && self.container(id).is_some_and(|found| found.is_live());
            if is_live {
                let diagnostics = "released by the application".to_owned();
                let grace_ms = self.grace_ms(id);
                self.kill_container(id, Kill::new(ContainerExit::ABORTED, diagnostics, grace_ms), now);
            } else {
                unknown.push(id);
            }
        }
        unknown
    }

    /// Launches containers. Returns those that cannot be.
    fn launch_all(
        &mut self,
        application: ApplicationId,
        launches: Vec<ContainerStart>,
        now: Now,
    ) -> Vec<RefusedLaunch> {
        let mut refused = Vec::new();
        for ContainerStart { container_id, source, item } in launches {
            if let Err(reason) = self.launch(application, container_id, source, item, now) {
                refused.push(RefusedLaunch { container_id, reason: reason.to_owned() });
            }
        }
        refused
    }

    fn launch(
        &mut self,
        application: ApplicationId,
        id: ContainerId,
        source: LaunchSource,
        item: Option<u32>,
        now: Now,
    ) -> Result<(), &'static str> {
        if id.application != application {
            return Err("it belongs to another application");
        }
        let container = self.container(id).ok_or("it is unknown")?;
        if !container.is_live() {
            return Err("it is complete");
        }
        if container.kill.is_some() {
            return Err("it is being killed");
        }
        let launching = self.get(application).ok_or("it is unknown")?;
        // Specs were checked before anything was done.
        let (number, context): (Option<u64>, Arc<LaunchContext>) = match source {
            LaunchSource::Spec(name) => {
                let (number, context) = launching.spec(&name).ok_or("its spec is unknown")?;
                (Some(number), Arc::clone(context))
            }
            LaunchSource::Context(context) => (None, Arc::new(*context)),
        };
        if let Some(launch) = container.launch {
            let is_same = launch.item == item && launching.contexts.get(&launch.context) == Some(&context);
            return if is_same { Ok(()) } else { Err("it was launched otherwise") };
        }
        let number = match number {
            Some(number) => number,
            None => {
                let number = launching.next_context();
                self.change(ApplicationChange::ContextKept { application, number, context });
                number
            }
        };
        let launch = Launched { context: number, item, item_attempt: 1, at_ms: now.wall_ms };
        if let Some(launched) = self.step_container(id, ContainerStep::Launch(launch)) {
            self.unlaunched_since.remove(&id);
            self.owe(&launched.node.tracker);
        }
        Ok(())
    }

    /// Answers the call that was taken in, if there is something, or `is_over`.
    pub(crate) fn answer_call(
        &mut self,
        application: ApplicationId,
        attempt: u32,
        response_id: u64,
        is_over: bool,
        headroom: Headroom,
        now: Now,
    ) -> Result<CallResult, ApplicationRefusal> {
        let calling = self.known(application)?;
        let last = calling.standing.response_id;
        if attempt < calling.standing.attempt {
            let current = calling.standing.attempt;
            return Err(ApplicationRefusal::Superseded { application, attempt, current });
        }
        if response_id.checked_add(1) == Some(last)
            && let Some(answer) = &calling.last_answer
        {
            return Ok(CallResult::Answer(Arc::clone(answer)));
        }
        // A call that waits when its application ends learns that.
        if calling.is_over() {
            let state = calling.standing.state;
            return Err(ApplicationRefusal::ApplicationOver { application, state });
        }
        let Some(taken_in) = calling.standing.taken_in.clone().filter(|_| response_id == last) else {
            return Err(ApplicationRefusal::Resync(format!("the last response-id is {last}, not {response_id}")));
        };
        let has_something = !calling.counts.unnamed.is_empty()
            || !calling.counts.unreported.is_empty()
            || !taken_in.unknown_releases.is_empty()
            || !taken_in.unknown_launches.is_empty();
        if !has_something && !is_over {
            return Ok(CallResult::TakenIn);
        }
        let answer = self.build_answer(calling, taken_in, headroom);
        // What cannot be written as JSON does not exist: all members are texts and numbers.
        let body: Arc<[u8]> = serde_json::to_vec(&answer).unwrap_or_default().into();
        let numbers = |ids: &mut dyn Iterator<Item = ContainerId>| ids.map(|id| id.number).collect::<Vec<_>>();
        let containers = numbers(&mut answer.allocated_containers.iter().map(|container| container.container_id));
        let statuses = numbers(&mut answer.completed_container_statuses.iter().map(|status| status.container_id));
        self.lapses.on_answer(application, now.mono_ms);
        self.change(ApplicationChange::Answered {
            application,
            attempt: answer.attempt,
            response_id: answer.response_id,
            answer: Arc::clone(&body),
            containers,
            statuses,
        });
        Ok(CallResult::Answer(body))
    }
}

fn check_launches(launches: &[ContainerStart], specs: &BTreeSet<&str>) -> Result<(), ApplicationRefusal> {
    let faults: Vec<BodyFault> = launches
        .iter()
        .enumerate()
        .filter_map(|(index, launch)| {
            let fault =
                |member: &str, detail: String| BodyFault { pointer: format!("#/launch/{index}/{member}"), detail };
            match &launch.source {
                LaunchSource::Spec(name) if !specs.contains(name.as_str()) => {
                    Some(fault("spec", format!("there is no context {name:?} among the specs")))
                }
                _ if launch.item.is_some_and(|item| item > LARGEST_NUMBER) => {
                    Some(fault("item", format!("an item is at most {LARGEST_NUMBER}")))
                }
                _ => None,
            }
        })
        .take(20)
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(ApplicationRefusal::InvalidResourceRequest(faults)) }
}

fn check_blacklist(change: &Blacklist, listed: &BTreeSet<String>) -> Result<(), ApplicationRefusal> {
    let Blacklist { additions, removals } = change;
    let new: BTreeSet<&String> = additions.iter().filter(|name| !listed.contains(*name)).collect();
    let gone: BTreeSet<&String> = removals.iter().filter(|name| listed.contains(*name)).collect();
    if (listed.len() + new.len()).saturating_sub(gone.len()) > MAX_BLACKLIST {
        let text = format!("the blacklist of an application has at most {MAX_BLACKLIST} hosts and racks");
        return Err(ApplicationRefusal::TooMany(text));
    }
    let any = additions.iter().position(|name| Placement::from(name.clone()) == Placement::Any);
    match any {
        None => Ok(()),
        Some(index) => Err(ApplicationRefusal::InvalidRequest(vec![BodyFault {
            pointer: format!("#/blacklist/additions/{index}"),
            detail: "it is neither a host nor a rack".to_owned(),
        }])),
    }
}

/// What becomes of a call by its attempt and response id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallOrder {
    New,
    /// It was taken in and is not answered yet: it waits in the place of the earlier request.
    Again,
    /// It was answered: the same answer again.
    Answered(Arc<[u8]>),
}

impl Application {
    /// Judges a call by its attempt, response id and body.
    pub(super) fn order_of_call(
        &self,
        attempt: u32,
        response_id: u64,
        digest: &[u8; 32],
    ) -> Result<CallOrder, ApplicationRefusal> {
        self.check_attempt(attempt)?;
        let last = self.standing.response_id;
        if response_id == last {
            return match &self.standing.taken_in {
                None => Ok(CallOrder::New),
                Some(taken_in) if taken_in.digest == *digest => Ok(CallOrder::Again),
                Some(_) => {
                    let text = format!("the call with response-id {last} was taken in with another body");
                    Err(ApplicationRefusal::Resync(text))
                }
            };
        }
        match &self.last_answer {
            Some(answer) if response_id.checked_add(1) == Some(last) => Ok(CallOrder::Answered(Arc::clone(answer))),
            _ => Err(ApplicationRefusal::Resync(format!("the last response-id is {last}, not {response_id}"))),
        }
    }

    /// Refuses calls of an attempt that does not count.
    pub(super) fn check_attempt(&self, attempt: u32) -> Result<(), ApplicationRefusal> {
        let (application, current) = (self.id(), self.standing.attempt);
        if self.standing.state == ApplicationState::Accepted {
            return Err(ApplicationRefusal::Resync(format!("no program has registered for {application}")));
        }
        if attempt < current {
            return Err(ApplicationRefusal::Superseded { application, attempt, current });
        }
        if attempt > current {
            let text = format!("{application} has had {current} attempts, not {attempt}");
            return Err(ApplicationRefusal::Resync(text));
        }
        Ok(())
    }
}
