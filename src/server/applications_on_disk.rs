//! Applications and containers that are over and not in memory any more: answers about them from the disk.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::api::applications::{ApplicationReport, ApplicationState, ContainerReport, ContainerState};
use crate::engine::{
    ApplicationAnswer, ApplicationCaller, ApplicationFilter, ApplicationQuestion, ApplicationRefusal,
    ApplicationRequest, Container, ContainerFilter, RestoredApplication, StoreView, report_stored,
};
use crate::model::{ApplicationId, ApplicationSecret, Capability, ContainerId};
use crate::store::{StoreError, StoredApplicationReader};
use crate::web::ApplicationReply;

const READS_AT_ONE_TIME: usize = 2;

/// Answers about applications and containers that the engine no longer has.
#[derive(Clone, Debug)]
pub(crate) struct ApplicationsOnDisk {
    reader: StoredApplicationReader,
    containers: ContainersOnDisk,
    permits: Arc<Semaphore>,
}

/// A request whose answer may need the disk.
#[derive(Clone, Debug)]
pub(super) struct DiskRequest {
    /// None: the web server itself.
    caller: Option<ApplicationCaller>,
    question: DiskQuestion,
}

#[derive(Clone, Debug)]
enum DiskQuestion {
    Secret(ApplicationId),
    Submit([u8; 32]),
    List(ApplicationFilter),
    Show,
    State,
    Containers(ApplicationId, ContainerFilter),
    Container(ContainerId),
    Logs(ContainerId),
    Signal(ContainerId),
    /// By the attempt with this number.
    Unregister(u32),
    /// Calls that nothing can answer once an application is over.
    Call,
}

#[derive(Debug)]
pub(super) enum DiskReply {
    Reply(ApplicationReply),
    /// The engine knows the rest.
    Ask(ApplicationRequest),
}

impl DiskRequest {
    /// None: the engine alone answers.
    pub(super) fn of(request: &ApplicationRequest) -> Option<Self> {
        let (caller, question) = match request {
            ApplicationRequest::Secret(id) => return Some(Self { caller: None, question: DiskQuestion::Secret(*id) }),
            ApplicationRequest::Asked { caller, question } => (caller, &**question),
            ApplicationRequest::Waited { .. } | ApplicationRequest::StoredLogs { .. } => return None,
        };
        let question = match question {
            ApplicationQuestion::Submit { digest, .. } => DiskQuestion::Submit(*digest),
            ApplicationQuestion::List(filter) => DiskQuestion::List(filter.clone()),
            ApplicationQuestion::Show { .. } | ApplicationQuestion::ShowRows { .. } => DiskQuestion::Show,
            ApplicationQuestion::State(_) | ApplicationQuestion::Kill(_) => DiskQuestion::State,
            ApplicationQuestion::Containers { application, filter } => {
                DiskQuestion::Containers(*application, filter.clone())
            }
            ApplicationQuestion::Container(id) => DiskQuestion::Container(*id),
            ApplicationQuestion::Logs(id) => DiskQuestion::Logs(*id),
            ApplicationQuestion::Signal { container, .. } => DiskQuestion::Signal(*container),
            ApplicationQuestion::Unregister { call, .. } => DiskQuestion::Unregister(call.attempt),
            ApplicationQuestion::Register { .. } | ApplicationQuestion::Allocate { .. } => DiskQuestion::Call,
            ApplicationQuestion::NewId
            | ApplicationQuestion::Nodes
            | ApplicationQuestion::Node(_)
            | ApplicationQuestion::Info => return None,
        };
        Some(Self { caller: Some(caller.clone()), question })
    }
}

impl ApplicationsOnDisk {
    pub(super) const fn containers(&self) -> &ContainersOnDisk {
        &self.containers
    }

    pub(crate) fn new(reader: StoredApplicationReader, containers: ContainersOnDisk) -> Self {
        Self { reader, containers, permits: Arc::new(Semaphore::new(READS_AT_ONE_TIME)) }
    }

    /// Adds what the engine no longer has to its answer.
    pub(super) async fn add_to(
        &self,
        request: DiskRequest,
        reply: ApplicationReply,
    ) -> Result<DiskReply, ApplicationRefusal> {
        let DiskRequest { caller, question } = request;
        let answer = match reply {
            Ok(answer) => *answer,
            // The engine has the application, whose containers that ended long ago are on the disk alone.
            Err(ApplicationRefusal::NoSuchContainer(id)) => return self.about_container(question, id).await,
            Err(ApplicationRefusal::NoSuchApplication(id)) => {
                return self.submitted(caller.as_ref(), question, id).await.map(answered);
            }
            Err(refusal) => return Err(refusal),
        };
        match (question, answer) {
            (DiskQuestion::Secret(id), ApplicationAnswer::Secret(None)) => {
                self.secret(id).await.map(ApplicationAnswer::Secret).map(answered)
            }
            (DiskQuestion::List(filter), ApplicationAnswer::Applications { applications, next, store }) => {
                let caller = caller.as_ref().and_then(user_of);
                self.list(caller, filter, applications, next, store).await.map(answered)
            }
            (question, ApplicationAnswer::NotInMemory(id, store)) => {
                let stored = self.one(id).await?.ok_or(ApplicationRefusal::NoSuchApplication(id))?;
                let may = store.sees_all || caller.as_ref().is_some_and(|caller| owns(caller, &stored));
                if !may {
                    return Err(ApplicationRefusal::Forbidden(format!("{id} belongs to another user")));
                }
                self.about_application(question, stored, store).await
            }
            (
                DiskQuestion::Containers(application, filter),
                ApplicationAnswer::Containers { containers, next, stored_through },
            ) => self.containers.list(application, &filter, containers, next, stored_through).await.map(answered),
            (_, answer) => Ok(answered(answer)),
        }
    }

    /// The answer about an application that is over, to a caller who may have it.
    async fn about_application(
        &self,
        question: DiskQuestion,
        stored: RestoredApplication,
        store: StoreView,
    ) -> Result<DiskReply, ApplicationRefusal> {
        let (id, state) = (stored.submitted.id, stored.standing.state);
        let over = ApplicationRefusal::ApplicationOver { application: id, state };
        Ok(answered(match question {
            DiskQuestion::Show => {
                ApplicationAnswer::Application(Arc::new(report_stored(stored, store.terms, store.now)))
            }
            DiskQuestion::State => ApplicationAnswer::State { state, is_ending: false },
            DiskQuestion::Containers(_, filter) => {
                return self.containers.list(id, &filter, Vec::new(), None, u64::MAX).await.map(answered);
            }
            DiskQuestion::Container(container) | DiskQuestion::Logs(container) | DiskQuestion::Signal(container) => {
                return self.about_container(question, container).await;
            }
            DiskQuestion::Unregister(attempt)
                if state == ApplicationState::Finished && stored.standing.attempt == attempt =>
            {
                ApplicationAnswer::Unregistered(state)
            }
            DiskQuestion::Unregister(_) | DiskQuestion::Call => return Err(over),
            DiskQuestion::Secret(_) | DiskQuestion::Submit(_) | DiskQuestion::List(_) => {
                return Err(ApplicationRefusal::NoSuchApplication(id));
            }
        }))
    }

    /// The answer about a complete container, to a caller who may have it.
    async fn about_container(&self, question: DiskQuestion, id: ContainerId) -> Result<DiskReply, ApplicationRefusal> {
        let unknown = ApplicationRefusal::NoSuchContainer(id);
        let found: Container = self.containers.one(id).await?.ok_or(unknown.clone())?;
        Ok(match question {
            DiskQuestion::Container(_) => {
                answered(ApplicationAnswer::Container(Box::new(self.containers.report(&found))))
            }
            DiskQuestion::Signal(_) => answered(ApplicationAnswer::Signalled { was_complete: true }),
            DiskQuestion::Logs(_) => {
                let secret = self.secret(id.application).await?.ok_or(unknown)?;
                DiskReply::Ask(ApplicationRequest::StoredLogs { container: Box::new(found), secret })
            }
            _ => return Err(unknown),
        })
    }

    /// The answer to a submission under an id that the engine does not know: perhaps it was accepted and is over.
    async fn submitted(
        &self,
        caller: Option<&ApplicationCaller>,
        question: DiskQuestion,
        id: ApplicationId,
    ) -> Result<ApplicationAnswer, ApplicationRefusal> {
        let unknown = ApplicationRefusal::NoSuchApplication(id);
        let DiskQuestion::Submit(digest) = question else { return Err(unknown) };
        let stored = self.one(id).await?.ok_or(unknown)?;
        if !caller.is_some_and(|caller| owns(caller, &stored)) {
            return Err(ApplicationRefusal::Forbidden(format!("{id} belongs to another user")));
        }
        if stored.submitted.digest != digest {
            return Err(ApplicationRefusal::ApplicationExists(id));
        }
        let (state, secret) = (stored.standing.state, stored.submitted.secret);
        Ok(ApplicationAnswer::Submitted { application: id, state, secret })
    }

    async fn list(
        &self,
        caller: Option<&str>,
        filter: ApplicationFilter,
        applications: Vec<ApplicationReport>,
        next: Option<ApplicationId>,
        store: StoreView,
    ) -> Result<ApplicationAnswer, ApplicationRefusal> {
        let ApplicationFilter { states, user, limit, .. } = &filter;
        let own = if store.sees_all { None } else { caller.map(str::to_owned) };
        let shows_over = states.is_empty() || states.iter().any(|state| state.is_over());
        let is_others = own.as_ref().zip(user.as_ref()).is_some_and(|(own, user)| own != user);
        if !shows_over || is_others || (!store.sees_all && own.is_none()) {
            return Ok(ApplicationAnswer::Applications { applications, next, store });
        }
        // One more shows whether others follow behind its end.
        let (user, limit) = (own.or_else(|| user.clone()), *limit);
        let filter = ApplicationFilter { user, limit: limit.saturating_add(1), ..filter };
        let stored = self.read(move |reader| reader.list(&filter)).await?;
        let stored = stored.into_iter().map(|stored| report_stored(stored, store.terms, store.now));
        let (applications, next) = merge(stored, applications, next, limit);
        Ok(ApplicationAnswer::Applications { applications, next, store })
    }

    async fn one(&self, id: ApplicationId) -> Result<Option<RestoredApplication>, ApplicationRefusal> {
        self.read(move |reader| reader.one(id)).await
    }

    /// The secret of an application, whether it is over or not.
    async fn secret(&self, id: ApplicationId) -> Result<Option<ApplicationSecret>, ApplicationRefusal> {
        self.read(move |reader| reader.secret(id)).await
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&StoredApplicationReader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ApplicationRefusal> {
        let reader = self.reader.clone();
        read_on_pool(&self.permits, move || read(&reader)).await
    }
}

fn answered(answer: ApplicationAnswer) -> DiskReply {
    DiskReply::Reply(Ok(Box::new(answer)))
}

/// The user who asks; none: an application.
fn user_of(caller: &ApplicationCaller) -> Option<&str> {
    match caller {
        ApplicationCaller::User { caller, .. } => Some(&caller.user),
        ApplicationCaller::Application { .. } => None,
    }
}

/// Whether the caller is the owner of the application, or the application itself.
fn owns(caller: &ApplicationCaller, stored: &RestoredApplication) -> bool {
    match caller {
        ApplicationCaller::User { caller, .. } => caller.user == stored.submitted.user,
        ApplicationCaller::Application { application, .. } => *application == stored.submitted.id,
    }
}

/// Both lists, newest first, what the engine says before what is stored; at most so many, and where the next list begins.
fn merge(
    stored: impl Iterator<Item = ApplicationReport>,
    in_memory: Vec<ApplicationReport>,
    next: Option<ApplicationId>,
    limit: usize,
) -> (Vec<ApplicationReport>, Option<ApplicationId>) {
    // Below the end of the engine's list, memory may have some that it left for the next page.
    let stored = stored.filter(|report| next.is_none_or(|next| report.id > next));
    let by_id: BTreeMap<ApplicationId, ApplicationReport> =
        stored.chain(in_memory).map(|report| (report.id, report)).collect();
    let is_cut = next.is_some() || by_id.len() > limit;
    let merged: Vec<ApplicationReport> = by_id.into_values().rev().take(limit).collect();
    let next = merged.last().map(|last| last.id).filter(|_| is_cut);
    (merged, next)
}

#[derive(Clone, Debug)]
pub(crate) struct ContainersOnDisk {
    reader: StoredApplicationReader,
    slot: Capability,
    permits: Arc<Semaphore>,
}

impl ContainersOnDisk {
    /// `slot`: one slot's worth.
    pub(crate) fn new(reader: StoredApplicationReader, slot: Capability) -> Self {
        Self { reader, slot, permits: Arc::new(Semaphore::new(READS_AT_ONE_TIME)) }
    }

    /// A complete container; none if it is unknown or lives.
    pub(super) async fn one(&self, id: ContainerId) -> Result<Option<Container>, ApplicationRefusal> {
        self.read(move |reader| reader.container(id)).await
    }

    /// Complete containers of an application with higher numbers than `after`, at most so many.
    pub(super) async fn complete(
        &self,
        application: ApplicationId,
        after: u64,
        failed_only: bool,
        limit: usize,
    ) -> Result<Vec<Container>, ApplicationRefusal> {
        self.read(move |reader| reader.containers(application, (after, u64::MAX), failed_only, limit)).await
    }

    pub(super) fn report(&self, container: &Container) -> ContainerReport {
        ContainerReport::of(container, self.slot)
    }

    /// Adds complete containers up to `stored_through` to the list of the engine.
    pub(super) async fn list(
        &self,
        application: ApplicationId,
        filter: &ContainerFilter,
        containers: Vec<ContainerReport>,
        next: Option<ContainerId>,
        stored_through: u64,
    ) -> Result<ApplicationAnswer, ApplicationRefusal> {
        let after = filter.after.map_or(0, |after| after.number);
        let shows_complete = filter.states.is_empty() || filter.states.contains(&ContainerState::Complete);
        if !shows_complete || stored_through <= after {
            return Ok(ApplicationAnswer::Containers { containers, next, stored_through });
        }
        // One more shows whether others follow behind its end.
        let limit = filter.limit.saturating_add(1);
        let (numbers, failed_only) = ((after, stored_through), filter.failed_only);
        let stored = self.read(move |reader| reader.containers(application, numbers, failed_only, limit)).await?;
        let stored = stored.iter().map(|container| self.report(container)).collect();
        let (containers, next) = merge_containers(stored, containers, next, filter.limit);
        Ok(ApplicationAnswer::Containers { containers, next, stored_through })
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&StoredApplicationReader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, ApplicationRefusal> {
        let reader = self.reader.clone();
        read_on_pool(&self.permits, move || read(&reader)).await
    }
}

/// Reads on a thread of the pool, as soon as there is a permit.
pub(super) async fn read_on_pool<T: Send + 'static>(
    permits: &Arc<Semaphore>,
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, ApplicationRefusal> {
    let unreadable = |why: &dyn std::fmt::Display| ApplicationRefusal::Unavailable(why.to_string());
    let permit = permits.clone().acquire_owned().await.map_err(|error| unreadable(&error))?;
    let read = tokio::task::spawn_blocking(move || {
        // Held until the read ends, even if no caller waits any more.
        let _permit = permit;
        read()
    });
    read.await.map_err(|error| unreadable(&error))?.map_err(|error| unreadable(&error))
}

/// Both lists by number, what the engine says before what is stored; at most so many, and where the next list begins.
fn merge_containers(
    stored: Vec<ContainerReport>,
    live: Vec<ContainerReport>,
    next: Option<ContainerId>,
    limit: usize,
) -> (Vec<ContainerReport>, Option<ContainerId>) {
    // Beyond the end of the engine's list, memory may have some that it left for the next page.
    let stored = stored.into_iter().filter(|report| next.is_none_or(|next| report.container_id.number < next.number));
    let by_number: BTreeMap<u64, ContainerReport> =
        stored.chain(live).map(|report| (report.container_id.number, report)).collect();
    let is_cut = next.is_some() || by_number.len() > limit;
    let merged: Vec<ContainerReport> = by_number.into_values().take(limit).collect();
    let next = merged.last().map(|last| last.container_id).filter(|_| is_cut);
    (merged, next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::applications::Locality;
    use crate::model::ContainerExit;

    fn container(number: u64, diagnostics: &str) -> ContainerReport {
        let application_id = ApplicationId::new(1, 1);
        ContainerReport {
            container_id: application_id.container(1, number),
            application_id,
            attempt: 1,
            node_id: String::new(),
            node_http_address: String::new(),
            rack: String::new(),
            locality: Locality::OffSwitch,
            priority: 1,
            allocation_request_id: 0,
            allocated_mb: 512,
            allocated_vcores: 1,
            slots: 1,
            item: None,
            item_attempt: None,
            state: ContainerState::Complete,
            killing: false,
            exit_status: ContainerExit(0),
            diagnostics: diagnostics.to_owned(),
            granted_time: 0,
            launched_time: 0,
            started_time: 0,
            finished_time: 0,
            memory_mb: 0,
            peak_memory_mb: 0,
            cpu_ms: 0,
        }
    }

    fn merged(stored: &[u64], live: &[u64], next: Option<u64>, limit: usize) -> (Vec<(u64, String)>, Option<u64>) {
        let all = |numbers: &[u64], from| numbers.iter().map(|number| container(*number, from)).collect();
        let next = next.map(|number| ApplicationId::new(1, 1).container(1, number));
        let (containers, next) = merge_containers(all(stored, "disk"), all(live, "memory"), next, limit);
        let shown = containers.into_iter().map(|container| (container.container_id.number, container.diagnostics));
        (shown.collect(), next.map(|next| next.number))
    }

    fn of(from: &str, numbers: &[u64]) -> Vec<(u64, String)> {
        numbers.iter().map(|number| (*number, from.to_owned())).collect()
    }

    #[test]
    fn a_list_goes_over_disk_and_memory_by_number() {
        let both = [of("disk", &[1]), of("memory", &[2]), of("disk", &[4])].concat();
        assert_eq!(merged(&[1, 2, 4], &[2], None, 10), (both, None));
        assert_eq!(merged(&[1, 2, 3], &[5], None, 2), (of("disk", &[1, 2]), Some(2)), "more follow on the disk");
        assert_eq!(merged(&[], &[5, 6], Some(6), 2), (of("memory", &[5, 6]), Some(6)), "more follow in memory");
    }
}
