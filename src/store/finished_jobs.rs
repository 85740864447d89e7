//! Lists jobs that are over, and reads events and tasks of those from before a restart, beside the writer and without it.

use std::path::Path;

use rusqlite::{ToSql, params, params_from_iter};

use crate::mapreduce::{FinishedJob, StoredJob};
use crate::model::{JobId, LogKey, PastSearch};
use crate::wire::TaskCompletionEvent;
use crate::wire::file::job_token_password;

use super::database_reader::DatabaseReader;
use super::error::StoreError;
use super::loader::{bound, first_row, rows};
use super::tables::attempts::event;
use super::tables::jobs::{finished_with_tasks, finished_without_tasks, job_id, with_tasks};

/// Reads finished jobs of a state database. Cheap to clone; each call opens its own connection.
#[derive(Clone, Debug)]
pub struct FinishedJobReader {
    pub(super) database: DatabaseReader,
}

const EVENTS: &str = "SELECT event_id, attempt, status, tracker_http, run_time_ms, id_within_job, is_map
     FROM completion_event WHERE job = ?1 AND event_id >= ?2 ORDER BY event_id LIMIT ?3";

impl FinishedJobReader {
    pub(super) fn new(database: &Path) -> Self {
        Self { database: DatabaseReader::new(database) }
    }

    /// Events of a job from index `from`, at most `max`; none of an unknown job. Blocks on the disk.
    pub fn events(&self, job: JobId, from: usize, max: usize) -> Result<Vec<TaskCompletionEvent>, StoreError> {
        self.database.read(|database| {
            rows(database, EVENTS, params![job.to_string(), bound(from), bound(max)], |row| {
                let event = event(row, &mut Default::default())?;
                Ok(TaskCompletionEvent {
                    attempt: event.attempt,
                    id_within_job: row.get(5)?,
                    is_map: row.get(6)?,
                    status: event.status,
                    tracker_http: (&*event.http).into(),
                    run_time_ms: event.run_time_ms,
                    event_id: i32::try_from(row.get::<_, i64>(0)?).unwrap_or(i32::MAX),
                })
            })
        })
    }

    /// A finished job with its tasks; none if it is unknown or unfinished. Blocks on the disk.
    pub fn job(&self, job: JobId) -> Result<Option<StoredJob>, StoreError> {
        self.database.read(|database| finished_with_tasks(database, job))
    }

    /// A job with its tasks, as if its end had just been decided; none if it is unknown. Blocks on the disk.
    pub(crate) fn any_job(&self, job: JobId) -> Result<Option<StoredJob>, StoreError> {
        self.database.read(|database| with_tasks(database, job))
    }

    /// A finished job without its tasks; none if it is unknown or unfinished. Blocks on the disk.
    pub(crate) fn finished(&self, job: JobId) -> Result<Option<FinishedJob>, StoreError> {
        self.database.read(|database| finished_without_tasks(database, job))
    }

    /// The key of the tickets for a job's logs, finished or not; none of an unknown job, or of one that an older build
    /// has ended. Blocks on the disk.
    pub(crate) fn log_key(&self, job: JobId) -> Result<Option<LogKey>, StoreError> {
        let sql = "SELECT log_key, token_file FROM job WHERE job = ?1";
        let found = self.database.read(|database| {
            first_row(database, sql, [job.to_string()], |row| {
                Ok((row.get::<_, Option<Vec<u8>>>(0)?, row.get::<_, Option<Vec<u8>>>(1)?))
            })
        })?;
        Ok(found.and_then(|(key, token_file)| match key {
            Some(key) => LogKey::from_bytes(&key),
            None => job_token_password(&token_file?).map(|password| LogKey::of_token(&password)),
        }))
    }

    /// Whether one of our runs made ids like this one, and no job has it or, deleted since, may have had it. Blocks on the disk.
    pub fn is_unused(&self, id: JobId) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM daemon_run WHERE identifier = ?1)
                   AND NOT EXISTS (SELECT 1 FROM job WHERE job = ?2)
                   AND NOT EXISTS (SELECT 1 FROM deleted_job WHERE identifier = ?1 AND last_number >= ?3)";
        let asked = params![id.identifier.to_string(), id.to_string(), id.number];
        self.database.read(|database| Ok(database.query_row(sql, asked, |row| row.get(0))?))
    }

    /// At most `count` jobs from the `first` on, the one submitted last in front. Blocks on the disk.
    pub(crate) fn past_jobs(&self, search: &PastSearch, first: u64, count: u64) -> Result<PastJobs, StoreError> {
        let (conditions, mut values) = conditions(search);
        self.database.read(|database| {
            let sql = format!("SELECT count(*) {SEARCHED}{conditions}");
            let total: i64 = database.query_row(&sql, params_from_iter(values.iter()), |row| row.get(0))?;
            values.extend([count, first].map(|number| -> Box<dyn ToSql> { Box::new(bound(number)) }));
            let sql = format!(
                "SELECT job, name, user, submit_ms, path {SEARCHED}{conditions}
             ORDER BY submit_ms DESC, accept_order DESC LIMIT ? OFFSET ?"
            );
            let jobs = rows(database, &sql, params_from_iter(values.iter()), |row| {
                let (name, user): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
                Ok(PastJob {
                    id: job_id(row.get(0)?)?,
                    name: name.unwrap_or_default(),
                    user: user.unwrap_or_default(),
                    submit_ms: row.get(3)?,
                    history_path: row.get(4)?,
                })
            })?;
            Ok(PastJobs { jobs, total: u64::try_from(total).unwrap_or(0) })
        })
    }

    /// When a job ran and where its history is; none of an unknown job. Blocks on the disk.
    pub(crate) fn past_place(&self, job: JobId) -> Result<Option<PastPlace>, StoreError> {
        let sql = "SELECT running_ms, path FROM job LEFT JOIN job_history USING (job) WHERE job = ?1";
        self.database.read(|database| {
            first_row(database, sql, [job.to_string()], |row| {
                Ok(PastPlace { running_ms: row.get(0)?, history_path: row.get(1)? })
            })
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PastJob {
    pub(crate) id: JobId,
    pub(crate) name: String,
    pub(crate) user: String,
    /// When it was submitted, epoch ms.
    pub(crate) submit_ms: i64,
    /// URI of its history file; none: it is not written yet.
    pub(crate) history_path: Option<String>,
}

/// When a job ran, and where its history is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PastPlace {
    /// When its setup had succeeded, epoch ms; none: it never did.
    pub(crate) running_ms: Option<i64>,
    /// As [`PastJob::history_path`].
    pub(crate) history_path: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PastJobs {
    pub(crate) jobs: Vec<PastJob>,
    pub(crate) total: u64,
}

const SEARCHED: &str = "FROM job LEFT JOIN job_history USING (job) WHERE finish_ms IS NOT NULL";

/// A search as a part of a query, and its parameters.
fn conditions(search: &PastSearch) -> (String, Vec<Box<dyn ToSql>>) {
    let (mut text, mut values) = (String::new(), Vec::<Box<dyn ToSql>>::new());
    if let Some(user) = &search.user {
        text.push_str(" AND user = ?");
        values.push(Box::new(user.clone()));
    }
    for word in &search.words {
        text.push_str(" AND instr(name, ?) > 0");
        values.push(Box::new(word.clone()));
    }
    if let Some((from_ms, until_ms)) = search.submitted_ms {
        text.push_str(" AND submit_ms >= ? AND submit_ms < ?");
        values.push(Box::new(from_ms));
        values.push(Box::new(until_ms));
    }
    (text, values)
}

#[cfg(test)]
mod tests {
    use crate::store::database::open_for_writing;
    use crate::wire::file::{JOB_TOKEN_ALIAS, write_token_storage};
    use crate::wire::{Credentials, Text, Token};

    use super::*;

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

    #[test]
    fn jobs_are_found_by_user_words_and_time_the_newest_first() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("state.db");
        let database = open_for_writing(&path).unwrap();
        let rows =
            [(1, "alice", "sort all", Some(5)), (2, "bob", "sort a 50%_part", Some(9)), (3, "alice", "runs", None)];
        for (number, user, name, finish_ms) in rows {
            let spec = serde_json::json!({ "user": user, "name": name }).to_string();
            let sql = "INSERT INTO job (job, accept_order, submit_ms, spec, splits, priority, state, finish_ms)
                       VALUES (?1, ?2, ?2 * 100, ?3, x'', 'NORMAL', 'SUCCEEDED', ?4)";
            database.execute(sql, rusqlite::params![format!("job_1_000{number}"), number, spec, finish_ms]).unwrap();
        }
        database
            .execute("INSERT INTO job_history (job, written_ms, path) VALUES ('job_1_0001', 1, 'file:/done/x')", [])
            .unwrap();
        let reader = FinishedJobReader::new(&path);
        let found = |search: PastSearch, first, count| {
            let PastJobs { jobs, total } = reader.past_jobs(&search, first, count).unwrap();
            (total, jobs.iter().map(|job| job.id.number).collect::<Vec<_>>())
        };
        let words = |words: &[&str]| PastSearch {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            ..PastSearch::default()
        };
        assert_eq!(found(PastSearch::default(), 0, 100), (2, vec![2, 1]));
        assert_eq!(found(PastSearch::default(), 1, 100), (2, vec![1]));
        assert_eq!(found(PastSearch { user: Some("alice".into()), ..PastSearch::default() }, 0, 9), (1, vec![1]));
        assert_eq!(found(words(&["sort", "%_"]), 0, 9), (1, vec![2]));
        assert_eq!(found(words(&["sort", "' OR 1"]), 0, 9), (0, vec![]));
        assert_eq!(found(PastSearch { submitted_ms: Some((100, 200)), ..PastSearch::default() }, 0, 9), (1, vec![1]));
        let all = reader.past_jobs(&PastSearch::default(), 0, 9).unwrap().jobs;
        assert_eq!((all[1].history_path.as_deref(), &*all[1].name), (Some("file:/done/x"), "sort all"));
        let place =
            |history_path: Option<&str>| PastPlace { running_ms: None, history_path: history_path.map(str::to_owned) };
        assert_eq!(reader.past_place(all[1].id).unwrap(), Some(place(Some("file:/done/x"))));
        assert_eq!(reader.past_place(all[0].id).unwrap(), Some(place(None)));
        assert_eq!(reader.past_place("job_1_0009".parse().unwrap()).unwrap(), None);
    }
}
