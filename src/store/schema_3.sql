-- The step to schema version 3: what jobs have cost.

-- A table of its own: rows of jobs are long, and these change at every tick. The sum over the jobs of a queue is what the
-- queue was charged since jobs are charged for.
CREATE TABLE job_cost (
    job TEXT PRIMARY KEY,
    tick INTEGER NOT NULL,           -- the last one that charged for it
    map_slots INTEGER NOT NULL,      -- paid for, each interval's counted
    reduce_slots INTEGER NOT NULL,
    cost TEXT NOT NULL,
    cost_units TEXT NOT NULL
) STRICT, WITHOUT ROWID;
