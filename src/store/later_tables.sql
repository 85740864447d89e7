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

-- When each tracker was there, with how many slots that count.
CREATE TABLE IF NOT EXISTS tracker_presence (
    tracker TEXT NOT NULL,
    from_ms INTEGER NOT NULL,
    until_ms INTEGER,                -- NULL: it is there
    host TEXT NOT NULL,
    map_slots INTEGER NOT NULL,
    reduce_slots INTEGER NOT NULL,
    PRIMARY KEY (tracker, from_ms)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tracker_present ON tracker_presence (tracker) WHERE until_ms IS NULL;
CREATE INDEX IF NOT EXISTS tracker_was_there ON tracker_presence (until_ms) WHERE until_ms IS NOT NULL;

-- Bids as queues set them, by the tick before; a row for each change.
CREATE TABLE IF NOT EXISTS bid_change (
    number INTEGER PRIMARY KEY,      -- of its fact
    wall_ms INTEGER NOT NULL,        -- of the last tick before it; 0: there was none
    queue TEXT NOT NULL,
    rate_units TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS bid_change_by_queue ON bid_change (queue, number);

-- Deadline orders as they were placed, changed and ended, by the tick before.
CREATE TABLE IF NOT EXISTS order_change (
    number INTEGER PRIMARY KEY,      -- of its fact
    wall_ms INTEGER NOT NULL,        -- of the last tick before it; 0: there was none
    job TEXT NOT NULL,
    queue TEXT NOT NULL,
    deadline_ms INTEGER,             -- NULL: it has ended
    max_rate_units TEXT,
    max_cost_units TEXT
) STRICT;

-- Workers that get no new tasks, until they are resumed.
CREATE TABLE IF NOT EXISTS drained_worker (
    worker TEXT PRIMARY KEY,         -- the name it was given, or that of its tracker
    user TEXT NOT NULL,              -- who drains it
    since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What queues get again and again.
CREATE TABLE IF NOT EXISTS allowance (
    queue TEXT PRIMARY KEY,
    credits TEXT NOT NULL,           -- of each period
    credits_units TEXT NOT NULL,
    every_s INTEGER NOT NULL,
    cap TEXT,                        -- the balance at which payment stops; NULL: none
    cap_units TEXT,
    set_by TEXT NOT NULL,
    periods INTEGER NOT NULL,        -- how many have passed, which is the number of the last
    due_ms INTEGER NOT NULL          -- when the next one ends
) STRICT, WITHOUT ROWID;
