//! Reads containers that are complete, beside the writer and without it.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, params};

use crate::engine::Container;
use crate::model::{ApplicationId, ContainerId};

use super::error::StoreError;
use super::loader::Loader;

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
    use super::*;
    use crate::api::ContainerEnd;
    use crate::api::applications::{ContainerState, Locality, Placement};
    use crate::engine::{ApplicationChange, ContainerNode, Fact, LoweredRows, RequestType};
    use crate::model::{Capability, ContainerExit, FactNumber};
    use crate::store::counter_names::CounterNames;
    use crate::store::database::open_for_writing;
    use crate::store::missed_updates::MissedUpdates;
    use crate::store::rows;

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
