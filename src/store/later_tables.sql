-- What the last jobs of a class have cost: jobs of the same user, name (without digits), mapper and reducer.
CREATE TABLE IF NOT EXISTS cost_history (
    user TEXT NOT NULL,
    name TEXT NOT NULL,
    mapper TEXT NOT NULL,
    reducer TEXT NOT NULL,
    last_end_ms INTEGER NOT NULL,    -- when its last job ended
    jobs TEXT NOT NULL,              -- JSON, one object a job, the oldest first: microseconds per MB, ratio in millionths
    PRIMARY KEY (user, name, mapper, reducer)
) STRICT, WITHOUT ROWID;

-- Deadline orders that stand.
CREATE TABLE IF NOT EXISTS market_order (
    job TEXT PRIMARY KEY,
    queue TEXT NOT NULL,
    deadline_ms INTEGER NOT NULL,
    max_rate TEXT NOT NULL,
    max_rate_units TEXT NOT NULL,
    max_cost TEXT,                   -- NULL: whatever the job costs
    max_cost_units TEXT
) STRICT, WITHOUT ROWID;
