//! Reads rows into typed values. Money is a text with a whole number of units of 10^-12 credit.

use std::path::Path;
use std::str::FromStr;

use rusqlite::types::{FromSql, Type, ValueRef};
use rusqlite::{Connection, Params, Row};
use serde::de::DeserializeOwned;

use crate::model::Credits;

use super::error::StoreError;

/// A row that cannot be read.
#[derive(Debug)]
pub(super) enum LoadError {
    Database(rusqlite::Error),
    Value { column: &'static str, value: String, expected: &'static str },
}

impl LoadError {
    /// The same, of the database in this file.
    pub(super) fn of(self, path: &Path) -> StoreError {
        let path = path.to_owned();
        match self {
            Self::Database(source) => StoreError::Database { action: "read", path, source },
            Self::Value { column, value, expected } => StoreError::Value { path, column, value, expected },
        }
    }
}

impl From<rusqlite::Error> for LoadError {
    fn from(source: rusqlite::Error) -> Self {
        Self::Database(source)
    }
}

/// All rows of a query; the statement is cached.
pub(super) fn rows<T>(
    database: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T, LoadError>,
) -> Result<Vec<T>, LoadError> {
    database.prepare_cached(sql)?.query_and_then(values, read)?.collect()
}

/// The first row of a query, if there is one; the statement is cached.
pub(super) fn first_row<T>(
    database: &Connection,
    sql: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> Result<T, LoadError>,
) -> Result<Option<T>, LoadError> {
    database.prepare_cached(sql)?.query_and_then(values, read)?.next().transpose()
}

/// The only value of a query.
pub(super) fn value<T: FromSql>(database: &Connection, sql: &str) -> Result<T, LoadError> {
    Ok(database.query_row(sql, [], |row| row.get(0))?)
}

pub(super) fn wrong(column: &'static str, value: impl Into<String>, expected: &'static str) -> LoadError {
    LoadError::Value { column, value: value.into(), expected }
}

pub(super) fn parse<T: FromStr>(column: &'static str, text: String, expected: &'static str) -> Result<T, LoadError> {
    text.parse().map_err(|_| wrong(column, text, expected))
}

pub(super) fn from_json<T: DeserializeOwned>(
    column: &'static str,
    text: String,
    expected: &'static str,
) -> Result<T, LoadError> {
    serde_json::from_str(&text).map_err(|_| wrong(column, text, expected))
}

/// The value of an enum with a name that `from_name` finds.
pub(super) fn named<T>(
    column: &'static str,
    name: String,
    from_name: impl FnOnce(&str) -> Option<T>,
    expected: &'static str,
) -> Result<T, LoadError> {
    from_name(&name).ok_or_else(|| wrong(column, name, expected))
}

pub(super) fn units(column: &'static str, text: String) -> Result<Credits, LoadError> {
    parse(column, text, "a whole number of units of 10^-12 credit").map(Credits::from_units)
}

/// A number that the database has with its sign.
pub(super) fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get(column).map(i64::cast_unsigned)
}

/// The amount in a column that holds units.
pub(super) fn units_column(row: &Row<'_>, column: usize) -> rusqlite::Result<Credits> {
    let text: String = row.get(column)?;
    let units = text.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::<std::num::ParseIntError>::new(error))
    })?;
    Ok(Credits::from_units(units))
}

/// The amount in a column that may be NULL.
pub(super) fn optional_units_column(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Credits>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => units_column(row, column).map(Some),
    }
}

/// What may be bound where a query has a limit, or a number that may be beyond all that the database has.
pub(super) fn bound(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}
