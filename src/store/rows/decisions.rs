//! Rows of decisions.

use rusqlite::{Transaction, params};

use crate::engine::Decision;
use crate::model::FactNumber;
use crate::store::json_text::json;

pub(super) fn add(transaction: &Transaction<'_>, number: FactNumber, decision: &Decision) -> rusqlite::Result<()> {
    let job = decision.job().map(|job| job.to_string());
    transaction
        .prepare_cached("INSERT INTO decision (number, job, decision) VALUES (?1, ?2, ?3)")?
        .execute(params![number.0.cast_signed(), job, json(decision)?])
        .map(drop)
}
