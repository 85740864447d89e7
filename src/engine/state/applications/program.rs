//! What a program does beside `allocate`: it registers, and it says that it ends. Also what others do to it: kills, signals, and the passing of
//! time: one that was granted containers and does not call while others wait loses those that it has not launched.

use crate::api::applications::{
    ApplicationState, ContainerState, FinalStatus, RegisterAnswer, RegisterCall, UnlaunchedHold, UnregisterCall,
};
use crate::model::{ApplicationId, ContainerExit, ContainerId, FactNumber, Now};
use crate::scheduler::RequestType;

use super::application::Application;
use super::change::ApplicationChange;
use super::container::Kill;
use super::container_end::ApplicationEnd;
use super::lapses::StoreDoubt;
use super::record::is_master;
use super::refusal::ApplicationRefusal;
use super::table::Applications;

impl Applications {
    /// A program registers: it is the next attempt, all requests are gone, contexts and containers stay.
    pub(crate) fn register(
        &mut self,
        application: ApplicationId,
        call: RegisterCall,
        now: Now,
    ) -> Result<RegisterAnswer, ApplicationRefusal> {
        let registering = self.unfinished(application)?;
        if !registering.has_program() {
            return Err(ApplicationRefusal::Resync(format!(
                "{application} is unattended: no program registers for it"
            )));
        }
        let types: Vec<RequestType> =
            registering.tables.keys().copied().filter(|request| !is_master(*request)).collect();
        // Statuses that the program before may not have received come again.
        let statuses = registering
            .containers
            .values()
            .filter(|container| container.status_in.is_some_and(|answer| !registering.is_acknowledged(answer)));
        let statuses: Vec<u64> = statuses.map(|container| container.id.number).collect();
        let live = registering.live().filter(|container| !is_master(container.request));
        let containers: Vec<u64> = live.map(|container| container.id.number).collect();
        let attempt = registering.standing.attempt.saturating_add(1);
        for request in types {
            self.change(ApplicationChange::TypeDropped { application, request });
        }
        let blacklist: Vec<String> = self.get(application).into_iter().flat_map(|one| one.blacklist.clone()).collect();
        for name in blacklist {
            self.change(ApplicationChange::Blacklisted { application, name, is_on: false });
        }
        self.restand(application, |standing| {
            standing.state = ApplicationState::Running;
            standing.attempt = attempt;
            standing.response_id = 0;
            standing.taken_in = None;
            standing.has_lapsed = false;
            if call.tracking_url.is_some() {
                standing.tracking_url = call.tracking_url;
            }
        });
        self.change(ApplicationChange::Listed { application, attempt, containers, statuses });
        self.hear(application, now);
        self.lapses.on_call(application, now.mono_ms, 0);
        self.build_register_answer(application).ok_or(ApplicationRefusal::NoSuchApplication(application))
    }

    pub(crate) fn unregister(
        &mut self,
        application: ApplicationId,
        call: UnregisterCall,
        now: Now,
    ) -> Result<ApplicationState, ApplicationRefusal> {
        let ending = self.known(application)?;
        if ending.standing.state == ApplicationState::Finished && ending.standing.attempt == call.attempt {
            return Ok(ApplicationState::Finished);
        }
        self.unfinished(application)?.check_attempt(call.attempt)?;
        let UnregisterCall { final_status, diagnostics, .. } = call;
        let end = ApplicationEnd { state: ApplicationState::Finished, final_status, diagnostics, is_by_owner: true };
        self.finish(application, end, ContainerExit::KILLED_AFTER_APPLICATION, now);
        Ok(ApplicationState::Finished)
    }

    /// Kills an application. Returns its state, and whether containers of it still live.
    pub(crate) fn kill_application(
        &mut self,
        application: ApplicationId,
        by: &str,
        now: Now,
    ) -> Result<(ApplicationState, bool), ApplicationRefusal> {
        let is_by_owner = *self.known(application)?.submitted.user == *by || by == application.to_string();
        let diagnostics = format!("killed by {by}");
        let end = ApplicationEnd {
            state: ApplicationState::Killed,
            final_status: FinalStatus::Killed,
            diagnostics,
            is_by_owner,
        };
        self.finish(application, end, ContainerExit::KILLED_BY_ADMINISTRATOR, now);
        self.state_of(application)
    }

    /// The state of an application, and whether containers of it are still being killed.
    pub(crate) fn state_of(&self, application: ApplicationId) -> Result<(ApplicationState, bool), ApplicationRefusal> {
        let known = self.known(application)?;
        Ok((known.standing.state, known.is_over() && !known.counts.live.is_empty()))
    }

    /// Ends a container by a signal. Returns whether it was complete before.
    pub(crate) fn signal(
        &mut self,
        id: ContainerId,
        is_sudden: bool,
        by_administrator: Option<&str>,
        now: Now,
    ) -> Result<bool, ApplicationRefusal> {
        let container = self.container(id).ok_or(ApplicationRefusal::NoSuchContainer(id))?;
        if container.state == ContainerState::Complete {
            return Ok(true);
        }
        let grace_ms = match by_administrator {
            _ if is_sudden => 0,
            Some(_) => self.bounded_grace_ms(id),
            None => self.grace_ms(id),
        };
        let (exit, diagnostics) = match by_administrator {
            Some(user) => (ContainerExit::KILLED_BY_ADMINISTRATOR, format!("killed by the administrator {user}")),
            None => (ContainerExit::KILLED_BY_OWNER, "killed by its owner".to_owned()),
        };
        self.kill_container(id, Kill::new(exit, diagnostics, grace_ms), now);
        Ok(false)
    }

    /// When the next container or application is too late, ms of the monotonic clock; `u64::MAX`: never.
    pub(crate) fn next_due_mono_ms(&self) -> u64 {
        self.doubt.map_or_else(|| self.first_due_mono_ms(), |doubt| doubt.next_mono_ms)
    }

    fn first_due_mono_ms(&self) -> u64 {
        let launch = self.launch_due.first().map_or(u64::MAX, |(due_ms, _)| *due_ms);
        let silence = self.silence_due.first().map_or(u64::MAX, |(due_ms, _)| *due_ms);
        launch.min(silence).min(self.lapses.next_due_ms())
    }

    /// Ends containers that were not launched in time, and applications that were silent for too long; not while the store
    /// does not get from `durable` to `last`, the last fact, since calls are refused then.
    pub(crate) fn expire_when_due(&mut self, durable: FactNumber, last: FactNumber, now: Now) {
        if self.first_due_mono_ms() > now.mono_ms {
            self.doubt = None;
            return;
        }
        self.doubt = StoreDoubt::next(self.doubt, durable, last, now);
        if self.doubt.is_some() {
            return;
        }
        self.lapses.pass(now.mono_ms);
        while let Some(&(due_ms, id)) = self.launch_due.first().filter(|(due_ms, _)| *due_ms <= now.mono_ms) {
            self.launch_due.remove(&(due_ms, id));
            if self.container(id).is_some_and(|container| container.waits_for_launch()) {
                let diagnostics = format!("not launched within {} ms", self.settings.launch_expiry_ms);
                self.end_without_report(id, ContainerExit::ABORTED, diagnostics, now);
                self.withhold(id.application);
            }
        }
        while let Some(&(due_ms, id)) = self.silence_due.first().filter(|(due_ms, _)| *due_ms <= now.mono_ms) {
            self.forget_silence(id);
            self.silence_due.remove(&(due_ms, id));
            let Some(silent) = self.get(id) else { continue };
            let diagnostics = format!("silent for {} ms", silent.submitted.expiry_ms);
            let end = ApplicationEnd {
                state: ApplicationState::Failed,
                final_status: FinalStatus::Failed,
                diagnostics,
                is_by_owner: false,
            };
            self.finish(id, end, ContainerExit::KILLED_AFTER_APPLICATION, now);
        }
    }

    pub(crate) fn silent_holders(&self) -> impl Iterator<Item = ApplicationId> {
        self.lapses.overdue()
    }

    /// Takes back what a silent program has not launched, since others wait. It gets nothing more until it calls.
    pub(crate) fn lapse_unlaunched(&mut self, id: ApplicationId, now: Now) {
        let patience_ms = self.lapses.patience_ms(id);
        self.lapses.disarm(id);
        let Some(silent) = self.get(id) else { return };
        let unlaunched: Vec<ContainerId> = silent.unlaunched().map(|container| container.id).collect();
        if unlaunched.is_empty() {
            return;
        }
        for container in unlaunched {
            let diagnostics =
                format!("not launched, and its application has not called for {patience_ms} ms while others wait");
            self.end_without_report(container, ContainerExit::ABORTED, diagnostics, now);
        }
        self.withhold(id);
    }

    /// What an application holds without having launched it; none: nothing.
    pub(crate) fn unlaunched_of(&self, application: &Application, now: Now) -> Option<UnlaunchedHold> {
        let slot = self.settings.slot;
        let first = application.unlaunched().next()?;
        let expires_ms = first.granted_ms.saturating_add_unsigned(self.settings.launch_expiry_ms);
        let lapses_ms = self
            .lapses
            .due_ms(application.id())
            .map(|due_ms| now.wall_ms.saturating_add_unsigned(due_ms.saturating_sub(now.mono_ms)));
        Some(UnlaunchedHold {
            applications: 1,
            containers: application.counts.unlaunched.len() as u64,
            slots: application.unlaunched().map(|one| u64::from(one.request.capability.slots(slot))).sum(),
            until: lapses_ms.map_or(expires_ms, |lapses_ms| lapses_ms.min(expires_ms)),
        })
    }

    /// What all but an application hold without having launched it; none: nothing. O(programs that hold something).
    pub(crate) fn unlaunched_of_others(&self, than: Option<ApplicationId>, now: Now) -> Option<UnlaunchedHold> {
        let holders = self.lapses.holders().filter(|id| Some(*id) != than);
        let held = holders.filter_map(|id| self.unlaunched_of(self.get(id)?, now));
        held.reduce(|sum, one| UnlaunchedHold {
            applications: sum.applications + one.applications,
            containers: sum.containers + one.containers,
            slots: sum.slots + one.slots,
            until: sum.until.max(one.until),
        })
    }

    /// What a program was granted has lapsed: it gets nothing more until it calls.
    pub(super) fn withhold(&mut self, id: ApplicationId) {
        if self.get(id).is_some_and(|one| one.has_program() && !one.is_over()) {
            self.restand(id, |standing| standing.has_lapsed = true);
        }
    }
}
