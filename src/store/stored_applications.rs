//! Reads applications that are over and containers that are complete, beside the writer and without it.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use crate::api::applications::ApplicationState;
use crate::engine::{Container, RestoredApplication};
use crate::model::{ApplicationId, ApplicationSecret, ContainerId};

use super::enum_text::json;
use super::error::StoreError;
use super::loaded_applications::over_application;
use super::loader::Loader;

/// Reads applications that are over. Cheap to clone; each call opens its own connection.
#[derive(Clone, Debug)]
pub(crate) struct StoredApplicationReader {
    database: PathBuf,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoredApplications {
    pub(crate) user: Option<String>,
    pub(crate) queue: Option<String>,
    /// In these states; empty: in any.
    pub(crate) states: Vec<ApplicationState>,
    /// With a smaller id than this.
    pub(crate) after: Option<ApplicationId>,
    pub(crate) limit: usize,
}

impl StoredApplicationReader {
    pub(super) fn new(database: &Path) -> Self {
        Self { database: database.to_owned() }
    }

    /// An application that is over, for reports: without contexts and containers. Blocks on the disk.
    pub(crate) fn one(&self, id: ApplicationId) -> Result<Option<RestoredApplication>, StoreError> {
        let sql = "SELECT application, submitted, secret, standing FROM application
                   WHERE application = ?1 AND finished_ms IS NOT NULL";
        Ok(self.read(sql, params![id.to_string()])?.pop())
    }

    /// The secret of an application, over or not. Blocks on the disk.
    pub(crate) fn secret(&self, id: ApplicationId) -> Result<Option<ApplicationSecret>, StoreError> {
        let database = self.open()?;
        let loader = Loader::new(&database, &self.database);
        let sql = "SELECT secret FROM application WHERE application = ?1";
        let found = loader.rows_with(sql, params![id.to_string()], |row| row.get::<_, Vec<u8>>(0))?.pop();
        let read = |bytes: Vec<u8>| ApplicationSecret::from_bytes(&bytes);
        let wrong = || loader.wrong("application.secret", id.to_string(), "20 bytes");
        found.map(|bytes| read(bytes).ok_or_else(wrong)).transpose()
    }

    /// Applications that are over, newest first; as [`Self::one`] has them. Blocks on the disk.
    pub(crate) fn list(&self, wanted: &StoredApplications) -> Result<Vec<RestoredApplication>, StoreError> {
        let StoredApplications { user, queue, states, after, limit } = wanted;
        let sql = "SELECT application, submitted, secret, standing FROM application
                   WHERE finished_ms IS NOT NULL AND (start_ms, number) < (?1, ?2)
                       AND (?3 IS NULL OR user = ?3) AND (?4 IS NULL OR queue = ?4)
                       AND (?5 = '[]' OR state IN (SELECT value FROM json_each(?5)))
                   ORDER BY start_ms DESC, number DESC LIMIT ?6";
        let start_ms = after.map_or(i64::MAX, |after| i64::try_from(after.start_ms).unwrap_or(i64::MAX));
        let number = after.map_or(i64::MAX, |after| after.number.into());
        let names: Vec<&str> = states.iter().map(|state| state.name()).collect();
        let names = json(&names).map_err(|source| self.failed(source))?;
        let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
        self.read(sql, params![start_ms, number, user, queue, names, limit])
    }

    fn read(&self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Vec<RestoredApplication>, StoreError> {
        let database = self.open()?;
        // An application that is deleted meanwhile is there with all its rows, or not at all.
        let transaction = database.unchecked_transaction().map_err(|source| self.failed(source))?;
        let loader = Loader::new(&transaction, &self.database);
        let heads = loader.rows_with(sql, values, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
        heads.into_iter().map(|head| over_application(&loader, head)).collect()
    }

    fn open(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(&self.database, flags).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database { action: "read", path: self.database.clone(), source }
    }
}

/// Reads complete containers of a state database. Cheap to clone; each call opens its own connection.
#[derive(Clone, Debug)]
pub(crate) struct StoredContainerReader {
    database: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredContainers {
    /// With a higher number than this.
    pub(crate) after: u64,
    pub(crate) through: u64,
    /// Only those that failed by their own fault.
    pub(crate) failed_only: bool,
    pub(crate) limit: usize,
}

impl StoredContainerReader {
    pub(super) fn new(database: &Path) -> Self {
        Self { database: database.to_owned() }
    }

    /// Complete containers of an application, by number. Blocks on the disk.
    pub(crate) fn complete(
        &self,
        application: ApplicationId,
        wanted: StoredContainers,
    ) -> Result<Vec<Container>, StoreError> {
        let StoredContainers { after, through, failed_only, limit } = wanted;
        let sql = "SELECT record FROM container
                   WHERE application = ?1 AND number > ?2 AND number <= ?3 AND ended_ms IS NOT NULL
                       AND (is_failed OR NOT ?4)
                   ORDER BY number LIMIT ?5";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let bound = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        self.read(sql, params![application.to_string(), bound(after), bound(through), failed_only, limit])
    }

    /// A container, if it is complete. Blocks on the disk.
    pub(crate) fn one(&self, id: ContainerId) -> Result<Option<Container>, StoreError> {
        let wanted =
            StoredContainers { after: id.number.saturating_sub(1), through: id.number, failed_only: false, limit: 1 };
        let found = self.complete(id.application, wanted)?.pop();
        Ok(found.filter(|container| container.id == id))
    }

    fn read(&self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Vec<Container>, StoreError> {
        let failed = |source| StoreError::Database { action: "read", path: self.database.clone(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let database = Connection::open_with_flags(&self.database, flags).map_err(failed)?;
        let loader = Loader::new(&database, &self.database);
        let records = loader.rows_with(sql, values, |row| row.get::<_, String>(0))?;
        let wrong = |record: String| loader.wrong("container.record", record, "a container, JSON");
        records.into_iter().map(|record| serde_json::from_str(&record).map_err(|_| wrong(record.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::api::ContainerEnd;
    use crate::api::applications::{ContainerState, FinalStatus, Locality, Placement};
    use crate::engine::{
        ApplicationChange, ContainerNode, ContainerTotals, Fact, LoweredRows, RequestType, Standing,
        SubmittedApplication,
    };
    use crate::model::{Capability, ContainerExit, FactNumber, Priority};
    use crate::store::counter_encoding::CounterNames;
    use crate::store::database::open_for_writing;
    use crate::store::durable::MissedUpdates;
    use crate::store::rows;

    use super::*;

    const TOTALS: ContainerTotals =
        ContainerTotals { complete: 7, failed: 2, preempted: 1, memory_mb_ms: 5_000, vcore_ms: 9_000 };

    fn submitted(number: u32, user: &str, state: ApplicationState) -> ApplicationChange {
        let submitted = SubmittedApplication {
            id: ApplicationId::new(5, number),
            user: user.into(),
            name: format!("number {number}"),
            application_type: String::new(),
            queue: "q".into(),
            priority: Priority::Normal,
            digest: [3; 32],
            secret: ApplicationSecret::new([4; 20]),
            expiry_ms: 1,
            strict_gates: false,
            is_unattended: true,
            master: None,
            submitted_ms: 1,
            order: number.into(),
        };
        let standing = Standing {
            state,
            final_status: Some(FinalStatus::Succeeded),
            finished_ms: state.is_over().then_some(9),
            totals: Some(TOTALS),
            ..Standing::new(None)
        };
        ApplicationChange::Submitted { submitted: Arc::new(submitted), standing: Box::new(standing) }
    }

    fn stands(change: &ApplicationChange) -> ApplicationChange {
        let ApplicationChange::Submitted { submitted, standing } = change else { unreachable!() };
        ApplicationChange::Stands { application: submitted.id, standing: standing.clone() }
    }

    #[test]
    fn applications_that_are_over_are_read_newest_first_as_they_were_stored() {
        use ApplicationState::{Failed, Finished, Running};
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state.db");
        let mut database = open_for_writing(&path).unwrap();
        let all = [(1, "ann", Finished), (2, "bob", Failed), (3, "ann", Running), (4, "ann", Failed)]
            .map(|(number, user, state)| submitted(number, user, state));
        let changes = all.iter().flat_map(|change| [change.clone(), stands(change)]).collect();
        let transaction = database.transaction().unwrap();
        let (mut names, mut missed) = (CounterNames::default(), MissedUpdates::default());
        rows::record(&transaction, &mut names, &mut missed, FactNumber(1), &Fact::Applications(changes)).unwrap();
        transaction.commit().unwrap();
        let reader = StoredApplicationReader::new(&path);
        let list = |wanted: StoredApplications| -> Vec<u32> {
            reader.list(&wanted).unwrap().iter().map(|found| found.submitted.id.number).collect()
        };
        let any = StoredApplications { limit: 10, ..StoredApplications::default() };
        assert_eq!(list(any.clone()), [4, 2, 1]);
        assert_eq!(list(StoredApplications { limit: 1, ..any.clone() }), [4]);
        assert_eq!(list(StoredApplications { after: Some(ApplicationId::new(5, 4)), ..any.clone() }), [2, 1]);
        assert_eq!(list(StoredApplications { after: Some(ApplicationId::new(4, 9)), ..any.clone() }), [0; 0]);
        assert_eq!(list(StoredApplications { user: Some("ann".to_owned()), ..any.clone() }), [4, 1]);
        assert_eq!(list(StoredApplications { queue: Some("other".to_owned()), ..any.clone() }), [0; 0]);
        assert_eq!(list(StoredApplications { states: vec![Finished, Running], ..any }), [1]);
        let found = reader.one(ApplicationId::new(5, 2)).unwrap().unwrap();
        assert_eq!((&*found.submitted.user, found.totals), ("bob", TOTALS));
        assert_eq!(found.submitted.secret, ApplicationSecret::new([4; 20]));
        assert!(reader.one(ApplicationId::new(5, 3)).unwrap().is_none(), "it is not over");
        assert!(reader.secret(ApplicationId::new(5, 3)).unwrap().is_some());
        assert!(reader.one(ApplicationId::new(5, 5)).unwrap().is_none());
    }

    fn container(number: u64, exit: Option<i32>) -> Container {
        let end = exit.map(|exit| ContainerEnd {
            exit: ContainerExit(exit),
            diagnostics: String::new(),
            started_ms: None,
            ended_ms: 9,
            peak_memory_mb: 0,
            cpu_ms: 0,
        });
        let node = ContainerNode {
            tracker: "t".into(),
            incarnation: u64::MAX,
            id: "h:1".into(),
            host: "h".into(),
            rack: "/r".into(),
        };
        Container {
            id: ApplicationId::new(1, 1).container(1, number),
            request: RequestType { priority: 1, request_id: 0, capability: Capability::new(512, 1) },
            node,
            locality: Locality::RackLocal,
            row: Placement::Rack("/r".to_owned()),
            lowered: LoweredRows { host: false, rack: true, above: 2 },
            granted_ms: 1,
            rate: crate::model::Credits::ZERO,
            launch: None,
            started_ms: None,
            kill: None,
            state: if end.is_some() { ContainerState::Complete } else { ContainerState::Running },
            end,
            named_in: None,
            status_in: None,
        }
    }

    #[test]
    fn complete_containers_are_read_as_they_were_stored() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state.db");
        let mut database = open_for_writing(&path).unwrap();
        let stored = [container(1, Some(0)), container(2, Some(7)), container(3, None), container(4, Some(1))];
        let changes = stored.iter().map(|one| ApplicationChange::Container(Box::new(one.clone()))).collect();
        let transaction = database.transaction().unwrap();
        let (mut names, mut missed) = (CounterNames::default(), MissedUpdates::default());
        rows::record(&transaction, &mut names, &mut missed, FactNumber(1), &Fact::Applications(changes)).unwrap();
        transaction.commit().unwrap();
        let reader = StoredContainerReader::new(&path);
        let application = stored[0].id.application;
        let all = StoredContainers { after: 0, through: 10, failed_only: false, limit: 10 };
        let read = |wanted| reader.complete(application, wanted).unwrap();
        assert_eq!(read(all), [stored[0].clone(), stored[1].clone(), stored[3].clone()]);
        assert_eq!(read(StoredContainers { failed_only: true, limit: 1, ..all }), [stored[1].clone()]);
        assert_eq!(read(StoredContainers { after: 1, through: 3, ..all }), [stored[1].clone()]);
        assert_eq!(reader.one(stored[3].id).unwrap().as_ref(), Some(&stored[3]));
        assert_eq!(reader.one(stored[2].id).unwrap(), None, "it lives");
        assert_eq!(reader.one(application.container(2, 1)).unwrap(), None, "of another attempt");
    }
}
