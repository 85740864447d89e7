//! Rows of applications and their containers.

use std::collections::BTreeSet;

use rusqlite::{ToSql, Transaction, params};

use crate::api::applications::{ContainerState, Placement};
use crate::engine::{
    ApplicationChange, Container, ContainerCost, ItemTrouble, RequestType, Standing, SubmittedApplication, TypeLaunch,
    UNUSED_ID_MS,
};
use crate::market::MarketFact;
use crate::model::{ApplicationId, ContainerExit, FactNumber};
use crate::store::durable::{MissedUpdates, update_row};
use crate::store::enum_text::json;
use crate::store::fault_point::FaultPoint;
use crate::store::schema::{APPLICATION_START_MS, set_meta};

pub(super) fn record(
    transaction: &Transaction<'_>,
    missed_updates: &mut MissedUpdates,
    number: FactNumber,
    changes: &[ApplicationChange],
) -> rusqlite::Result<()> {
    let overtaken = overtaken(changes);
    let written = changes.iter().enumerate().filter(|(place, _)| !overtaken.contains(place));
    for (_, change) in written {
        record_change(transaction, missed_updates, number, change)?;
        if let Some(point) = point_after(change) {
            point.pass();
        }
    }
    Ok(())
}

/// The places of changes that a later one of the same step replaces: many grants of one type lower the same row.
fn overtaken(changes: &[ApplicationChange]) -> BTreeSet<usize> {
    let (mut rows, mut items) = (BTreeSet::new(), BTreeSet::new());
    let mut overtaken = BTreeSet::new();
    for (at, change) in changes.iter().enumerate().rev() {
        let is_overtaken = match change {
            ApplicationChange::RowSet { application, request, place, .. } => {
                !rows.insert((*application, *request, place))
            }
            ApplicationChange::ItemsTaken { application, request, .. } => !items.insert((*application, *request)),
            ApplicationChange::TypeDropped { .. } | ApplicationChange::LaunchSet { .. } => {
                // What comes before them is about other rows.
                rows.clear();
                items.clear();
                false
            }
            _ => false,
        };
        if is_overtaken {
            overtaken.insert(at);
        }
    }
    overtaken
}

fn point_after(change: &ApplicationChange) -> Option<FaultPoint> {
    Some(match change {
        ApplicationChange::Submitted { .. } => FaultPoint::ApplicationSubmitted,
        ApplicationChange::Stands { standing, .. } if standing.state.is_over() => FaultPoint::ApplicationOver,
        ApplicationChange::Stands { standing, .. } if standing.taken_in.is_some() => FaultPoint::ApplicationCallTakenIn,
        ApplicationChange::Stands { .. } => FaultPoint::ApplicationStands,
        ApplicationChange::RowSet { .. }
        | ApplicationChange::TypeDropped { .. }
        | ApplicationChange::LaunchSet { .. } => FaultPoint::ApplicationRequestWritten,
        ApplicationChange::ItemsTaken { .. } | ApplicationChange::ItemTroubled { .. } => {
            FaultPoint::ApplicationItemsWritten
        }
        ApplicationChange::Answered { .. } => FaultPoint::ApplicationAnswered,
        ApplicationChange::Listed { .. } => FaultPoint::ApplicationListed,
        ApplicationChange::Container(container) => match container.state {
            ContainerState::Complete => FaultPoint::ContainerComplete,
            _ if container.kill.is_some() => FaultPoint::ContainerKilled,
            ContainerState::Allocated | ContainerState::Acquired => FaultPoint::ContainerGranted,
            ContainerState::Launching => FaultPoint::ContainerLaunched,
            ContainerState::Running => FaultPoint::ContainerRunning,
        },
        ApplicationChange::ContextKept { .. }
        | ApplicationChange::ContextDropped { .. }
        | ApplicationChange::SpecNamed { .. }
        | ApplicationChange::Blacklisted { .. }
        | ApplicationChange::Charged { .. }
        | ApplicationChange::Stamped(_)
        | ApplicationChange::IdGiven { .. }
        | ApplicationChange::StampsForgotten(_) => return None,
    })
}

const STAND: &str = "UPDATE application SET state = ?2, finished_ms = ?3, standing = ?4 WHERE application = ?1";
const KEEP_CONTEXT: &str =
    "INSERT OR REPLACE INTO application_context (application, number, context) VALUES (?1, ?2, ?3)";
const DROP_CONTEXT: &str = "DELETE FROM application_context WHERE application = ?1 AND number = ?2";
const NAME_SPEC: &str = "INSERT OR REPLACE INTO application_spec (application, name, context) VALUES (?1, ?2, ?3)";
const TAKE_ITEMS: &str = "UPDATE application_launch SET taken = ?6
                 WHERE application = ?1 AND priority = ?2 AND request_id = ?3 AND memory_mb = ?4 AND vcores = ?5";
const BLACKLIST: &str = "INSERT OR REPLACE INTO application_blacklist (application, name) VALUES (?1, ?2)";
const UNLIST: &str = "DELETE FROM application_blacklist WHERE application = ?1 AND name = ?2";
const ANSWER: &str = "UPDATE application SET answer = ?2,
                     standing = json_remove(json_set(standing, '$.response_id', ?3), '$.taken_in')
                 WHERE application = ?1";

fn record_change(
    transaction: &Transaction<'_>,
    missed_updates: &mut MissedUpdates,
    fact: FactNumber,
    change: &ApplicationChange,
) -> rusqlite::Result<()> {
    let execute = |sql: &str, values: &[&dyn ToSql]| transaction.prepare_cached(sql)?.execute(values).map(drop);
    match change {
        ApplicationChange::IdGiven { application, user, until_ms } => {
            give_id(transaction, *application, user, *until_ms)
        }
        ApplicationChange::Submitted { submitted, standing } => {
            execute("DELETE FROM application_id WHERE application = ?1", params![submitted.id.to_string()])?;
            submit(transaction, submitted, standing)
        }
        ApplicationChange::Stands { application, standing } => {
            let values = params![application.to_string(), standing.state.name(), standing.finished_ms, json(standing)?];
            update_row(transaction, missed_updates, fact, STAND, values)
        }
        ApplicationChange::ContextKept { application, number, context } => {
            execute(KEEP_CONTEXT, params![application.to_string(), number.cast_signed(), json(&**context)?])
        }
        ApplicationChange::ContextDropped { application, number } => {
            execute(DROP_CONTEXT, params![application.to_string(), number.cast_signed()])
        }
        ApplicationChange::SpecNamed { application, name, context } => {
            execute(NAME_SPEC, params![application.to_string(), name, context.cast_signed()])
        }
        ApplicationChange::RowSet { application, request, place, count, relaxes } => {
            set_row(transaction, (*application, *request), place, *count, *relaxes)
        }
        ApplicationChange::TypeDropped { application, request } => {
            ["application_request", "application_launch"].into_iter().try_for_each(|table| {
                of_type(transaction, &format!("DELETE FROM {table} {OF_TYPE}"), *application, *request)
            })
        }
        ApplicationChange::LaunchSet { application, request, launch } => {
            set_launch(transaction, *application, *request, launch.as_deref())
        }
        ApplicationChange::ItemsTaken { application, request, taken } => {
            let [priority, request_id, memory_mb, vcores] = type_columns(*request);
            let values = params![application.to_string(), priority, request_id, memory_mb, vcores, taken];
            update_row(transaction, missed_updates, fact, TAKE_ITEMS, values)
        }
        ApplicationChange::ItemTroubled { application, request, item, trouble } => {
            set_trouble(transaction, (*application, *request), *item, trouble.as_ref())
        }
        ApplicationChange::Blacklisted { application, name, is_on } => {
            execute(if *is_on { BLACKLIST } else { UNLIST }, params![application.to_string(), name])
        }
        ApplicationChange::Container(container) => set_container(transaction, container),
        ApplicationChange::Answered { application, attempt, response_id, answer, containers, statuses } => {
            let id = application.to_string();
            let values = params![id, &**answer, response_id.cast_signed()];
            update_row(transaction, missed_updates, fact, ANSWER, values)?;
            name_in(transaction, &id, containers, *attempt, *response_id)?;
            set_statuses_in(transaction, &id, statuses, Some((*attempt, *response_id)))
        }
        ApplicationChange::Listed { application, attempt, containers, statuses } => {
            let id = application.to_string();
            execute("UPDATE application SET answer = NULL WHERE application = ?1", params![id])?;
            name_in(transaction, &id, containers, *attempt, 0)?;
            set_statuses_in(transaction, &id, statuses, None)
        }
        ApplicationChange::Charged { application, cost } => charge(transaction, *application, cost),
        ApplicationChange::Stamped(stamp) => {
            super::market::record(transaction, missed_updates, fact, &MarketFact::Stamp(stamp.clone()))
        }
        ApplicationChange::StampsForgotten(forgotten) => {
            super::market::record(transaction, missed_updates, fact, &MarketFact::StampsForgotten(forgotten.clone()))
        }
    }
}

fn give_id(
    transaction: &Transaction<'_>,
    application: ApplicationId,
    user: &str,
    until_ms: i64,
) -> rusqlite::Result<()> {
    // The time at which it was given.
    let now_ms = until_ms.saturating_sub_unsigned(UNUSED_ID_MS);
    transaction.prepare_cached("DELETE FROM application_id WHERE until_ms <= ?1")?.execute(params![now_ms])?;
    set_meta(transaction, APPLICATION_START_MS, application.start_ms.cast_signed())?;
    transaction
        .prepare_cached("INSERT OR REPLACE INTO application_id (application, user, until_ms) VALUES (?1, ?2, ?3)")?
        .execute(params![application.to_string(), user, until_ms])
        .map(drop)
}

fn set_row(
    transaction: &Transaction<'_>,
    (application, request): (ApplicationId, RequestType),
    place: &Placement,
    count: u32,
    relaxes: bool,
) -> rusqlite::Result<()> {
    let [priority, request_id, memory_mb, vcores] = type_columns(request);
    let place = String::from(place.clone());
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO application_request
                 (application, priority, request_id, memory_mb, vcores, place, containers, relaxes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![application.to_string(), priority, request_id, memory_mb, vcores, place, count, relaxes])
        .map(drop)
}

fn set_launch(
    transaction: &Transaction<'_>,
    application: ApplicationId,
    request: RequestType,
    launch: Option<&TypeLaunch>,
) -> rusqlite::Result<()> {
    let Some(launch) = launch else {
        return of_type(transaction, &format!("DELETE FROM application_launch {OF_TYPE}"), application, request);
    };
    let [priority, request_id, memory_mb, vcores] = type_columns(request);
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO application_launch
                 (application, priority, request_id, memory_mb, vcores, launch, taken)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)",
        )?
        .execute(params![application.to_string(), priority, request_id, memory_mb, vcores, json(launch)?])
        .map(drop)
}

fn set_trouble(
    transaction: &Transaction<'_>,
    (application, request): (ApplicationId, RequestType),
    item: u32,
    trouble: Option<&ItemTrouble>,
) -> rusqlite::Result<()> {
    let [priority, request_id, memory_mb, vcores] = type_columns(request);
    let application = application.to_string();
    let Some(trouble) = trouble else {
        let sql = format!("DELETE FROM application_item {OF_TYPE} AND item = ?6");
        let values = params![application, priority, request_id, memory_mb, vcores, item];
        return transaction.prepare_cached(&sql)?.execute(values).map(drop);
    };
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO application_item
                 (application, priority, request_id, memory_mb, vcores, item, trouble)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![application, priority, request_id, memory_mb, vcores, item, json(trouble)?])
        .map(drop)
}

/// Sets which answer has the statuses of complete containers: an attempt's, by its response id; none: none yet.
fn set_statuses_in(
    transaction: &Transaction<'_>,
    application: &str,
    containers: &[u64],
    answer: Option<(u32, u64)>,
) -> rusqlite::Result<()> {
    let (attempt, response_id) = answer.map(|(attempt, response_id)| (attempt, response_id.cast_signed())).unzip();
    let mut update = transaction.prepare_cached(
        "UPDATE container SET status_attempt = ?3, status_response = ?4 WHERE application = ?1 AND number = ?2",
    )?;
    containers.iter().try_for_each(|number| {
        update.execute(params![application, number.cast_signed(), attempt, response_id]).map(drop)
    })
}

fn charge(transaction: &Transaction<'_>, application: ApplicationId, charged: &ContainerCost) -> rusqlite::Result<()> {
    let ContainerCost { tick, slot_ms, sampled_slots, cost } = charged;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO application_cost
                 (application, tick, container_slots, container_slot_ms, cost, cost_units)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            application.to_string(),
            tick.cast_signed(),
            sampled_slots.cast_signed(),
            slot_ms.cast_signed(),
            cost.to_string(),
            cost.units().to_string(),
        ])
        .map(drop)
}

const OF_TYPE: &str = "WHERE application = ?1 AND priority = ?2 AND request_id = ?3 AND memory_mb = ?4 AND vcores = ?5";

fn of_type(
    transaction: &Transaction<'_>,
    sql: &str,
    application: ApplicationId,
    request: RequestType,
) -> rusqlite::Result<()> {
    let [priority, request_id, memory_mb, vcores] = type_columns(request);
    let values = params![application.to_string(), priority, request_id, memory_mb, vcores];
    transaction.prepare_cached(sql)?.execute(values).map(drop)
}

fn submit(
    transaction: &Transaction<'_>,
    submitted: &SubmittedApplication,
    standing: &Standing,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO application
                 (application, start_ms, number, user, queue, accept_order, state, submitted, secret, standing)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            submitted.id.to_string(),
            submitted.id.start_ms.cast_signed(),
            submitted.id.number,
            submitted.user,
            submitted.queue,
            submitted.order.cast_signed(),
            standing.state.name(),
            json(submitted)?,
            submitted.secret.as_bytes(),
            json(standing)?,
        ])
        .map(drop)
}

/// A container as it is from now on; what answers have said of it stays.
fn set_container(transaction: &Transaction<'_>, container: &Container) -> rusqlite::Result<()> {
    let end = container.end.as_ref();
    transaction
        .prepare_cached(
            "INSERT INTO container
                 (application, number, state, is_failed, is_preempted, memory_mb, vcores, granted_ms, ended_ms, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (application, number) DO UPDATE SET state = excluded.state, is_failed = excluded.is_failed,
                 is_preempted = excluded.is_preempted, ended_ms = excluded.ended_ms, record = excluded.record",
        )?
        .execute(params![
            container.id.application.to_string(),
            container.id.number.cast_signed(),
            container.state.name(),
            container.has_failed(),
            end.is_some_and(|end| end.exit == ContainerExit::PREEMPTED),
            container.request.capability.memory_mb,
            container.request.capability.vcores,
            container.granted_ms,
            end.map(|end| end.ended_ms),
            json(container)?,
        ])
        .map(drop)
}

/// An answer has named containers.
fn name_in(
    transaction: &Transaction<'_>,
    application: &str,
    containers: &[u64],
    attempt: u32,
    response_id: u64,
) -> rusqlite::Result<()> {
    let mut update = transaction.prepare_cached(
        "UPDATE container SET named_attempt = ?3, named_response = ?4,
             state = CASE state WHEN 'ALLOCATED' THEN 'ACQUIRED' ELSE state END
         WHERE application = ?1 AND number = ?2",
    )?;
    containers.iter().try_for_each(|number| {
        update.execute(params![application, number.cast_signed(), attempt, response_id.cast_signed()]).map(drop)
    })
}

/// The columns of a type. Numbers beyond 63 bits wrap.
fn type_columns(request: RequestType) -> [i64; 4] {
    let RequestType { priority, request_id, capability } = request;
    [priority.into(), request_id.cast_signed(), capability.memory_mb.into(), capability.vcores.into()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Capability;

    #[test]
    fn of_several_changes_of_a_row_in_one_step_the_last_is_written() {
        let application = ApplicationId::new(1, 1);
        let request = RequestType { priority: 1, request_id: 0, capability: Capability::new(512, 1) };
        let other = RequestType { priority: 2, ..request };
        let row =
            |request, place, count| ApplicationChange::RowSet { application, request, place, count, relaxes: true };
        let taken = |taken| ApplicationChange::ItemsTaken { application, request, taken };
        let any = || Placement::Any;
        let changes = [
            row(request, any(), 9),
            taken(1),
            row(other, any(), 8),
            row(request, Placement::Host("h".to_owned()), 7),
            row(request, any(), 6),
            taken(2),
        ];
        assert_eq!(overtaken(&changes), BTreeSet::from([0, 1]));
        let dropped = ApplicationChange::TypeDropped { application, request };
        assert!(overtaken(&[row(request, any(), 9), dropped, row(request, any(), 6)]).is_empty());
    }
}
