-- The step to schema version 5: finished jobs are deleted when there are too many of them, or when they are too old.

-- What has been deleted, by the identifier in the job ids. An id up to the last number that no row of `job` has counts as
-- used: it may have been a deleted job's.
CREATE TABLE deleted_job (
    identifier TEXT PRIMARY KEY,
    last_number INTEGER NOT NULL,
    jobs INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the deleted jobs of each queue have cost: with `job_cost` the sum over all jobs of the queue, as it was.
CREATE TABLE deleted_job_cost (
    queue TEXT PRIMARY KEY,
    jobs INTEGER NOT NULL,           -- those that have cost anything
    map_slots INTEGER NOT NULL,
    reduce_slots INTEGER NOT NULL,
    cost TEXT NOT NULL,
    cost_units TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX job_finished ON job (finish_ms, accept_order) WHERE finish_ms IS NOT NULL;
