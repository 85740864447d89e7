//! Loads applications and their containers.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Row, params};
use serde::de::DeserializeOwned;

use crate::api::applications::{ContainerState, Placement};
use crate::engine::{
    Container, ContainerCost, ContainerTotals, ItemTrouble, RequestRow, RequestType, RestoredApplication,
    RestoredApplications, Standing, SubmittedApplication, TypeLaunch,
};
use crate::model::{ApplicationId, ApplicationSecret, Capability};

use super::error::StoreError;
use super::loaded_market::units;
use super::loader::Loader;
use super::schema::APPLICATION_START_MS;

/// All that are not over or have live containers, and of the others so many of the newest. The stamps come with those of the market.
pub(super) fn load(loader: &Loader<'_>, over: usize) -> Result<RestoredApplications, StoreError> {
    let sql = "SELECT application, submitted, secret, standing, answer FROM application
               WHERE finished_ms IS NULL
                   OR application IN (SELECT application FROM container WHERE ended_ms IS NULL)
                   OR application IN (SELECT application FROM application WHERE finished_ms IS NOT NULL
                                      ORDER BY finished_ms DESC LIMIT ?1)
                   OR application IN (SELECT change.value ->> '$.holder.application'
                                      FROM metered, json_each(metered.changes) AS change)
               ORDER BY start_ms, number";
    let limit = i64::try_from(over).unwrap_or(i64::MAX);
    let heads = loader.rows_with(sql, params![limit], |row| {
        Ok(ApplicationHead {
            id: row.get(0)?,
            submitted: row.get(1)?,
            secret: row.get(2)?,
            standing: row.get(3)?,
            answer: row.get::<_, Option<Vec<u8>>>(4)?,
        })
    })?;
    let last_start_ms: i64 = loader.value("SELECT coalesce(max(start_ms), 0) FROM application")?;
    let last_start_ms = last_start_ms.max(loader.meta(APPLICATION_START_MS)?.unwrap_or(0));
    Ok(RestoredApplications {
        applications: heads.into_iter().map(|head| application(loader, head)).collect::<Result<_, _>>()?,
        last_start_ms: last_start_ms.cast_unsigned(),
        unused_ids: unused_ids(loader)?,
        stamps: Vec::new(),
    })
}

fn unused_ids(loader: &Loader<'_>) -> Result<Vec<(ApplicationId, Arc<str>, i64)>, StoreError> {
    let rows = loader.rows("SELECT application, user, until_ms FROM application_id", |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
    })?;
    let typed = rows.into_iter().map(|(id, user, until_ms)| {
        Ok((loader.parse("application_id.application", id, "the id of an application")?, user.into(), until_ms))
    });
    typed.collect()
}

/// The highest order of an application among submissions; 0 without any.
pub(super) fn last_order(loader: &Loader<'_>) -> Result<u64, StoreError> {
    let order: i64 = loader.value("SELECT coalesce(max(accept_order), 0) FROM application")?;
    Ok(order.cast_unsigned())
}

struct ApplicationHead {
    id: String,
    submitted: String,
    secret: Vec<u8>,
    standing: String,
    answer: Option<Vec<u8>>,
}

fn application(loader: &Loader<'_>, head: ApplicationHead) -> Result<RestoredApplication, StoreError> {
    let ApplicationHead { id, submitted, secret, standing, answer } = head;
    let submitted = submitted_of(loader, &id, submitted, &secret)?;
    let standing: Standing = parse(loader, "application.standing", standing)?;
    let of_one = |sql: &str| texts(loader, sql, &id);
    let contexts = of_one("SELECT number, context FROM application_context WHERE application = ?1")?
        .into_iter()
        .map(|(number, context)| Ok((number.cast_unsigned(), parse(loader, "application_context.context", context)?)))
        .collect::<Result<_, StoreError>>()?;
    let specs = of_one("SELECT context, name FROM application_spec WHERE application = ?1")?;
    let blacklist = of_one("SELECT 0, name FROM application_blacklist WHERE application = ?1")?;
    let (containers, stored_through) = containers(loader, &submitted, &standing, &id)?;
    let (totals, last_number) = totals(loader, &standing, &id)?;
    let cost = cost(loader, &id)?;
    Ok(RestoredApplication {
        contexts,
        specs: specs.into_iter().map(|(number, name)| (name, number.cast_unsigned())).collect(),
        rows: rows(loader, &id)?,
        launches: launches(loader, &id)?,
        troubles: troubles(loader, &id)?,
        blacklist: blacklist.into_iter().map(|(_, name)| name).collect(),
        containers,
        totals,
        last_number,
        stored_through,
        last_answer: answer.map(Arc::from),
        cost,
        submitted,
        standing,
    })
}

fn submitted_of(
    loader: &Loader<'_>,
    id: &str,
    submitted: String,
    secret: &[u8],
) -> Result<SubmittedApplication, StoreError> {
    let submitted: SubmittedApplication = parse(loader, "application.submitted", submitted)?;
    let wrong = || loader.wrong("application.secret", id.to_owned(), "20 bytes");
    let secret = ApplicationSecret::from_bytes(secret).ok_or_else(wrong)?;
    Ok(SubmittedApplication { secret, ..submitted })
}

/// An application that is over from its id, what it was submitted with, its secret and how it stands: what reports need,
/// without its containers.
pub(super) fn over_application(
    loader: &Loader<'_>,
    (id, submitted, secret, standing): (String, String, Vec<u8>, String),
) -> Result<RestoredApplication, StoreError> {
    let submitted = submitted_of(loader, &id, submitted, &secret)?;
    let standing: Standing = parse(loader, "application.standing", standing)?;
    let (totals, last_number) = totals(loader, &standing, &id)?;
    let cost = cost(loader, &id)?;
    Ok(RestoredApplication {
        contexts: Vec::new(),
        specs: Vec::new(),
        rows: Vec::new(),
        launches: Vec::new(),
        troubles: troubles(loader, &id)?,
        blacklist: Vec::new(),
        containers: Vec::new(),
        totals,
        cost,
        last_number,
        stored_through: last_number,
        last_answer: None,
        submitted,
        standing,
    })
}

fn texts(loader: &Loader<'_>, sql: &str, application: &str) -> Result<Vec<(i64, String)>, StoreError> {
    loader.rows_with(sql, params![application], |row| Ok((row.get(0)?, row.get(1)?)))
}

type LoadedRow = (RequestType, Placement, RequestRow);

fn rows(loader: &Loader<'_>, application: &str) -> Result<Vec<LoadedRow>, StoreError> {
    let sql = "SELECT priority, request_id, memory_mb, vcores, place, containers, relaxes FROM application_request
               WHERE application = ?1";
    loader.rows_with(sql, params![application], |row| {
        let place = Placement::from(row.get::<_, String>(4)?);
        Ok((type_of(row)?, place, RequestRow { count: row.get(5)?, relaxes: row.get(6)? }))
    })
}

fn launches(loader: &Loader<'_>, application: &str) -> Result<Vec<(RequestType, TypeLaunch, u32)>, StoreError> {
    let sql = "SELECT priority, request_id, memory_mb, vcores, launch, taken FROM application_launch
               WHERE application = ?1";
    let rows = loader.rows_with(sql, params![application], |row| {
        Ok((type_of(row)?, row.get::<_, String>(4)?, row.get::<_, u32>(5)?))
    })?;
    rows.into_iter()
        .map(|(request, launch, taken)| Ok((request, parse(loader, "application_launch.launch", launch)?, taken)))
        .collect()
}

fn troubles(loader: &Loader<'_>, application: &str) -> Result<Vec<(RequestType, u32, ItemTrouble)>, StoreError> {
    let sql = "SELECT priority, request_id, memory_mb, vcores, item, trouble FROM application_item
               WHERE application = ?1";
    let rows = loader.rows_with(sql, params![application], |row| {
        Ok((type_of(row)?, row.get::<_, u32>(4)?, row.get::<_, String>(5)?))
    })?;
    rows.into_iter()
        .map(|(request, item, trouble)| Ok((request, item, parse(loader, "application_item.trouble", trouble)?)))
        .collect()
}

/// Containers that live or whose status may have to be sent again, and the highest number of the others.
fn containers(
    loader: &Loader<'_>,
    submitted: &SubmittedApplication,
    standing: &Standing,
    application: &str,
) -> Result<(Vec<Container>, u64), StoreError> {
    let sql = "SELECT record, state, named_attempt, named_response, status_attempt, status_response FROM container
               WHERE application = ?1 AND (ended_ms IS NULL OR (?2 AND (status_response IS NULL
                   OR (status_attempt = ?3 AND status_response = ?4))))
               ORDER BY number";
    let has_reader = !submitted.is_unattended && !standing.state.is_over();
    // What the last answer said has been received if a call with its id was taken in.
    let unreceived = if standing.taken_in.is_some() { -1 } else { standing.response_id.cast_signed() };
    let rows = loader.rows_with(sql, params![application, has_reader, standing.attempt, unreceived], |row| {
        let answer = |attempt: usize, response: usize| -> rusqlite::Result<Option<(u32, u64)>> {
            let pair = (row.get::<_, Option<u32>>(attempt)?, row.get::<_, Option<i64>>(response)?);
            Ok(pair.0.zip(pair.1.map(i64::cast_unsigned)))
        };
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, answer(2, 3)?, answer(4, 5)?))
    })?;
    let mut loaded = BTreeMap::new();
    for (record, state, named_in, status_in) in rows {
        let container: Container = parse(loader, "container.record", record)?;
        let state: ContainerState = parse(loader, "container.state", format!("{state:?}"))?;
        loaded.insert(container.id.number, Container { state, named_in, status_in, ..container });
    }
    let sql = "SELECT number FROM container WHERE application = ?1 AND ended_ms IS NOT NULL ORDER BY number DESC";
    let complete = loader.rows_with(sql, params![application], |row| row.get::<_, i64>(0))?;
    let stored = complete.into_iter().map(i64::cast_unsigned).find(|number| !loaded.contains_key(number));
    Ok((loaded.into_values().collect(), stored.unwrap_or(0)))
}

/// What complete containers leave, and the highest number of a container.
fn totals(loader: &Loader<'_>, standing: &Standing, application: &str) -> Result<(ContainerTotals, u64), StoreError> {
    if let Some(totals) = standing.totals {
        let sql = "SELECT coalesce(max(number), 0) FROM container WHERE application = ?1";
        let last = loader.rows_with(sql, params![application], |row| row.get::<_, i64>(0))?;
        return Ok((totals, last.first().map_or(0, |last| last.cast_unsigned())));
    }
    let sql = "SELECT count(ended_ms), coalesce(sum(is_failed), 0), coalesce(sum(is_preempted), 0),
                   CAST(total(memory_mb * max(0, ended_ms - granted_ms)) AS INTEGER),
                   CAST(total(vcores * max(0, ended_ms - granted_ms)) AS INTEGER), coalesce(max(number), 0)
               FROM container WHERE application = ?1";
    let rows = loader.rows_with(sql, params![application], |row| {
        let number = |column: usize| row.get::<_, i64>(column).map(i64::cast_unsigned);
        let totals = ContainerTotals {
            complete: number(0)?,
            failed: number(1)?,
            preempted: number(2)?,
            memory_mb_ms: number(3)?,
            vcore_ms: number(4)?,
        };
        Ok((totals, number(5)?))
    })?;
    Ok(rows.into_iter().next().unwrap_or_default())
}

fn cost(loader: &Loader<'_>, application: &str) -> Result<ContainerCost, StoreError> {
    let sql =
        "SELECT tick, container_slots, container_slot_ms, cost_units FROM application_cost WHERE application = ?1";
    let rows = loader.rows_with(sql, params![application], |row| {
        let number = |column: usize| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.cast_unsigned());
        Ok((number(0)?, number(1)?, number(2)?, row.get::<_, String>(3)?))
    })?;
    let Some((tick, sampled_slots, slot_ms, cost)) = rows.into_iter().next() else {
        return Ok(ContainerCost::default());
    };
    let cost = units(loader, "application_cost.cost_units", cost)?;
    Ok(ContainerCost { tick, slot_ms, sampled_slots, cost })
}

/// The type in the first four columns of a row.
fn type_of(row: &Row<'_>) -> rusqlite::Result<RequestType> {
    Ok(RequestType {
        priority: row.get(0)?,
        request_id: row.get::<_, i64>(1)?.cast_unsigned(),
        capability: Capability::new(row.get(2)?, row.get(3)?),
    })
}

fn parse<T: DeserializeOwned>(loader: &Loader<'_>, column: &'static str, text: String) -> Result<T, StoreError> {
    serde_json::from_str(&text).map_err(|_| loader.wrong(column, text, "its JSON"))
}
