//! Rows of applications and what they ask for; their containers are in `containers.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::{Connection, Row, ToSql, params};
use serde::de::DeserializeOwned;

use crate::api::applications::{ContainerState, Placement};
use crate::engine::{
    ApplicationChange, ContainerCost, RequestRow, RequestType, RestoredApplication, RestoredApplications, Standing,
    SubmittedApplication, UNUSED_ID_MS,
};
use crate::market::MarketFact;
use crate::model::{ApplicationId, ApplicationSecret, Capability};
use crate::store::enum_text::json;
use crate::store::fault_point::FaultPoint;
use crate::store::loader::{LoadError, bound, first_row, from_json, parse, rows, units, unsigned, value, wrong};
use crate::store::schema::{APPLICATION_START_MS, meta, set_meta};

use super::containers::{self, load_containers, load_totals};
use super::market;
use super::row_writer::RowWriter;

pub(super) fn record(writer: &mut RowWriter<'_>, changes: &[ApplicationChange]) -> rusqlite::Result<()> {
    let overtaken = overtaken(changes);
    let written = changes.iter().enumerate().filter(|(place, _)| !overtaken.contains(place));
    for (_, change) in written {
        record_change(writer, change)?;
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
const BLACKLIST: &str = "INSERT OR REPLACE INTO application_blacklist (application, name) VALUES (?1, ?2)";
const UNLIST: &str = "DELETE FROM application_blacklist WHERE application = ?1 AND name = ?2";
const ANSWER: &str = "UPDATE application SET answer = ?2,
                     standing = json_remove(json_set(standing, '$.response_id', ?3), '$.taken_in')
                 WHERE application = ?1";

fn record_change(writer: &mut RowWriter<'_>, change: &ApplicationChange) -> rusqlite::Result<()> {
    match change {
        ApplicationChange::IdGiven { application, user, until_ms } => give_id(writer, *application, user, *until_ms),
        ApplicationChange::Submitted { submitted, standing } => submit(writer, submitted, standing),
        ApplicationChange::Stands { application, standing } => {
            let values = params![application.to_string(), standing.state.name(), standing.finished_ms, json(standing)?];
            writer.update(STAND, values)
        }
        ApplicationChange::ContextKept { application, number, context } => {
            writer.execute(KEEP_CONTEXT, params![application.to_string(), number.cast_signed(), json(&**context)?])
        }
        ApplicationChange::ContextDropped { application, number } => {
            writer.execute(DROP_CONTEXT, params![application.to_string(), number.cast_signed()])
        }
        ApplicationChange::SpecNamed { application, name, context } => {
            writer.execute(NAME_SPEC, params![application.to_string(), name, context.cast_signed()])
        }
        ApplicationChange::RowSet { application, request, place, count, relaxes } => {
            of_type(writer, SET_ROW, *application, *request, &[&String::from(place.clone()), count, relaxes])
        }
        ApplicationChange::TypeDropped { application, request } => {
            of_type(writer, DROP_ROWS, *application, *request, &[])?;
            of_type(writer, DROP_LAUNCH, *application, *request, &[])
        }
        ApplicationChange::LaunchSet { application, request, launch } => match launch {
            Some(launch) => of_type(writer, SET_LAUNCH, *application, *request, &[&json(&**launch)?]),
            None => of_type(writer, DROP_LAUNCH, *application, *request, &[]),
        },
        ApplicationChange::ItemsTaken { application, request, taken } => {
            let RequestType { priority, request_id, capability: Capability { memory_mb, vcores } } = request;
            let request_id = request_id.cast_signed();
            writer.update(TAKE_ITEMS, params![application.to_string(), priority, request_id, memory_mb, vcores, taken])
        }
        ApplicationChange::ItemTroubled { application, request, item, trouble } => match trouble {
            Some(trouble) => of_type(writer, SET_TROUBLE, *application, *request, &[item, &json(trouble)?]),
            None => of_type(writer, DROP_TROUBLE, *application, *request, &[item]),
        },
        ApplicationChange::Blacklisted { application, name, is_on } => {
            writer.execute(if *is_on { BLACKLIST } else { UNLIST }, params![application.to_string(), name])
        }
        ApplicationChange::Container(container) => containers::set(writer, container),
        ApplicationChange::Answered { application, attempt, response_id, answer, containers, statuses } => {
            let id = application.to_string();
            writer.update(ANSWER, params![id, &**answer, response_id.cast_signed()])?;
            containers::name_in(writer, &id, containers, (*attempt, *response_id))?;
            containers::set_statuses_in(writer, &id, statuses, Some((*attempt, *response_id)))
        }
        ApplicationChange::Listed { application, attempt, containers, statuses } => {
            let id = application.to_string();
            writer.execute("UPDATE application SET answer = NULL WHERE application = ?1", params![id])?;
            containers::name_in(writer, &id, containers, (*attempt, 0))?;
            containers::set_statuses_in(writer, &id, statuses, None)
        }
        ApplicationChange::Charged { application, cost } => charge(writer, *application, cost),
        ApplicationChange::Stamped(stamp) => market::record(writer, &MarketFact::Stamp(stamp.clone())),
        ApplicationChange::StampsForgotten(forgotten) => {
            market::record(writer, &MarketFact::StampsForgotten(forgotten.clone()))
        }
    }
}

fn give_id(writer: &RowWriter<'_>, application: ApplicationId, user: &str, until_ms: i64) -> rusqlite::Result<()> {
    // The time at which it was given.
    let now_ms = until_ms.saturating_sub_unsigned(UNUSED_ID_MS);
    writer.execute("DELETE FROM application_id WHERE until_ms <= ?1", params![now_ms])?;
    set_meta(writer.transaction, APPLICATION_START_MS, application.start_ms.cast_signed())?;
    let insert = "INSERT OR REPLACE INTO application_id (application, user, until_ms) VALUES (?1, ?2, ?3)";
    writer.execute(insert, params![application.to_string(), user, until_ms])
}

fn submit(writer: &RowWriter<'_>, submitted: &SubmittedApplication, standing: &Standing) -> rusqlite::Result<()> {
    writer.execute("DELETE FROM application_id WHERE application = ?1", params![submitted.id.to_string()])?;
    writer.execute(
        "INSERT INTO application
                 (application, start_ms, number, user, queue, accept_order, state, submitted, secret, standing)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
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
        ],
    )
}

const SET_ROW: &str = "INSERT OR REPLACE INTO application_request
                 (application, priority, request_id, memory_mb, vcores, place, containers, relaxes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const SET_LAUNCH: &str = "INSERT OR REPLACE INTO application_launch
                 (application, priority, request_id, memory_mb, vcores, launch, taken)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)";
const TAKE_ITEMS: &str = "UPDATE application_launch SET taken = ?6
                 WHERE application = ?1 AND priority = ?2 AND request_id = ?3 AND memory_mb = ?4 AND vcores = ?5";
const SET_TROUBLE: &str = "INSERT OR REPLACE INTO application_item
                 (application, priority, request_id, memory_mb, vcores, item, trouble)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const DROP_ROWS: &str = "DELETE FROM application_request WHERE application = ?1 AND priority = ?2 AND request_id = ?3 AND memory_mb = ?4 AND vcores = ?5";
const DROP_LAUNCH: &str = "DELETE FROM application_launch WHERE application = ?1 AND priority = ?2 AND request_id = ?3 AND memory_mb = ?4 AND vcores = ?5";
const DROP_TROUBLE: &str = "DELETE FROM application_item WHERE application = ?1 AND priority = ?2 AND request_id = ?3 AND memory_mb = ?4 AND vcores = ?5 AND item = ?6";

/// Executes a statement about a type, whose values are the type's columns and `rest`. Numbers beyond 63 bits wrap.
fn of_type(
    writer: &RowWriter<'_>,
    sql: &str,
    application: ApplicationId,
    request: RequestType,
    rest: &[&dyn ToSql],
) -> rusqlite::Result<()> {
    let RequestType { priority, request_id, capability: Capability { memory_mb, vcores } } = request;
    let (application, request_id) = (application.to_string(), request_id.cast_signed());
    let columns: [&dyn ToSql; 5] = [&application, &priority, &request_id, &memory_mb, &vcores];
    writer.execute(sql, &*[&columns, rest].concat())
}

fn charge(writer: &RowWriter<'_>, application: ApplicationId, charged: &ContainerCost) -> rusqlite::Result<()> {
    let ContainerCost { tick, slot_ms, sampled_slots, cost } = charged;
    writer.execute(
        "INSERT OR REPLACE INTO application_cost
                 (application, tick, container_slots, container_slot_ms, cost, cost_units)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            application.to_string(),
            tick.cast_signed(),
            sampled_slots.cast_signed(),
            slot_ms.cast_signed(),
            cost.to_string(),
            cost.units().to_string(),
        ],
    )
}

/// All that are not over or have live containers, and of the others so many of the newest. The stamps come with those of the market.
pub(in crate::store) fn load(database: &Connection, over: usize) -> Result<RestoredApplications, LoadError> {
    let sql = "SELECT application, submitted, secret, standing, answer FROM application
               WHERE finished_ms IS NULL
                   OR application IN (SELECT application FROM container WHERE ended_ms IS NULL)
                   OR application IN (SELECT application FROM application WHERE finished_ms IS NOT NULL
                                      ORDER BY finished_ms DESC LIMIT ?1)
                   OR application IN (SELECT change.value ->> '$.holder.application'
                                      FROM metered, json_each(metered.changes) AS change)
               ORDER BY start_ms, number";
    let last_start_ms: i64 = value(database, "SELECT coalesce(max(start_ms), 0) FROM application")?;
    let last_start_ms = last_start_ms.max(meta(database, APPLICATION_START_MS)?.unwrap_or(0));
    let applications = rows(database, sql, [bound(over)], |row| {
        let answer: Option<Vec<u8>> = row.get(4)?;
        Ok(RestoredApplication { last_answer: answer.map(Arc::from), ..application(database, row)? })
    });
    Ok(RestoredApplications {
        applications: applications?,
        last_start_ms: last_start_ms.cast_unsigned(),
        unused_ids: unused_ids(database)?,
        stamps: Vec::new(),
    })
}

fn unused_ids(database: &Connection) -> Result<Vec<(ApplicationId, Arc<str>, i64)>, LoadError> {
    rows(database, "SELECT application, user, until_ms FROM application_id", [], |row| {
        let id = parse("application_id.application", row.get(0)?, "the id of an application")?;
        Ok((id, row.get(1)?, row.get(2)?))
    })
}

/// The highest order of an application among submissions; 0 without any.
pub(in crate::store) fn last_order(database: &Connection) -> Result<u64, LoadError> {
    value(database, "SELECT coalesce(max(accept_order), 0) FROM application").map(i64::cast_unsigned)
}

/// A row with the id, what was submitted, the secret and how it stands, as an application with all that a restart needs
/// but its last answer.
fn application(database: &Connection, row: &Row<'_>) -> Result<RestoredApplication, LoadError> {
    let id: String = row.get(0)?;
    let over = over_application(database, row)?;
    let contexts = "SELECT number, context FROM application_context WHERE application = ?1";
    let specs = "SELECT context, name FROM application_spec WHERE application = ?1";
    let blacklist = "SELECT name FROM application_blacklist WHERE application = ?1";
    let requests = "SELECT priority, request_id, memory_mb, vcores, place, containers, relaxes FROM application_request
               WHERE application = ?1";
    let launches = "SELECT priority, request_id, memory_mb, vcores, launch, taken FROM application_launch
               WHERE application = ?1";
    let (containers, stored_through) = load_containers(database, &over.submitted, &over.standing, &id)?;
    Ok(RestoredApplication {
        contexts: rows(database, contexts, [&id], |row| {
            Ok((unsigned(row, 0)?, parse_json("application_context.context", row.get(1)?)?))
        })?,
        specs: rows(database, specs, [&id], |row| Ok((row.get(1)?, unsigned(row, 0)?)))?,
        rows: rows(database, requests, [&id], |row| {
            let place = Placement::from(row.get::<_, String>(4)?);
            Ok((type_of(row)?, place, RequestRow { count: row.get(5)?, relaxes: row.get(6)? }))
        })?,
        launches: rows(database, launches, [&id], |row| {
            Ok((type_of(row)?, parse_json("application_launch.launch", row.get(4)?)?, row.get(5)?))
        })?,
        blacklist: rows(database, blacklist, [&id], |row| Ok(row.get(0)?))?,
        containers,
        stored_through,
        ..over
    })
}

/// The same row as what reports need of an application that is over, without its containers.
pub(in crate::store) fn over_application(
    database: &Connection,
    row: &Row<'_>,
) -> Result<RestoredApplication, LoadError> {
    let id: String = row.get(0)?;
    let submitted: SubmittedApplication = parse_json("application.submitted", row.get(1)?)?;
    let submitted = SubmittedApplication { secret: secret(&id, &row.get::<_, Vec<u8>>(2)?)?, ..submitted };
    let standing: Standing = parse_json("application.standing", row.get(3)?)?;
    let (totals, last_number) = load_totals(database, standing.totals, &id)?;
    let troubles = "SELECT priority, request_id, memory_mb, vcores, item, trouble FROM application_item
               WHERE application = ?1";
    let cost =
        "SELECT tick, container_slots, container_slot_ms, cost_units FROM application_cost WHERE application = ?1";
    Ok(RestoredApplication {
        contexts: Vec::new(),
        specs: Vec::new(),
        rows: Vec::new(),
        launches: Vec::new(),
        troubles: rows(database, troubles, [&id], |row| {
            Ok((type_of(row)?, row.get(4)?, parse_json("application_item.trouble", row.get(5)?)?))
        })?,
        blacklist: Vec::new(),
        containers: Vec::new(),
        totals,
        cost: first_row(database, cost, [&id], |row| {
            Ok(ContainerCost {
                tick: unsigned(row, 0)?,
                slot_ms: unsigned(row, 2)?,
                sampled_slots: unsigned(row, 1)?,
                cost: units("application_cost.cost_units", row.get(3)?)?,
            })
        })?
        .unwrap_or_default(),
        last_number,
        stored_through: last_number,
        last_answer: None,
        submitted,
        standing,
    })
}

pub(in crate::store) fn secret(id: &str, bytes: &[u8]) -> Result<ApplicationSecret, LoadError> {
    ApplicationSecret::from_bytes(bytes).ok_or_else(|| wrong("application.secret", id, "20 bytes"))
}

/// The type in the first four columns of a row.
fn type_of(row: &Row<'_>) -> rusqlite::Result<RequestType> {
    let capability = Capability::new(row.get(2)?, row.get(3)?);
    Ok(RequestType { priority: row.get(0)?, request_id: unsigned(row, 1)?, capability })
}

fn parse_json<T: DeserializeOwned>(column: &'static str, text: String) -> Result<T, LoadError> {
    from_json(column, text, "its JSON")
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
