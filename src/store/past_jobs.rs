//! Lists jobs that are over, the newest first, beside the writer.

use rusqlite::{ToSql, params_from_iter};

use crate::model::{JobId, PastSearch};

use super::error::StoreError;
use super::finished_jobs::FinishedJobReader;
use super::loader::Loader;

/// A job that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PastJob {
    pub(crate) id: JobId,
    pub(crate) name: String,
    /// Its owner.
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

/// A part of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PastJobs {
    /// The jobs from the first of the part on.
    pub(crate) jobs: Vec<PastJob>,
    /// All that the search finds.
    pub(crate) total: u64,
}

const SEARCHED: &str = "FROM job LEFT JOIN job_history USING (job) WHERE finish_ms IS NOT NULL";

impl FinishedJobReader {
    /// At most `count` jobs from the `first` on, the one submitted last in front. Blocks on the disk.
    ///
    /// # Errors
    /// The database cannot be read, or a value in it is not valid.
    pub(crate) fn past_jobs(&self, search: &PastSearch, first: u64, count: u64) -> Result<PastJobs, StoreError> {
        let mut database = self.open()?;
        let failed = |source| StoreError::Database { action: "read", path: self.path().to_owned(), source };
        // One state of the database for the count and the list.
        let snapshot = database.transaction().map_err(failed)?;
        let loader = Loader::new(&snapshot, self.path());
        let (conditions, mut values) = conditions(search);
        let sql = format!("SELECT count(*) {SEARCHED}{conditions}");
        let total = snapshot.query_row(&sql, params_from_iter(values.iter()), |row| row.get::<_, i64>(0));
        let total = total.map_err(failed)?;
        let bound = |count: u64| -> Box<dyn ToSql> { Box::new(i64::try_from(count).unwrap_or(i64::MAX)) };
        values.extend([bound(count), bound(first)]);
        let sql = format!(
            "SELECT job, name, user, submit_ms, path {SEARCHED}{conditions}
             ORDER BY submit_ms DESC, accept_order DESC LIMIT ? OFFSET ?"
        );
        let rows = loader.rows_with(&sql, params_from_iter(values.iter()), |row| {
            let id: String = row.get(0)?;
            let (name, user): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
            Ok((id, name.unwrap_or_default(), user.unwrap_or_default(), row.get(3)?, row.get(4)?))
        })?;
        let job = |(id, name, user, submit_ms, history_path)| {
            Ok(PastJob { id: loader.parse("job.job", id, "a job id")?, name, user, submit_ms, history_path })
        };
        let jobs = rows.into_iter().map(job).collect::<Result<_, StoreError>>()?;
        Ok(PastJobs { jobs, total: u64::try_from(total).unwrap_or(0) })
    }

    /// When a job ran and where its history is; none of an unknown job. Blocks on the disk.
    ///
    /// # Errors
    /// The database cannot be read.
    pub(crate) fn past_place(&self, job: JobId) -> Result<Option<PastPlace>, StoreError> {
        let database = self.open()?;
        let loader = Loader::new(&database, self.path());
        let sql = "SELECT running_ms, path FROM job LEFT JOIN job_history USING (job) WHERE job = ?1";
        let read = |row: &rusqlite::Row<'_>| Ok(PastPlace { running_ms: row.get(0)?, history_path: row.get(1)? });
        Ok(loader.rows_with(sql, [job.to_string()], read)?.into_iter().next())
    }
}

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
    use super::*;
    use crate::store::database::open_for_writing;

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
