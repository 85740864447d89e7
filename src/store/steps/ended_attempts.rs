//! To version 3: the attempts that outlived their jobs have ended with them. Earlier programs recorded no end of what KILL_JOB
//! ended, since no tracker reports it.

use rusqlite::Connection;

/// An attempt that no tracker has reported counts from its launch.
const MEND: &str = "UPDATE attempt SET
         state = CASE attempt.state WHEN 'FAILED_UNCLEAN' THEN 'FAILED' ELSE 'KILLED' END,
         start_ms = coalesce(nullif(start_ms, 0), min(launch_ms, job.finish_ms)),
         finish_ms = coalesce(nullif(attempt.finish_ms, 0), job.finish_ms)
     FROM job WHERE job.job = attempt.job AND job.finish_ms IS NOT NULL
         AND attempt.state NOT IN ('SUCCEEDED', 'FAILED', 'KILLED')";

/// Gives each of them the end of its job.
pub(super) fn mend(database: &Connection) -> rusqlite::Result<()> {
    let mended = database.execute(MEND, [])?;
    if mended > 0 {
        tracing::info!("{mended} attempts of finished jobs had no end: they have ended with their jobs");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_outlived_its_job_has_ended_with_it_and_nothing_else_changes() {
        let database = crate::store::schema::in_memory().unwrap();
        let rows = "INSERT INTO job (job, accept_order, submit_ms, spec, splits, priority, state, finish_ms)
             VALUES ('over', 1, 1, '{}', x'', 'NORMAL', 'KILLED', 500), ('runs', 2, 1, '{}', x'', 'NORMAL', 'RUNNING', NULL);
             INSERT INTO attempt (attempt, job, role, tracker, response_id, launch_ms, state, start_ms, finish_ms) VALUES
             ('a1', 'over', 'work', 't', 1, 100, 'RUNNING', NULL, NULL), ('a2', 'over', 'work', 't', 1, 100, 'FAILED_UNCLEAN', 110, 200),
             ('a3', 'over', 'work', 't', 1, 100, 'SUCCEEDED', 110, 300), ('a4', 'runs', 'work', 't', 1, 100, 'RUNNING', NULL, NULL),
             ('a5', 'over', 'work', 't', 1, 100, 'COMMIT_PENDING', 0, 0)";
        database.execute_batch(rows).unwrap();
        mend(&database).unwrap();
        let sql = "SELECT attempt || ' ' || state || coalesce(' ' || start_ms || ' ' || finish_ms, '') FROM attempt ORDER BY 1";
        let mut statement = database.prepare(sql).unwrap();
        let found: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let expected =
            ["a1 KILLED 100 500", "a2 FAILED 110 200", "a3 SUCCEEDED 110 300", "a4 RUNNING", "a5 KILLED 100 500"];
        assert_eq!(found, expected);
    }
}
