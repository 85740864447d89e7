//! Reads columns of money: a text with a whole number of units of 10^-12 credit.

use rusqlite::Row;
use rusqlite::types::Type;

use crate::model::Credits;

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
