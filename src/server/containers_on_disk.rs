//! Complete containers that are on the disk alone: added to answers about applications.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::api::applications::{ContainerReport, ContainerState};
use crate::engine::{ApplicationAnswer, ApplicationRefusal, Container, ContainerFilter};
use crate::model::{ApplicationId, Capability, ContainerId};
use crate::store::{StoreError, StoredContainerReader, StoredContainers};

/// Concurrent reads.
const READS_AT_ONE_TIME: usize = 2;

/// Reads complete containers.
#[derive(Clone, Debug)]
pub(crate) struct ContainersOnDisk {
    reader: StoredContainerReader,
    slot: Capability,
    permits: Arc<Semaphore>,
}

impl ContainersOnDisk {
    /// `slot`: one slot's worth.
    pub(crate) fn new(reader: StoredContainerReader, slot: Capability) -> Self {
        Self { reader, slot, permits: Arc::new(Semaphore::new(READS_AT_ONE_TIME)) }
    }

    /// A complete container; none if it is unknown or lives.
    pub(super) async fn one(&self, id: ContainerId) -> Result<Option<Container>, ApplicationRefusal> {
        self.read(move |reader| reader.one(id)).await
    }

    /// Complete containers of an application with higher numbers than `after`, at most so many.
    pub(super) async fn complete(
        &self,
        application: ApplicationId,
        after: u64,
        failed_only: bool,
        limit: usize,
    ) -> Result<Vec<Container>, ApplicationRefusal> {
        let wanted = StoredContainers { after, through: u64::MAX, failed_only, limit };
        self.read(move |reader| reader.complete(application, wanted)).await
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
        let wanted = StoredContainers { after, through: stored_through, failed_only: filter.failed_only, limit };
        let stored = self.read(move |reader| reader.complete(application, wanted)).await?;
        let stored = stored.iter().map(|container| self.report(container)).collect();
        let (containers, next) = merge(stored, containers, next, filter.limit);
        Ok(ApplicationAnswer::Containers { containers, next, stored_through })
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&StoredContainerReader) -> Result<T, StoreError> + Send + 'static,
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
fn merge(
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
        let (containers, next) = merge(all(stored, "disk"), all(live, "memory"), next, limit);
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
