//! Applies the rows of a call: what of each number is left when the grants are deducted that the caller does not know of.

use crate::scheduler::RequestType;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::applications::Placement;
use crate::model::ApplicationId;

use super::change::ApplicationChange;
use super::check_rows::CheckedRow;
use super::record::TypeLaunch;
use super::table::Applications;

impl Applications {
    /// Applies checked rows of an application, in their order.
    pub(super) fn ask(&mut self, application: ApplicationId, rows: Vec<CheckedRow>) {
        let Some(asking) = self.all.get(&application) else { return };
        let unnamed = asking.unnamed_on_rows();
        let mut unnamed_items: BTreeMap<RequestType, BTreeSet<u32>> = BTreeMap::new();
        for container in asking.counts.unnamed.iter().filter_map(|number| asking.containers.get(number)) {
            if let Some(item) = container.item() {
                unnamed_items.entry(container.request).or_default().insert(item);
            }
        }
        let types: BTreeSet<RequestType> = rows.iter().map(|row| row.request).collect();
        for row in rows {
            let CheckedRow { request, place, count, relaxes, launch } = row;
            let mut left = count.saturating_sub(unnamed.get(&(request, place.clone())).copied().unwrap_or(0));
            if place == Placement::Any {
                let launch = match launch {
                    Some((launch, items)) if launch.items.is_some() => {
                        let items = items.without(unnamed_items.get(&request).into_iter().flatten().copied());
                        left = items.len();
                        Some(TypeLaunch { items: Some(Arc::from(items.to_string())), ..launch })
                    }
                    launch => launch.map(|(launch, _)| launch),
                };
                self.set_launch(application, request, launch);
            }
            self.change(ApplicationChange::RowSet { application, request, place, count: left, relaxes });
        }
        for request in types {
            let table = self.all.get(&application).and_then(|asking| asking.tables.get(&request));
            if table.is_some_and(|table| table.outstanding() == 0) {
                self.change(ApplicationChange::TypeDropped { application, request });
            }
        }
    }

    fn set_launch(&mut self, application: ApplicationId, request: RequestType, launch: Option<TypeLaunch>) {
        let table = self.all.get(&application).and_then(|asking| asking.tables.get(&request));
        let is_same = table.map_or(launch.is_none(), |table| table.launch == launch && table.taken == 0);
        if !is_same {
            self.change(ApplicationChange::LaunchSet { application, request, launch: launch.map(Box::new) });
        }
    }
}
