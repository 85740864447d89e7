//! The rows of a call: checked before anything of it is done, and applied less the grants that the caller does not know of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::applications::{AskRow, LaunchOnGrant, Placement};
use crate::model::{ApplicationId, ContainerSettings};
use crate::scheduler::RequestType;

use super::application::Application;
use super::change::ApplicationChange;
use super::items::Items;
use super::record::{GrantedContext, TypeLaunch};
use super::refusal::{ApplicationRefusal, BodyFault};
use super::settings::{LARGEST_NUMBER, LARGEST_REQUEST_ID, MAX_HOST_ROWS, MAX_ROWS, MAX_ROWS_OF_CALL, MAX_TYPES};
use super::table::Applications;

/// A row that may be applied: its number is as the caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckedRow {
    pub(super) request: RequestType,
    pub(super) place: Placement,
    pub(super) count: u32,
    pub(super) relaxes: bool,
    pub(super) launch: Option<(TypeLaunch, Items)>,
}

const MAX_FAULTS: usize = 20;

/// Checks rows. `specs` are the names of contexts that are there, those of the same call with them; `is_unattended`:
/// rules for items may stand there.
pub(super) fn check_rows(
    rows: &[AskRow],
    application: Option<&Application>,
    specs: &BTreeSet<&str>,
    is_unattended: bool,
    settings: &ContainerSettings,
) -> Result<Vec<CheckedRow>, ApplicationRefusal> {
    if rows.len() > MAX_ROWS_OF_CALL {
        return Err(ApplicationRefusal::TooMany(format!("a call has at most {MAX_ROWS_OF_CALL} rows")));
    }
    let mut checked = Vec::with_capacity(rows.len());
    let mut faults = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        match check_row(row, specs, is_unattended, settings) {
            Ok(row) => checked.push(row),
            Err((member, detail)) => faults.push(BodyFault { pointer: format!("#/ask/{index}{member}"), detail }),
        }
    }
    if !faults.is_empty() {
        faults.truncate(MAX_FAULTS);
        return Err(ApplicationRefusal::InvalidResourceRequest(faults));
    }
    check_numbers(&checked, application)?;
    Ok(checked)
}

/// A row, or which member is wrong and why.
fn check_row(
    row: &AskRow,
    specs: &BTreeSet<&str>,
    is_unattended: bool,
    settings: &ContainerSettings,
) -> Result<CheckedRow, (&'static str, String)> {
    let range = |what: &str, most: u64| format!("{what} is at most {most}");
    if row.priority > LARGEST_NUMBER {
        return Err(("/priority", range("a priority", LARGEST_NUMBER.into())));
    }
    if row.allocation_request_id > LARGEST_REQUEST_ID {
        return Err(("/allocation-request-id", range("an allocation-request-id", LARGEST_REQUEST_ID)));
    }
    if row.num_containers > LARGEST_NUMBER {
        return Err(("/num-containers", range("the number of containers", LARGEST_NUMBER.into())));
    }
    let capability = row.capability.rounded_up(settings.minimum);
    let most = settings.maximum;
    if capability.memory_mb > most.memory_mb {
        return Err(("/capability/memory", range("the memory of a container, MB,", most.memory_mb.into())));
    }
    if capability.vcores > most.vcores {
        return Err(("/capability/vCores", range("the number of cores of a container", most.vcores.into())));
    }
    let launch = match &row.launch {
        None => None,
        Some(_) if row.resource_name != Placement::Any => {
            return Err(("/launch", "a launch stands in rows for any node (*) alone".to_owned()));
        }
        Some(launch) => Some(check_launch(launch, row.num_containers, specs, is_unattended)?),
    };
    let request = RequestType { priority: row.priority, request_id: row.allocation_request_id, capability };
    let count = launch.as_ref().filter(|(launch, _)| launch.items.is_some()).map(|(_, items)| items.len());
    Ok(CheckedRow {
        request,
        place: row.resource_name.clone(),
        count: count.unwrap_or(row.num_containers),
        relaxes: row.relax_locality,
        launch,
    })
}

fn check_launch(
    launch: &LaunchOnGrant,
    num_containers: u32,
    specs: &BTreeSet<&str>,
    is_unattended: bool,
) -> Result<(TypeLaunch, Items), (&'static str, String)> {
    if !specs.contains(launch.spec.as_str()) {
        return Err(("/launch/spec", format!("there is no context {:?} among the specs", launch.spec)));
    }
    let rules = launch.rules;
    if !is_unattended && rules.max_attempts.is_some() {
        return Err(("/launch/max-attempts", "only launches of unattended applications have it".to_owned()));
    }
    if !is_unattended && rules.max_fails.is_some() {
        return Err(("/launch/max-fails", "only launches of unattended applications have it".to_owned()));
    }
    if rules.max_attempts.is_some_and(|attempts| !(1..=100).contains(&attempts)) {
        return Err(("/launch/max-attempts", "it is 1 to 100".to_owned()));
    }
    if launch.max_running == Some(0) {
        return Err(("/launch/max-running", "it is 1 at least".to_owned()));
    }
    let items: Items = match &launch.items {
        None => Items::default(),
        Some(text) => text.parse().map_err(|error| ("/launch/items", format!("{error}")))?,
    };
    // The web leaves 0 where the number was left out.
    if launch.items.is_some() && ![0, items.len()].contains(&num_containers) {
        let detail = format!("there are {} items: leave the number out, or write that", items.len());
        return Err(("/num-containers", detail));
    }
    let launch = TypeLaunch {
        source: GrantedContext::Spec(launch.spec.clone()),
        items: launch.items.as_deref().map(Arc::from),
        max_running: launch.max_running,
        rules,
    };
    Ok((launch, items))
}

/// Refuses rows with which the application would have too many types or rows. Looks at the types of the call alone.
fn check_numbers(rows: &[CheckedRow], application: Option<&Application>) -> Result<(), ApplicationRefusal> {
    let known = |request: &RequestType| application.and_then(|application| application.tables.get(request));
    let mut new: BTreeMap<RequestType, BTreeSet<&Placement>> = BTreeMap::new();
    for row in rows {
        let places = new.entry(row.request).or_default();
        if known(&row.request).is_none_or(|table| !table.rows.contains_key(&row.place)) {
            places.insert(&row.place);
        }
    }
    let tables = application.map(|application| &application.tables);
    let types = tables.map_or(0, BTreeMap::len) + new.keys().filter(|request| known(request).is_none()).count();
    if types > MAX_TYPES {
        return Err(ApplicationRefusal::TooMany(format!("an application has at most {MAX_TYPES} types of requests")));
    }
    let before: usize = tables.into_iter().flatten().map(|(_, table)| table.rows.len()).sum();
    if before + new.values().map(BTreeSet::len).sum::<usize>() > MAX_ROWS {
        return Err(ApplicationRefusal::TooMany(format!("an application has at most {MAX_ROWS} rows")));
    }
    let is_host = |place: &Placement| matches!(place, Placement::Host(_));
    for (request, places) in &new {
        let before = known(request).map_or(0, |table| table.rows.keys().filter(|place| is_host(place)).count());
        if before + places.iter().filter(|place| is_host(place)).count() > MAX_HOST_ROWS {
            let text = format!("a type of requests has at most {MAX_HOST_ROWS} rows for hosts");
            return Err(ApplicationRefusal::TooMany(text));
        }
    }
    Ok(())
}

impl Applications {
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
