//! Since when containers are wanted: facts do not say it, so it is when the views took the request in.

use std::collections::{BTreeMap, VecDeque};

use crate::api::applications::Placement;
use crate::engine::{ApplicationChange, Container, RequestType};
use crate::model::ApplicationId;

/// Requests for containers that came while this process ran, by application and type, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Requested(BTreeMap<ApplicationId, BTreeMap<RequestType, VecDeque<WantedContainers>>>);

/// So many containers, wanted since then, epoch ms; none: before this process ran.
#[derive(Clone, Copy, Debug)]
struct WantedContainers {
    since_ms: Option<i64>,
    count: u32,
}

impl Requested {
    /// So many were wanted when the process began.
    pub(super) fn load(&mut self, application: ApplicationId, request: RequestType, count: u32) {
        if count > 0 {
            let wanted = VecDeque::from([WantedContainers { since_ms: None, count }]);
            self.0.entry(application).or_default().insert(request, wanted);
        }
    }

    /// Takes in a change that came at this time, epoch ms.
    pub(super) fn apply(&mut self, change: &ApplicationChange, at_ms: i64) {
        match change {
            ApplicationChange::RowSet { application, request, place: Placement::Any, count, .. } => {
                self.set(*application, *request, *count, at_ms);
            }
            ApplicationChange::TypeDropped { application, request } => self.set(*application, *request, 0, at_ms),
            ApplicationChange::Stands { application, standing } if standing.state.is_over() => {
                self.0.remove(application);
            }
            _ => {}
        }
    }

    /// A container is granted; how long it was wanted, ms, where that is known.
    pub(super) fn grant(&mut self, container: &Container) -> Option<i64> {
        let wanted = self.0.get_mut(&container.id.application)?.get_mut(&container.request)?;
        let oldest = wanted.front_mut()?;
        let since_ms = oldest.since_ms;
        oldest.count -= 1;
        if oldest.count == 0 {
            wanted.pop_front();
        }
        Some(container.granted_ms.saturating_sub(since_ms?))
    }

    /// So many are wanted from now on; the newest requests are taken back first.
    fn set(&mut self, application: ApplicationId, request: RequestType, count: u32, at_ms: i64) {
        let wanted = self.0.entry(application).or_default().entry(request).or_default();
        let known: u32 = wanted.iter().map(|wanted| wanted.count).sum();
        if count > known {
            wanted.push_back(WantedContainers { since_ms: Some(at_ms), count: count - known });
        }
        let mut beyond = known.saturating_sub(count);
        while beyond > 0
            && let Some(newest) = wanted.back_mut()
        {
            let fewer = newest.count.min(beyond);
            newest.count -= fewer;
            beyond -= fewer;
            if newest.count == 0 {
                wanted.pop_back();
            }
        }
        if wanted.is_empty()
            && let Some(types) = self.0.get_mut(&application)
        {
            types.remove(&request);
            if types.is_empty() {
                self.0.remove(&application);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::applications::{ContainerState, Locality};
    use crate::engine::{ContainerNode, LoweredRows};
    use crate::model::{Capability, ContainerId, Credits};

    fn application() -> ApplicationId {
        "application_1700000000000_0001".parse().unwrap()
    }

    fn request(priority: u32) -> RequestType {
        RequestType { priority, request_id: 0, capability: Capability { memory_mb: 512, vcores: 1 } }
    }

    fn row(count: u32) -> ApplicationChange {
        let (application, request) = (application(), request(1));
        ApplicationChange::RowSet { application, request, place: Placement::Any, count, relaxes: true }
    }

    fn granted(number: u64, granted_ms: i64) -> Container {
        let none: Arc<str> = "".into();
        let node =
            ContainerNode { tracker: none.clone(), incarnation: 1, id: none.clone(), host: none.clone(), rack: none };
        Container {
            id: ContainerId { application: application(), attempt: 1, number },
            request: request(1),
            node,
            locality: Locality::OffSwitch,
            row: Placement::Any,
            lowered: LoweredRows::default(),
            granted_ms,
            rate: Credits::ZERO,
            launch: None,
            started_ms: None,
            kill: None,
            end: None,
            state: ContainerState::Allocated,
            named_in: None,
            status_in: None,
        }
    }

    #[test]
    fn a_grant_serves_the_oldest_request_and_a_request_repeated_is_no_new_one() {
        let mut requested = Requested::default();
        requested.apply(&row(2), 1_000);
        assert_eq!(requested.grant(&granted(1, 1_500)), Some(500));
        // The engine lowers the row that the grant was for.
        requested.apply(&row(1), 1_501);
        requested.apply(&row(1), 3_000);
        requested.apply(&row(3), 4_000);
        assert_eq!(requested.grant(&granted(2, 5_000)), Some(4_000));
        assert_eq!(requested.grant(&granted(3, 5_000)), Some(1_000));
    }

    #[test]
    fn what_is_taken_back_is_forgotten_and_the_newest_first() {
        let mut requested = Requested::default();
        requested.apply(&row(2), 1_000);
        requested.apply(&row(5), 2_000);
        requested.apply(&row(3), 3_000);
        let waits: Vec<_> = (1..=4).map(|number| requested.grant(&granted(number, 4_000))).collect();
        assert_eq!(waits, [Some(3_000), Some(3_000), Some(2_000), None]);
        requested.apply(&row(2), 5_000);
        requested.apply(&ApplicationChange::TypeDropped { application: application(), request: request(1) }, 6_000);
        assert!(requested.0.is_empty());
    }

    #[test]
    fn a_wait_that_began_before_the_process_is_not_counted() {
        let mut requested = Requested::default();
        requested.load(application(), request(1), 1);
        requested.apply(&row(2), 1_000);
        assert_eq!(requested.grant(&granted(1, 2_000)), None);
        assert_eq!(requested.grant(&granted(2, 2_000)), Some(1_000));
    }
}
