//! Reads applications that are over and containers that are complete, beside the writer and without it.

use std::path::Path;

use rusqlite::params;

use crate::engine::{ApplicationFilter, Container, RestoredApplication};
use crate::model::{ApplicationId, ApplicationSecret, ContainerId};

use super::database_reader::DatabaseReader;
use super::enum_text::json;
use super::error::StoreError;
use super::loader::{bound, first_row, rows};
use super::tables::applications::{over_application, secret};
use super::tables::containers::complete;

/// Reads applications that are over, and complete containers. Cheap to clone; each call opens its own connection.
#[derive(Clone, Debug)]
pub(crate) struct StoredApplicationReader {
    database: DatabaseReader,
}

impl StoredApplicationReader {
    pub(super) fn new(database: &Path) -> Self {
        Self { database: DatabaseReader::new(database) }
    }

    /// An application that is over, for reports: without contexts and containers. Blocks on the disk.
    pub(crate) fn one(&self, id: ApplicationId) -> Result<Option<RestoredApplication>, StoreError> {
        let sql = "SELECT application, submitted, secret, standing FROM application
                   WHERE application = ?1 AND finished_ms IS NOT NULL";
        self.database.read(|database| first_row(database, sql, [id.to_string()], |row| over_application(database, row)))
    }

    /// The secret of an application, over or not. Blocks on the disk.
    pub(crate) fn secret(&self, id: ApplicationId) -> Result<Option<ApplicationSecret>, StoreError> {
        let (sql, id) = ("SELECT secret FROM application WHERE application = ?1", id.to_string());
        self.database.read(|database| first_row(database, sql, [&id], |row| secret(&id, &row.get::<_, Vec<u8>>(0)?)))
    }

    /// Applications that are over, newest first; as [`Self::one`] has them. Blocks on the disk.
    pub(crate) fn list(&self, filter: &ApplicationFilter) -> Result<Vec<RestoredApplication>, StoreError> {
        let ApplicationFilter { user, queue, states, after, limit, rows: _ } = filter;
        let sql = "SELECT application, submitted, secret, standing FROM application
                   WHERE finished_ms IS NOT NULL AND (start_ms, number) < (?1, ?2)
                       AND (?3 IS NULL OR user = ?3) AND (?4 IS NULL OR queue = ?4)
                       AND (?5 = '[]' OR state IN (SELECT value FROM json_each(?5)))
                   ORDER BY start_ms DESC, number DESC LIMIT ?6";
        let (start_ms, number) =
            after.map_or((i64::MAX, i64::MAX), |after| (bound(after.start_ms), after.number.into()));
        let names: Vec<&str> = states.iter().map(|state| state.name()).collect();
        self.database.read(|database| {
            let values = params![start_ms, number, user, queue, json(&names)?, bound(*limit)];
            rows(database, sql, values, |row| over_application(database, row))
        })
    }

    /// Complete containers of an application with numbers higher than the first of these up to the second, by number; perhaps only
    /// those that failed by their own fault. Blocks on the disk.
    pub(crate) fn containers(
        &self,
        application: ApplicationId,
        numbers: (u64, u64),
        failed_only: bool,
        limit: usize,
    ) -> Result<Vec<Container>, StoreError> {
        let id = application.to_string();
        self.database.read(|database| complete(database, &id, numbers, failed_only, limit))
    }

    /// A container, if it is complete. Blocks on the disk.
    pub(crate) fn container(&self, id: ContainerId) -> Result<Option<Container>, StoreError> {
        let numbers = (id.number.saturating_sub(1), id.number);
        let found = self.containers(id.application, numbers, false, 1)?.pop();
        Ok(found.filter(|container| container.id == id))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::api::ContainerEnd;
    use crate::api::applications::{ApplicationState, ContainerState, FinalStatus, Locality, Placement};
    use crate::engine::{
        ApplicationChange, ContainerNode, ContainerTotals, Fact, LoweredRows, RequestType, Standing,
        SubmittedApplication,
    };
    use crate::model::{Capability, ContainerExit, Priority};
    use crate::store::database::open_for_writing;
    use crate::store::loaded_state::record_all;

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
        record_all(&mut database, &[Fact::Applications(changes)]);
        let reader = StoredApplicationReader::new(&path);
        let list = |filter: ApplicationFilter| -> Vec<u32> {
            reader.list(&filter).unwrap().iter().map(|found| found.submitted.id.number).collect()
        };
        let any = ApplicationFilter { limit: 10, ..ApplicationFilter::default() };
        assert_eq!(list(any.clone()), [4, 2, 1]);
        assert_eq!(list(ApplicationFilter { limit: 1, ..any.clone() }), [4]);
        assert_eq!(list(ApplicationFilter { after: Some(ApplicationId::new(5, 4)), ..any.clone() }), [2, 1]);
        assert_eq!(list(ApplicationFilter { after: Some(ApplicationId::new(4, 9)), ..any.clone() }), [0; 0]);
        assert_eq!(list(ApplicationFilter { user: Some("ann".to_owned()), ..any.clone() }), [4, 1]);
        assert_eq!(list(ApplicationFilter { queue: Some("other".to_owned()), ..any.clone() }), [0; 0]);
        assert_eq!(list(ApplicationFilter { states: vec![Finished, Running], ..any }), [1]);
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
        record_all(&mut database, &[Fact::Applications(changes)]);
        let reader = StoredApplicationReader::new(&path);
        let application = stored[0].id.application;
        let read = |numbers, failed_only, limit| reader.containers(application, numbers, failed_only, limit).unwrap();
        assert_eq!(read((0, 10), false, 10), [stored[0].clone(), stored[1].clone(), stored[3].clone()]);
        assert_eq!(read((0, 10), true, 1), [stored[1].clone()]);
        assert_eq!(read((1, 3), false, 10), [stored[1].clone()]);
        assert_eq!(reader.container(stored[3].id).unwrap().as_ref(), Some(&stored[3]));
        assert_eq!(reader.container(stored[2].id).unwrap(), None, "it lives");
        assert_eq!(reader.container(application.container(2, 1)).unwrap(), None, "of another attempt");
    }
}
