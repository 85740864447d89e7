//! Reads rows into typed values. Money is a text with a whole number of units of 10^-12 credit.

use std::path::Path;

use rusqlite::types::Type;
use rusqlite::{Connection, Params, Row};

use crate::model::Credits;

use super::error::StoreError;
use super::schema::meta;

/// Reads rows; its errors name the column of an invalid value.
pub(super) struct Loader<'a> {
    database: &'a Connection,
    path: &'a Path,
}

impl<'a> Loader<'a> {
    pub(super) fn new(database: &'a Connection, path: &'a Path) -> Self {
        Self { database, path }
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.rows_with(sql, [], read)
    }

    /// All rows of a query with `parameters`; the statement is cached.
    pub(super) fn rows_with<T>(
        &self,
        sql: &str,
        parameters: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let all = || -> rusqlite::Result<Vec<T>> {
            self.database.prepare_cached(sql)?.query_map(parameters, read)?.collect()
        };
        all().map_err(|source| self.failed(source))
    }

    pub(super) fn texts<const COLUMNS: usize>(&self, sql: &str) -> Result<Vec<[String; COLUMNS]>, StoreError> {
        self.rows(sql, |row| {
            let mut texts = [const { String::new() }; COLUMNS];
            for (index, text) in texts.iter_mut().enumerate() {
                *text = row.get(index)?;
            }
            Ok(texts)
        })
    }

    pub(super) fn meta<T: rusqlite::types::FromSql>(&self, key: &str) -> Result<Option<T>, StoreError> {
        meta(self.database, key).map_err(|source| self.failed(source))
    }

    pub(super) fn value<T: rusqlite::types::FromSql>(&self, sql: &str) -> Result<T, StoreError> {
        self.database.query_row(sql, [], |row| row.get(0)).map_err(|source| self.failed(source))
    }

    pub(super) fn parse<T: std::str::FromStr>(
        &self,
        column: &'static str,
        value: String,
        expected: &'static str,
    ) -> Result<T, StoreError> {
        value.parse().map_err(|_| self.wrong(column, value, expected))
    }

    pub(super) fn wrong(&self, column: &'static str, value: String, expected: &'static str) -> StoreError {
        StoreError::Value { path: self.path.to_owned(), column, value, expected }
    }

    fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database { action: "read", path: self.path.to_owned(), source }
    }
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
        rusqlite::types::ValueRef::Null => Ok(None),
        _ => units_column(row, column).map(Some),
    }
}
