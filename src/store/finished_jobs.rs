//! Reads events and tasks of jobs that were over before a restart, beside the writer and without it.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use crate::mapreduce::{FinishedJob, StoredJob};
use crate::model::{JobId, LogKey};
use crate::wire::TaskCompletionEvent;
use crate::wire::file::job_token_password;

use super::error::StoreError;
use super::loaded_attempts::{event_row, typed_event};
use super::loaded_jobs::{finished_with_tasks, finished_without_tasks, with_tasks};
use super::loader::Loader;

/// Reads finished jobs of a state database. Cheap to clone; each call opens its own connection.
#[derive(Clone, Debug)]
pub struct FinishedJobReader {
    database: PathBuf,
}

const EVENTS: &str = "SELECT event_id, attempt, status, tracker_http, run_time_ms, id_within_job, is_map
     FROM completion_event WHERE job = ?1 AND event_id >= ?2 ORDER BY event_id LIMIT ?3";

impl FinishedJobReader {
    pub(super) fn new(database: &Path) -> Self {
        Self { database: database.to_owned() }
    }

    /// Events of a job from index `from`, at most `max`; none of an unknown job. Blocks on the disk.
    pub fn events(&self, job: JobId, from: usize, max: usize) -> Result<Vec<TaskCompletionEvent>, StoreError> {
        let database = self.open()?;
        let loader = Loader::new(&database, &self.database);
        let bound = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let read = |row: &rusqlite::Row<'_>| Ok((event_row(row)?, row.get(5)?, row.get(6)?));
        let rows = loader.rows_with(EVENTS, params![job.to_string(), bound(from), bound(max)], read)?;
        let typed = rows.into_iter().map(|(row, id_within_job, is_map)| {
            let event_id = i32::try_from(row.0).unwrap_or(i32::MAX);
            let event = typed_event(&loader, row, &mut Default::default())?;
            Ok(TaskCompletionEvent {
                attempt: event.attempt,
                id_within_job,
                is_map,
                status: event.status,
                tracker_http: (&*event.http).into(),
                run_time_ms: event.run_time_ms,
                event_id,
            })
        });
        typed.collect()
    }

    /// A finished job with its tasks; none if it is unknown or unfinished. Blocks on the disk.
    pub fn job(&self, job: JobId) -> Result<Option<StoredJob>, StoreError> {
        let database = self.open()?;
        finished_with_tasks(&Loader::new(&database, &self.database), job)
    }

    /// A job with its tasks, as if its end had just been decided; none if it is unknown. Blocks on the disk.
    pub(crate) fn any_job(&self, job: JobId) -> Result<Option<StoredJob>, StoreError> {
        let database = self.open()?;
        with_tasks(&Loader::new(&database, &self.database), job)
    }

    /// A finished job without its tasks; none if it is unknown or unfinished. Blocks on the disk.
    pub(crate) fn finished(&self, job: JobId) -> Result<Option<FinishedJob>, StoreError> {
        let database = self.open()?;
        finished_without_tasks(&Loader::new(&database, &self.database), job)
    }

    /// The key of the tickets for a job's logs, finished or not; none of an unknown job, or of one that an older build
    /// has ended. Blocks on the disk.
    pub(crate) fn log_key(&self, job: JobId) -> Result<Option<LogKey>, StoreError> {
        let database = self.open()?;
        let sql = "SELECT log_key, token_file FROM job WHERE job = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<Vec<u8>>>(0)?, row.get::<_, Option<Vec<u8>>>(1)?));
        let found = database.query_row(sql, [job.to_string()], read).optional();
        let found =
            found.map_err(|source| StoreError::Database { action: "read", path: self.database.clone(), source })?;
        Ok(found.and_then(|(key, token_file)| match key {
            Some(key) => LogKey::from_bytes(&key),
            None => job_token_password(&token_file?).map(|password| LogKey::of_token(&password)),
        }))
    }

    /// Whether one of our runs made ids like this one, and no job has it or, deleted since, may have had it.
    /// Blocks on the disk.
    pub fn is_unused(&self, id: JobId) -> Result<bool, StoreError> {
        let database = self.open()?;
        let sql = "SELECT EXISTS (SELECT 1 FROM daemon_run WHERE identifier = ?1)
                   AND NOT EXISTS (SELECT 1 FROM job WHERE job = ?2)
                   AND NOT EXISTS (SELECT 1 FROM deleted_job WHERE identifier = ?1 AND last_number >= ?3)";
        let asked = params![id.identifier.to_string(), id.to_string(), id.number];
        let found = database.query_row(sql, asked, |row| row.get(0));
        found.map_err(|source| StoreError::Database { action: "read", path: self.database.clone(), source })
    }

    /// Where the database lies.
    pub(super) fn path(&self) -> &Path {
        &self.database
    }

    pub(super) fn open(&self) -> Result<Connection, StoreError> {
        let failed = |source| StoreError::Database { action: "read", path: self.database.clone(), source };
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(&self.database, flags).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::database::open_for_writing;
    use crate::wire::file::{JOB_TOKEN_ALIAS, write_token_storage};
    use crate::wire::{Credentials, Text, Token};

    #[test]
    fn a_log_key_outlives_the_token_that_it_follows_from() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state.db");
        let database = open_for_writing(&path).unwrap();
        let token = Token {
            identifier: Vec::new(),
            password: b"password".to_vec(),
            kind: "mapreduce.job".into(),
            service: Text("job".to_owned()),
        };
        let credentials = Credentials { tokens: vec![(JOB_TOKEN_ALIAS.into(), token)], ..Credentials::default() };
        let (token_file, key) = (write_token_storage(&credentials), LogKey::of_token(b"password"));
        let insert = |number: i32, token_file: Option<&[u8]>, log_key: Option<&[u8]>| {
            let job = JobId::new("202611240913".parse().unwrap(), number);
            let sql =
                "INSERT INTO job (job, accept_order, submit_ms, spec, splits, priority, state, token_file, log_key)
                       VALUES (?1, ?2, 0, '{}', x'', 'NORMAL', 'RUNNING', ?3, ?4)";
            database.execute(sql, params![job.to_string(), number, token_file, log_key]).unwrap();
            FinishedJobReader::new(&path).log_key(job).unwrap()
        };
        assert_eq!(insert(1, None, Some(key.as_bytes())), Some(key.clone()), "it has ended");
        assert_eq!(insert(2, Some(&token_file), None), Some(key), "an older build has accepted it");
        assert_eq!(insert(3, None, None), None, "an older build has ended it");
        let unknown = JobId::new("202611240913".parse().unwrap(), 4);
        assert_eq!(FinishedJobReader::new(&path).log_key(unknown).unwrap(), None);
    }
}
