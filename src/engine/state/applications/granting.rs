//! Grants: a container of a type comes to a node, and starts there at once if its request says so.

use std::sync::Arc;

use crate::api::applications::{ContainerState, Locality, Placement};
use crate::model::{ApplicationId, ContainerId, Credits, Now};
use crate::scheduler::{ContainerGrant, RequestType, rack_path};

use super::change::ApplicationChange;
use super::container::{Container, ContainerNode, ContainerStep, Launched, LoweredRows};
use super::record::{GrantSource, ItemStanding, ItemTrouble, RequestRow};
use super::table::Applications;
use super::worker::ContainerWorker;

impl Applications {
    /// Makes a container of a grant, for which its queue pays so much now. None: nothing is wanted, the application holds as many as
    /// it may, or its worker is gone.
    pub(crate) fn grant(
        &mut self,
        application: ApplicationId,
        grant: &ContainerGrant,
        rate: Credits,
        now: Now,
    ) -> Option<ContainerId> {
        let request = grant.request;
        let tracker = Arc::clone(self.worker_names.get(&grant.node)?);
        let worker = self.workers.get(&tracker)?;
        let asking = self.all.get(&application).filter(|asking| !asking.is_over())?;
        if asking.counts.live.len() >= self.settings.max_per_application as usize {
            return None;
        }
        let table = asking.tables.get(&request).filter(|table| table.outstanding() > 0)?;
        let lowered = rows_lowered_by(grant, &worker.rack);
        let rows = table.lowered(lowered, &worker.host, &worker.rack);
        let row = grant.row_name();
        let locality = match row {
            Placement::Host(_) => Locality::NodeLocal,
            Placement::Rack(_) => Locality::RackLocal,
            Placement::Any => Locality::OffSwitch,
        };
        let id = application.container(asking.standing.attempt, asking.counts.last_number + 1);
        let node = node_of(&tracker, worker);
        let granted = Container {
            id,
            request,
            node,
            locality,
            row,
            lowered,
            granted_ms: now.wall_ms,
            rate,
            launch: None,
            started_ms: None,
            kill: None,
            end: None,
            state: ContainerState::Allocated,
            named_in: None,
            status_in: None,
        };
        let launch = self.launch_of_grant(application, request, now);
        let container = launch.and_then(|launch| granted.after(ContainerStep::Launch(launch)));
        let is_launched = container.is_some();
        self.change(ApplicationChange::Container(Box::new(container.unwrap_or(granted))));
        self.placed.insert(id, grant.node);
        for (place, RequestRow { count, relaxes }) in rows {
            self.change(ApplicationChange::RowSet { application, request, place, count, relaxes });
        }
        if is_launched {
            self.owe(&tracker);
        } else {
            let due_ms = now.mono_ms.saturating_add(self.settings.launch_expiry_ms);
            self.launch_due.insert((due_ms, id));
            self.lapses.on_grant(application, now.mono_ms);
            self.unlaunched_since.insert(id, now.mono_ms);
        }
        Some(id)
    }

    /// What a container of a type runs that starts when it is granted; takes its item.
    fn launch_of_grant(&mut self, application: ApplicationId, request: RequestType, now: Now) -> Option<Launched> {
        let asking = self.all.get(&application)?;
        let table = asking.tables.get(&request)?;
        let launch = table.launch.as_ref()?;
        let context = match &launch.source {
            GrantSource::Spec(name) => asking.spec(name)?.0,
            GrantSource::Master => 0,
        };
        let at_ms = now.wall_ms;
        if launch.items.is_none() {
            return Some(Launched { context, item: None, item_attempt: 1, at_ms });
        }
        if let Some(item) = table.items.at(table.taken) {
            let taken = table.taken + 1;
            let before = asking.troubles.get(&request).and_then(|items| items.get(&item));
            let item_attempt = before.map_or(1, attempts_with_next);
            self.change(ApplicationChange::ItemsTaken { application, request, taken });
            return Some(Launched { context, item: Some(item), item_attempt, at_ms });
        }
        let (item, trouble) = asking.first_waiting(request)?;
        let held = ItemTrouble { standing: ItemStanding::Held, ..trouble };
        self.change(ApplicationChange::ItemTroubled { application, request, item, trouble: Some(held) });
        Some(Launched { context, item: Some(item), item_attempt: attempts_with_next(&trouble), at_ms })
    }
}

fn node_of(tracker: &Arc<str>, worker: &ContainerWorker) -> ContainerNode {
    ContainerNode {
        tracker: Arc::clone(tracker),
        incarnation: worker.incarnation,
        id: Arc::clone(&worker.node),
        host: Arc::clone(&worker.host),
        rack: Arc::clone(&worker.rack),
    }
}

/// The rows that a grant lowers on a node in a rack.
fn rows_lowered_by(grant: &ContainerGrant, rack: &str) -> LoweredRows {
    let rack_row = grant.counted.rack.as_deref();
    let above = rack_path(rack).position(|path| Some(path) == rack_row);
    let above = above.and_then(|above| u8::try_from(above).ok()).unwrap_or(0);
    LoweredRows { host: grant.counted.host.is_some(), rack: rack_row.is_some(), above }
}

fn attempts_with_next(trouble: &ItemTrouble) -> u32 {
    trouble.failures.saturating_add(trouble.faultless).saturating_add(1)
}
