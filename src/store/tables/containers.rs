//! Rows of containers.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use crate::api::applications::ContainerState;
use crate::engine::{Container, ContainerTotals, Standing, SubmittedApplication};
use crate::model::ContainerExit;
use crate::store::enum_text::json;
use crate::store::loader::{LoadError, bound, first_row, from_json, rows, unsigned};

use super::row_writer::RowWriter;

/// Writes a container as it is from now on; what answers have said of it stays.
pub(super) fn set(writer: &RowWriter<'_>, container: &Container) -> rusqlite::Result<()> {
    let end = container.end.as_ref();
    writer.execute(
        "INSERT INTO container
                 (application, number, state, is_failed, is_preempted, memory_mb, vcores, granted_ms, ended_ms, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (application, number) DO UPDATE SET state = excluded.state, is_failed = excluded.is_failed,
                 is_preempted = excluded.is_preempted, ended_ms = excluded.ended_ms, record = excluded.record",
        params![
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
        ],
    )
}

/// Records that the answer of an attempt, by its response id, has named containers.
pub(super) fn name_in(
    writer: &RowWriter<'_>,
    application: &str,
    containers: &[u64],
    (attempt, response_id): (u32, u64),
) -> rusqlite::Result<()> {
    let name = "UPDATE container SET named_attempt = ?3, named_response = ?4,
             state = CASE state WHEN 'ALLOCATED' THEN 'ACQUIRED' ELSE state END
         WHERE application = ?1 AND number = ?2";
    containers.iter().try_for_each(|number| {
        writer.execute(name, params![application, number.cast_signed(), attempt, response_id.cast_signed()])
    })
}

/// Sets which answer has the statuses of complete containers: an attempt's, by its response id; none: none yet.
pub(super) fn set_statuses_in(
    writer: &RowWriter<'_>,
    application: &str,
    containers: &[u64],
    answer: Option<(u32, u64)>,
) -> rusqlite::Result<()> {
    let (attempt, response_id) = answer.map(|(attempt, response_id)| (attempt, response_id.cast_signed())).unzip();
    let set = "UPDATE container SET status_attempt = ?3, status_response = ?4 WHERE application = ?1 AND number = ?2";
    containers
        .iter()
        .try_for_each(|number| writer.execute(set, params![application, number.cast_signed(), attempt, response_id]))
}

/// Containers that live or whose status may have to be sent again, and the highest number of the others.
pub(super) fn load_containers(
    database: &Connection,
    submitted: &SubmittedApplication,
    standing: &Standing,
    application: &str,
) -> Result<(Vec<Container>, u64), LoadError> {
    let sql = "SELECT record, state, named_attempt, named_response, status_attempt, status_response FROM container
               WHERE application = ?1 AND (ended_ms IS NULL OR (?2 AND (status_response IS NULL
                   OR (status_attempt = ?3 AND status_response = ?4))))
               ORDER BY number";
    let has_reader = !submitted.is_unattended && !standing.state.is_over();
    // What the last answer said has been received if a call with its id was taken in.
    let unreceived = if standing.taken_in.is_some() { -1 } else { standing.response_id.cast_signed() };
    let loaded = rows(database, sql, params![application, has_reader, standing.attempt, unreceived], |row| {
        let answer = |attempt: usize, response: usize| -> rusqlite::Result<Option<(u32, u64)>> {
            let pair = (row.get::<_, Option<u32>>(attempt)?, row.get::<_, Option<i64>>(response)?);
            Ok(pair.0.zip(pair.1.map(i64::cast_unsigned)))
        };
        let container: Container = from_json("container.record", row.get(0)?, "its JSON")?;
        let state: ContainerState =
            from_json("container.state", format!("{:?}", row.get::<_, String>(1)?), "its JSON")?;
        let (named_in, status_in) = (answer(2, 3)?, answer(4, 5)?);
        Ok((container.id.number, Container { state, named_in, status_in, ..container }))
    })?;
    let loaded: BTreeMap<u64, Container> = loaded.into_iter().collect();
    let sql = "SELECT number FROM container WHERE application = ?1 AND ended_ms IS NOT NULL ORDER BY number DESC";
    let complete = rows(database, sql, [application], |row| Ok(unsigned(row, 0)?))?;
    let stored = complete.into_iter().find(|number| !loaded.contains_key(number));
    Ok((loaded.into_values().collect(), stored.unwrap_or(0)))
}

/// What complete containers leave, which an application that is over has `known`, and the highest number of a container.
pub(super) fn load_totals(
    database: &Connection,
    known: Option<ContainerTotals>,
    application: &str,
) -> Result<(ContainerTotals, u64), LoadError> {
    if let Some(totals) = known {
        let sql = "SELECT coalesce(max(number), 0) FROM container WHERE application = ?1";
        let last = first_row(database, sql, [application], |row| Ok(unsigned(row, 0)?))?;
        return Ok((totals, last.unwrap_or(0)));
    }
    let sql = "SELECT count(ended_ms), coalesce(sum(is_failed), 0), coalesce(sum(is_preempted), 0),
                   CAST(total(memory_mb * max(0, ended_ms - granted_ms)) AS INTEGER),
                   CAST(total(vcores * max(0, ended_ms - granted_ms)) AS INTEGER), coalesce(max(number), 0)
               FROM container WHERE application = ?1";
    let found = first_row(database, sql, [application], |row| {
        let totals = ContainerTotals {
            complete: unsigned(row, 0)?,
            failed: unsigned(row, 1)?,
            preempted: unsigned(row, 2)?,
            memory_mb_ms: unsigned(row, 3)?,
            vcore_ms: unsigned(row, 4)?,
        };
        Ok((totals, unsigned(row, 5)?))
    })?;
    Ok(found.unwrap_or_default())
}

/// Complete containers of an application from after a number through another, by number; perhaps only those that failed by their own
/// fault.
pub(in crate::store) fn complete(
    database: &Connection,
    application: &str,
    (after, through): (u64, u64),
    failed_only: bool,
    limit: usize,
) -> Result<Vec<Container>, LoadError> {
    let sql = "SELECT record FROM container
                   WHERE application = ?1 AND number > ?2 AND number <= ?3 AND ended_ms IS NOT NULL
                       AND (is_failed OR NOT ?4)
                   ORDER BY number LIMIT ?5";
    let values = params![application, bound(after), bound(through), failed_only, bound(limit)];
    rows(database, sql, values, |row| from_json("container.record", row.get(0)?, "a container, JSON"))
}

/// Deletes at most `limit_rows` of an application; returns how many.
pub(in crate::store) fn delete_some_of(
    database: &Connection,
    application: &str,
    limit_rows: usize,
) -> rusqlite::Result<usize> {
    let sql = "DELETE FROM container WHERE application = ?1 AND number IN
                   (SELECT number FROM container WHERE application = ?1 ORDER BY number LIMIT ?2)";
    database.prepare_cached(sql)?.execute(params![application, bound(limit_rows)])
}
