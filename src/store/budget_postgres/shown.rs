//! The one row of `publication`: what the tables show, and whose they are.

use tokio_postgres::GenericClient;

use super::error::PostgresError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShownState {
    pub(super) state: Option<String>,
    pub(super) tick: i64,
    pub(super) ledger: i64,
    pub(super) compacted: i64,
}

/// What the tables show; an error if they are another state database's. Those of none are the next one's that publishes.
pub(super) async fn shown(client: &impl GenericClient, ours: &str) -> Result<ShownState, PostgresError> {
    read(client, ours, "").await
}

/// The same, which stays so until the transaction ends.
pub(super) async fn shown_for_update(client: &impl GenericClient, ours: &str) -> Result<ShownState, PostgresError> {
    read(client, ours, "FOR UPDATE").await
}

async fn read(client: &impl GenericClient, ours: &str, locked: &str) -> Result<ShownState, PostgresError> {
    let sql = format!("SELECT state, tick, ledger, compacted FROM jobtracker.publication {locked}");
    let row = client.query_opt(&sql, &[]).await?.ok_or(PostgresError::NoPublication)?;
    let state: Option<String> = row.try_get(0)?;
    if let Some(theirs) = state.as_ref().filter(|theirs| *theirs != ours) {
        let ours = if ours.is_empty() { "a new one" } else { ours };
        return Err(PostgresError::OtherState { theirs: theirs.clone(), ours: ours.to_owned() });
    }
    Ok(ShownState { state, tick: row.try_get(1)?, ledger: row.try_get(2)?, compacted: row.try_get(3)? })
}
