//! Applications: they are submitted, their programs ask, lower, release, launch, repeat themselves, lie, vanish and come back.

use crate::api::applications::{AllocateCall, FinalStatus, RegisterCall, UnregisterCall};
use crate::engine::{
    ApplicationAnswer, ApplicationCaller, ApplicationChange, ApplicationQuestion, ApplicationRefusal,
    ApplicationRequest, ApplicationWait, Caller, ContainerSignal, Event, Fact, Reply, RequestType, Step,
};
use crate::model::{ApplicationId, ApplicationSecret, ContainerId};
use crate::sim::cuts::RunPart;
use crate::sim::event_queue::SimEvent;
use crate::sim::laws::{ApplicationIntent, Intent, Law, Violation};
use crate::sim::random::Random;
use crate::sim::world::World;

use super::chosen_calls;
use super::sim_application::{ApplicationKind, ApplicationPhase, SentCall, SimApplication, digest_of};

type AnsweredCall = Result<ApplicationAnswer, ApplicationRefusal>;

/// A pause that never ends by itself.
const NO_MORE: u64 = u64::MAX;

impl World<'_> {
    /// A user submits an application, and strangers try their luck.
    pub(in crate::sim) fn submit_some_application(&mut self) -> Result<(), Violation> {
        let Some(plan) = &self.plan.containers else { return Ok(()) };
        let (pause_ms, most) = (plan.submit_pause_ms, plan.most_live);
        let mut random = Random::stream(self.submitters.number(), 0);
        self.schedule_in(random.between(pause_ms / 4 + 1, pause_ms * 2), SimEvent::ApplicationSubmission);
        if !self.may_act() || !self.has(RunPart::Applications) {
            return Ok(());
        }
        if random.one_in(10) && self.has(RunPart::HostileCalls) {
            let place = random.below(self.trackers.len() as u64) as usize;
            self.forge_beat(place, random.number())?;
        }
        if self.applications.len() >= most {
            return Ok(());
        }
        let place = random.below(self.plan.honest_users() as u64) as usize;
        let kind = match random.below(6) {
            0 | 1 => ApplicationKind::Unattended,
            2 => ApplicationKind::Master,
            _ => ApplicationKind::Program,
        };
        self.submit_application_of(place, kind, random)
    }

    pub(in crate::sim) fn submit_application_of(
        &mut self,
        place: usize,
        kind: ApplicationKind,
        mut random: Random,
    ) -> Result<(), Violation> {
        let Some(Some(user)) = self.users.get(place) else { return Ok(()) };
        let user = user.name.clone();
        let (answered, step) = self.ask_as(&user, ApplicationQuestion::NewId, ApplicationIntent::Nothing)?;
        let id = match answered {
            Ok(ApplicationAnswer::NewId { application, .. }) if self.is_sent(step.wait_for) => application,
            Ok(_) => return Ok(()),
            Err(refusal) => return Err(self.violation(Law::Order, format!("{user} gets no application id: {refusal}"))),
        };
        let submission = chosen_calls::submission(&mut random, id, kind, &user, &self.hosts());
        self.last_application += 1;
        let number = self.last_application;
        self.application_numbers.insert(id, number);
        self.applications.insert(number, SimApplication::new(place, id, kind, submission, random));
        self.schedule_application(number, 1);
        Ok(())
    }

    pub(in crate::sim) fn run_application(&mut self, number: u64) -> Result<(), Violation> {
        self.with_application(number, |world, application| {
            if world.now.mono_ms < application.due_mono_ms {
                return Ok(None);
            }
            world.act_for(application).map(Some)
        })
    }

    /// The call that an application waits with asks again.
    pub(in crate::sim) fn wake_application(&mut self, number: u64) -> Result<(), Violation> {
        self.with_application(number, |world, application| {
            let waits = application.pending.as_ref().is_some_and(|sent| sent.waits_until_ms.is_some());
            if !waits || world.daemon.is_down() {
                return Ok(None);
            }
            world.wait_again(application, false).map(Some)
        })
    }

    fn with_application(
        &mut self,
        number: u64,
        act: impl FnOnce(&mut Self, &mut SimApplication) -> Result<Option<u64>, Violation>,
    ) -> Result<(), Violation> {
        let Some(mut application) = self.applications.remove(&number) else { return Ok(()) };
        match act(self, &mut application)? {
            Some(NO_MORE) => {
                self.application_numbers.remove(&application.id);
                return Ok(());
            }
            Some(pause_ms) => {
                application.due_mono_ms = self.now.mono_ms + pause_ms.max(1);
                self.event_queue.schedule(application.due_mono_ms, SimEvent::Application(number));
            }
            None => {}
        }
        self.applications.insert(number, application);
        Ok(())
    }

    pub(in crate::sim) fn schedule_application(&mut self, number: u64, pause_ms: u64) {
        let Some(application) = self.applications.get_mut(&number) else { return };
        application.due_mono_ms = self.now.mono_ms + pause_ms;
        self.event_queue.schedule(application.due_mono_ms, SimEvent::Application(number));
    }

    /// A crash ends the waits of all calls; each is repeated.
    pub(in crate::sim) fn end_waits_of_applications(&mut self) {
        for application in self.applications.values_mut() {
            if let Some(sent) = &mut application.pending {
                sent.waits_until_ms = None;
            }
        }
        let numbers: Vec<u64> = self.applications.keys().copied().collect();
        for number in numbers {
            self.schedule_application(number, 500 + number % 700);
        }
    }

    /// All come to their end: workers and applications act soon, and nothing goes wrong any more.
    pub(in crate::sim) fn drain_containers(&mut self) {
        if self.plan.containers.is_none() {
            return;
        }
        for place in 0..self.trackers.len() {
            if let Some(worker) = self.trackers[place].as_mut().and_then(|tracker| tracker.worker.as_mut()) {
                worker.due_mono_ms = self.now.mono_ms;
            }
            self.schedule_in(3 + 5 * place as u64, SimEvent::Worker(place));
        }
        let numbers: Vec<u64> = self.applications.keys().copied().collect();
        for number in numbers {
            self.schedule_application(number, 2 + number % 97);
        }
    }

    /// What programs know is still so after a start.
    pub(in crate::sim) fn check_what_was_said(&self) -> Result<(), Violation> {
        for application in self.applications.values() {
            if let Some(id) = application.known().find(|id| !self.checker.knows_container(*id)) {
                let text = format!("{id} was named, and a restart has lost it");
                return Err(self.violation(Law::Lives, text));
            }
        }
        Ok(())
    }

    /// Does what an application does next; returns when it acts again, ms from now.
    fn act_for(&mut self, application: &mut SimApplication) -> Result<u64, Violation> {
        let pause = self.plan.containers.as_ref().map_or(1_000, |plan| plan.call_pause_ms);
        let pause_ms = match self.is_draining {
            true => 200,
            false => application.random.between(pause / 4 + 1, pause * 2),
        };
        if self.daemon.is_down() {
            return Ok(500 + application.random.below(1_000));
        }
        if let ApplicationPhase::Submitting(submission) = &application.phase {
            let submission = submission.clone();
            return self.submit_application(application, *submission).map(|ends| if ends { NO_MORE } else { pause_ms });
        }
        if !self.checker.is_application_live(application.id) {
            self.check_that_it_is_over(application)?;
            return Ok(NO_MORE);
        }
        if application.kind == ApplicationKind::Unattended {
            return self.watch_unattended(application).map(|()| pause_ms * 3);
        }
        if let Some(sent) = &application.pending {
            return match sent.waits_until_ms {
                Some(until_ms) if self.now.mono_ms >= until_ms => self.wait_again(application, true),
                Some(until_ms) => Ok(until_ms - self.now.mono_ms),
                None => {
                    let call = sent.call.clone();
                    self.send_call(application, call)
                }
            };
        }
        if application.attempt == 0 {
            return self.register(application).map(|()| pause_ms);
        }
        if self.is_draining {
            return self.say_farewell(application);
        }
        if !self.may_act() {
            return Ok(pause_ms);
        }
        self.do_something(application, pause_ms)
    }

    fn submit_application(
        &mut self,
        application: &mut SimApplication,
        submission: crate::api::applications::Submission,
    ) -> Result<bool, Violation> {
        let digest = digest_of(&submission);
        let secret = ApplicationSecret::new([application.id.number as u8; 20]);
        let intent = ApplicationIntent::Submission(Box::new(submission.clone()));
        let question = ApplicationQuestion::Submit { submission: Box::new(submission), digest, secret };
        let user = self.plan.users[application.user].name.clone();
        let was_there = self.checker.is_application_live(application.id);
        let (answered, step) = self.ask_as(&user, question, intent)?;
        match answered {
            Ok(ApplicationAnswer::Submitted { application: id, .. }) if id == application.id => {
                if self.is_sent(step.wait_for) {
                    application.phase = ApplicationPhase::Submitted;
                }
                Ok(false)
            }
            Err(refusal) if was_there => {
                let text = format!("{} was submitted, and again it is refused: {refusal}", application.id);
                Err(self.violation(Law::Lives, text))
            }
            // The id has lapsed with a daemon, the market rules, its queue has no access.
            Err(
                ApplicationRefusal::NoSuchApplication(_)
                | ApplicationRefusal::Forbidden(_)
                | ApplicationRefusal::Unavailable(_)
                | ApplicationRefusal::InvalidRequest(_),
            ) => Ok(true),
            other => Err(self.violation(Law::Order, format!("{} is submitted: {other:?}", application.id))),
        }
    }

    fn register(&mut self, application: &mut SimApplication) -> Result<(), Violation> {
        let (id, intent) = (application.id, ApplicationIntent::Registration(application.id));
        let question = ApplicationQuestion::Register { application: id, call: RegisterCall::default() };
        let (answered, step) = self.ask_for(application, question, intent)?;
        match answered {
            Ok(ApplicationAnswer::Registered(answer)) => {
                application.forget_unacknowledged();
                if !self.is_sent(step.wait_for) {
                    // It registers again: no program knows of the attempt.
                    application.attempt = 0;
                    return Ok(());
                }
                let taken = application.on_registered(&answer);
                taken.map_err(|text| self.violation(Law::Lives, text))
            }
            other => Err(self.violation(Law::Order, format!("{id} registers: {other:?}"))),
        }
    }

    fn send_call(&mut self, application: &mut SimApplication, call: AllocateCall) -> Result<u64, Violation> {
        let (id, digest) = (application.id, digest_of(&call));
        let intent = ApplicationIntent::Call(id, Box::new(call.clone()), digest);
        let until_ms = self.now.mono_ms + call.wait_ms;
        application.pending = Some(SentCall { call: call.clone(), waits_until_ms: Some(until_ms) });
        let question = ApplicationQuestion::Allocate { application: id, call: Box::new(call), digest };
        let (answered, step) = self.ask_for(application, question, intent)?;
        self.receive_answer(application, answered, &step)
    }

    /// A waiting call asks again.
    fn wait_again(&mut self, application: &mut SimApplication, is_over: bool) -> Result<u64, Violation> {
        let (attempt, response_id) = (application.attempt, application.response_id);
        let wait = ApplicationWait::Allocate { application: application.id, attempt, response_id };
        let (answered, step) =
            self.request(ApplicationRequest::Waited { wait, is_over }, ApplicationIntent::Nothing)?;
        self.receive_answer(application, answered, &step)
    }

    fn receive_answer(
        &mut self,
        application: &mut SimApplication,
        answered: AnsweredCall,
        step: &Step,
    ) -> Result<u64, Violation> {
        let pause_ms = 1 + application.random.below(400);
        match answered {
            Ok(ApplicationAnswer::Waits(_)) => {
                let until_ms = application.pending.as_ref().and_then(|sent| sent.waits_until_ms);
                Ok(until_ms.unwrap_or_default().saturating_sub(self.now.mono_ms))
            }
            Ok(ApplicationAnswer::Allocated(body)) => {
                // Some answers get lost, and their calls are repeated.
                let is_lost = application.random.one_in(12) && self.has(RunPart::RepeatedCalls);
                if is_lost || !self.is_sent(step.wait_for) {
                    if let Some(sent) = &mut application.pending {
                        sent.waits_until_ms = None;
                    }
                    return Ok(if is_lost { pause_ms } else { self.until_sent_ms() });
                }
                let minimum = self.plan.containers.as_ref().map(|plan| plan.settings.minimum).unwrap_or_default();
                let taken = application.on_answer(&body, minimum);
                let answer = taken.map_err(|text| self.violation(Law::Lives, text))?;
                Ok(if answer.has_more { 1 } else { pause_ms })
            }
            Err(ApplicationRefusal::ApplicationOver { .. } | ApplicationRefusal::NoSuchApplication(_))
                if !self.checker.is_application_live(application.id) =>
            {
                Ok(pause_ms)
            }
            other => {
                let text = format!("a call of {} is answered by {other:?}", application.id);
                Err(self.violation(Law::Lives, text))
            }
        }
    }

    fn do_something(&mut self, application: &mut SimApplication, pause_ms: u64) -> Result<u64, Violation> {
        if let Some(scheme) = self.plan.users[application.user].scheme {
            return match self.played_call(scheme, application) {
                Ok(call) => {
                    let (attempt, response_id) = (application.attempt, application.response_id);
                    self.send_call(application, AllocateCall { attempt, response_id, ..call })
                }
                Err(pause_ms) => Ok(pause_ms),
            };
        }
        let chance = application.random.below(200);
        match chance {
            0..6 if self.has(RunPart::VanishingPrograms) => Ok(application.random.below(application.expiry_ms * 3 / 2)),
            6..12 if self.has(RunPart::VanishingPrograms) => {
                application.attempt = 0;
                Ok(pause_ms)
            }
            12..32 if self.has(RunPart::RepeatedCalls) => self.repeat_last(application).map(|()| pause_ms),
            32..48 if self.has(RunPart::HostileCalls) => self.lie(application).map(|()| pause_ms),
            48..52 => self.signal(application).map(|()| pause_ms),
            52..54 => self.unregister(application).map(|()| pause_ms),
            54 => self.kill_application(application).map(|()| pause_ms),
            _ => {
                let call = self.chosen_call(application);
                self.send_call(application, call)
            }
        }
    }

    fn chosen_call(&mut self, application: &mut SimApplication) -> AllocateCall {
        let strangers: Vec<ContainerId> = self.applications.values().flat_map(SimApplication::known).take(4).collect();
        let call = chosen_calls::call(application, &self.hosts(), &strangers);
        AllocateCall { attempt: application.attempt, response_id: application.response_id, ..call }
    }

    /// The last call again: the same answer, byte for byte, and nothing is done.
    fn repeat_last(&mut self, application: &mut SimApplication) -> Result<(), Violation> {
        let Some((call, body)) = application.last.clone() else { return Ok(()) };
        let (id, digest) = (application.id, digest_of(&call));
        let question = ApplicationQuestion::Allocate { application: id, call: Box::new(call), digest };
        let (answered, step) = self.ask_for(application, question, ApplicationIntent::Nothing)?;
        match answered {
            // One that was silent for too long has called.
            Ok(ApplicationAnswer::Allocated(again))
                if again == body && (changes_nothing(&step) || has_come_back(&step, id)) =>
            {
                Ok(())
            }
            other => {
                let text = format!("a call of {id} comes again and is answered by {other:?}, {:?}", step.facts);
                Err(self.violation(Law::Lives, text))
            }
        }
    }

    /// A call that must be refused as a whole.
    fn lie(&mut self, application: &mut SimApplication) -> Result<(), Violation> {
        let mut call = self.chosen_call(application);
        let random = &mut application.random;
        let kind = random.below(5);
        match kind {
            0 => call.attempt -= 1,
            1 => call.attempt += 1,
            2 => call.response_id += 1 + random.below(3),
            3 if application.response_id >= 2 => call.response_id = random.below(application.response_id - 1),
            _ => chosen_calls::spoil(random, &mut call),
        }
        let (id, digest) = (application.id, digest_of(&call));
        let question = ApplicationQuestion::Allocate { application: id, call: Box::new(call), digest };
        let (answered, step) = self.ask_for(application, question, ApplicationIntent::Nothing)?;
        let is_refused = match &answered {
            Err(ApplicationRefusal::Superseded { .. }) => kind == 0,
            Err(ApplicationRefusal::Resync(_)) => (1..4).contains(&kind) || kind == 0,
            Err(ApplicationRefusal::InvalidResourceRequest(_)) => kind >= 3,
            _ => false,
        };
        if is_refused && changes_nothing(&step) {
            return Ok(());
        }
        let text = format!("a call of {id} that is wrong is answered by {answered:?}, {:?}", step.facts);
        Err(self.violation(Law::Requests, text))
    }

    fn signal(&mut self, application: &mut SimApplication) -> Result<(), Violation> {
        let known: Vec<ContainerId> = application.known().collect();
        let random = &mut application.random;
        let Some(container) = random.pick(&known).copied() else { return Ok(()) };
        let signal = if random.one_in(2) { ContainerSignal::Graceful } else { ContainerSignal::Forceful };
        let question = ApplicationQuestion::Signal { container, signal };
        let (answered, _) = self.ask_for(application, question, ApplicationIntent::Nothing)?;
        match answered {
            Ok(ApplicationAnswer::Signalled { .. }) => Ok(()),
            other => Err(self.violation(Law::Lives, format!("{container} is signalled: {other:?}"))),
        }
    }

    fn unregister(&mut self, application: &mut SimApplication) -> Result<(), Violation> {
        let id = application.id;
        let call = UnregisterCall {
            attempt: application.attempt,
            final_status: FinalStatus::Succeeded,
            diagnostics: String::new(),
        };
        let question = ApplicationQuestion::Unregister { application: id, call };
        let (answered, _) = self.ask_for(application, question, ApplicationIntent::Nothing)?;
        match answered {
            Ok(ApplicationAnswer::Unregistered(_)) => Ok(()),
            other => Err(self.violation(Law::Order, format!("{id} unregisters: {other:?}"))),
        }
    }

    fn kill_application(&mut self, application: &mut SimApplication) -> Result<(), Violation> {
        let id = application.id;
        let (answered, _) = self.ask_for(application, ApplicationQuestion::Kill(id), ApplicationIntent::Nothing)?;
        match answered {
            Ok(ApplicationAnswer::State { .. }) => Ok(()),
            other => Err(self.violation(Law::Order, format!("{id} is killed: {other:?}"))),
        }
    }

    /// An unattended application does all by itself; its owner may look, or kill it.
    fn watch_unattended(&mut self, application: &mut SimApplication) -> Result<(), Violation> {
        if application.random.one_in(60) && self.may_act() {
            return self.kill_application(application);
        }
        application.farewell += u32::from(self.is_draining);
        if self.waits_in_vain(application) {
            return self.kill_application(application);
        }
        let question = ApplicationQuestion::Show { application: application.id, known_version: None };
        let (answered, _) = self.ask_for(application, question, ApplicationIntent::Nothing)?;
        match answered {
            Ok(ApplicationAnswer::Application(_)) => Ok(()),
            other => Err(self.violation(Law::Lives, format!("{} is looked at: {other:?}", application.id))),
        }
    }

    /// The end of the run: a program gets what it wants last, starts it, and ends when all is complete.
    fn say_farewell(&mut self, application: &mut SimApplication) -> Result<u64, Violation> {
        let is_done = application.farewell > 1
            && application.held.is_empty()
            && (application.wanted.values().all(|wanted| *wanted == 0) || self.waits_in_vain(application));
        if is_done {
            return self.unregister(application).map(|()| 200);
        }
        let call = chosen_calls::last_call(application, &self.hosts());
        application.farewell += 1;
        let (attempt, response_id) = (application.attempt, application.response_id);
        self.send_call(application, AllocateCall { attempt, response_id, ..call })
    }

    /// Whether a limit of its queue or user has kept it for long from what it still wants: more than that may ever hold.
    fn waits_in_vain(&self, application: &SimApplication) -> bool {
        let inspection = self.engine.inspect();
        let (scheduler, Some(app)) = (inspection.scheduler(), inspection.app_of(application.id)) else { return false };
        let is_limited = |(request, _): &(RequestType, u32)| scheduler.is_container_limited(app, request);
        application.farewell > 100 && scheduler.grantable_containers(app).iter().any(is_limited)
    }

    fn check_that_it_is_over(&mut self, application: &mut SimApplication) -> Result<(), Violation> {
        let question = ApplicationQuestion::State(application.id);
        let (answered, _) = self.ask_for(application, question, ApplicationIntent::Nothing)?;
        match answered {
            Ok(ApplicationAnswer::State { state, .. }) if state.is_over() => Ok(()),
            // The store has it alone.
            Ok(ApplicationAnswer::NotInMemory(id, ..)) if id == application.id => Ok(()),
            Err(ApplicationRefusal::NoSuchApplication(_)) => Ok(()),
            other => Err(self.violation(Law::End, format!("{} is over: {other:?}", application.id))),
        }
    }

    fn ask_for(
        &mut self,
        application: &SimApplication,
        question: ApplicationQuestion,
        intent: ApplicationIntent,
    ) -> Result<(AnsweredCall, Step), Violation> {
        let user = self.plan.users[application.user].name.clone();
        self.ask_as(&user, question, intent)
    }

    fn ask_as(
        &mut self,
        user: &str,
        question: ApplicationQuestion,
        intent: ApplicationIntent,
    ) -> Result<(AnsweredCall, Step), Violation> {
        let caller = ApplicationCaller::User { caller: Caller::named(user), is_administrator: false, signed: None };
        self.request(ApplicationRequest::Asked { caller, question: Box::new(question) }, intent)
    }

    fn request(
        &mut self,
        request: ApplicationRequest,
        intent: ApplicationIntent,
    ) -> Result<(AnsweredCall, Step), Violation> {
        self.checker.expect_of_applications(intent);
        let mut step = self.step(Event::Application(Box::new(request)), &Intent::Other)?;
        let reply = std::mem::replace(&mut step.reply, Reply::Done);
        match reply {
            Reply::Application(answered) => Ok((answered.map(|answer| *answer), step)),
            other => Err(self.violation(Law::Order, format!("a request about applications is answered by {other:?}"))),
        }
    }

    /// Hosts with nodes; the first can run everything.
    fn hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = Vec::new();
        for tracker in &self.plan.trackers {
            if !hosts.contains(&tracker.host) {
                hosts.push(tracker.host.clone());
            }
        }
        hosts
    }
}

/// Whether a step lets an application have more again that was silent for too long.
fn has_come_back(step: &Step, id: ApplicationId) -> bool {
    let changes = step.facts.iter().flat_map(|fact| match fact {
        Fact::Applications(changes) => changes.as_slice(),
        _ => &[],
    });
    let mut standings = changes.filter_map(|change| match change {
        ApplicationChange::Stands { application, standing } if *application == id => Some(standing),
        _ => None,
    });
    standings.next().is_some_and(|standing| !standing.has_lapsed) && standings.next().is_none()
}

/// Whether a step changes nothing of applications. Other facts may come with any step.
pub(super) fn changes_nothing(step: &Step) -> bool {
    !step.facts.iter().any(|fact| matches!(fact, Fact::Applications(_)))
}
