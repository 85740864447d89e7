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

-- Histories of jobs: a row from the acceptance of a job on.
CREATE TABLE IF NOT EXISTS job_history (
    job TEXT PRIMARY KEY,
    job_xml BLOB,                    -- deflated, until the history is written; NULL: of a job that an older build accepted
    written_ms INTEGER,              -- when its files were written; NULL: they are to be written when the job is over
    path TEXT                        -- URI of the history file
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS job_history_due ON job_history (job) WHERE written_ms IS NULL;

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

-- Applications that ask for containers.
CREATE TABLE IF NOT EXISTS application (
    application TEXT PRIMARY KEY,
    start_ms INTEGER NOT NULL,       -- of the run that gave the id
    number INTEGER NOT NULL,         -- in that run
    user TEXT NOT NULL,
    queue TEXT NOT NULL,
    accept_order INTEGER NOT NULL,   -- among submissions, jobs' too
    state TEXT NOT NULL,
    finished_ms INTEGER,             -- NULL: it is not over
    submitted TEXT NOT NULL,         -- JSON: what it was submitted with
    secret BLOB NOT NULL,            -- what it signs with
    standing TEXT NOT NULL,          -- JSON: how it stands
    answer BLOB,                     -- the last answer of allocate, as it was sent
    stamp_ms INTEGER                 -- the last timestamp that it signed
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS application_by_id ON application (start_ms, number);
CREATE INDEX IF NOT EXISTS application_over ON application (finished_ms) WHERE finished_ms IS NOT NULL;

-- Ids of applications that were given out and not used; those that have lapsed go when the next one is given. The start in the
-- latest is in `meta`, so that none comes twice.
CREATE TABLE IF NOT EXISTS application_id (
    application TEXT PRIMARY KEY,
    user TEXT NOT NULL,              -- who may submit under it
    until_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Launch contexts of applications; 0: that of the master.
CREATE TABLE IF NOT EXISTS application_context (
    application TEXT NOT NULL,
    number INTEGER NOT NULL,
    context TEXT NOT NULL,           -- JSON
    PRIMARY KEY (application, number)
) STRICT, WITHOUT ROWID;

-- Names of launch contexts.
CREATE TABLE IF NOT EXISTS application_spec (
    application TEXT NOT NULL,
    name TEXT NOT NULL,
    context INTEGER NOT NULL,
    PRIMARY KEY (application, name)
) STRICT, WITHOUT ROWID;

-- Rows of requests: how many containers are wanted where.
CREATE TABLE IF NOT EXISTS application_request (
    application TEXT NOT NULL,
    priority INTEGER NOT NULL,
    request_id INTEGER NOT NULL,     -- -1: the request for a master
    memory_mb INTEGER NOT NULL,
    vcores INTEGER NOT NULL,
    place TEXT NOT NULL,             -- a host, a rack, or *
    containers INTEGER NOT NULL,     -- 0: a closed gate
    relaxes INTEGER NOT NULL,        -- 1: containers may come from farther away
    PRIMARY KEY (application, priority, request_id, memory_mb, vcores, place)
) STRICT, WITHOUT ROWID;

-- What starts containers of a type when they are granted.
CREATE TABLE IF NOT EXISTS application_launch (
    application TEXT NOT NULL,
    priority INTEGER NOT NULL,
    request_id INTEGER NOT NULL,
    memory_mb INTEGER NOT NULL,
    vcores INTEGER NOT NULL,
    launch TEXT NOT NULL,            -- JSON, with the items as they were asked for
    taken INTEGER NOT NULL,          -- how many of the items were taken, in their order
    PRIMARY KEY (application, priority, request_id, memory_mb, vcores)
) STRICT, WITHOUT ROWID;

-- Items that did not end well at once.
CREATE TABLE IF NOT EXISTS application_item (
    application TEXT NOT NULL,
    priority INTEGER NOT NULL,
    request_id INTEGER NOT NULL,
    memory_mb INTEGER NOT NULL,
    vcores INTEGER NOT NULL,
    item INTEGER NOT NULL,           -- 4294967295: all containers without an item
    trouble TEXT NOT NULL,           -- JSON: failures, other ends, where it is
    PRIMARY KEY (application, priority, request_id, memory_mb, vcores, item)
) STRICT, WITHOUT ROWID;

-- Hosts and racks that applications want nothing of.
CREATE TABLE IF NOT EXISTS application_blacklist (
    application TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (application, name)
) STRICT, WITHOUT ROWID;

-- Containers.
CREATE TABLE IF NOT EXISTS container (
    application TEXT NOT NULL,
    number INTEGER NOT NULL,
    state TEXT NOT NULL,
    is_failed INTEGER NOT NULL,      -- 1: it ended by its own fault
    is_preempted INTEGER NOT NULL,   -- 1: its slots went to another queue
    memory_mb INTEGER NOT NULL,
    vcores INTEGER NOT NULL,
    granted_ms INTEGER NOT NULL,
    ended_ms INTEGER,                -- NULL: it lives
    record TEXT NOT NULL,            -- JSON: all of it; its state is in the column
    named_attempt INTEGER,            -- the answer that named it to its application
    named_response INTEGER,
    status_attempt INTEGER,          -- the answer that had its status
    status_response INTEGER,
    PRIMARY KEY (application, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS container_live ON container (application, number) WHERE ended_ms IS NULL;

-- What the containers of applications have cost. A separate table, as of jobs. The sum over the applications of a queue,
-- deleted ones included, equals what the queue was charged for containers.
CREATE TABLE IF NOT EXISTS application_cost (
    application TEXT PRIMARY KEY,
    tick INTEGER NOT NULL,           -- the last one that charged for it
    container_slots INTEGER NOT NULL,     -- paid for, summed over intervals
    cost TEXT NOT NULL,
    cost_units TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The same of the applications that were deleted, summed by the queue that paid for them.
CREATE TABLE IF NOT EXISTS deleted_application_cost (
    queue TEXT PRIMARY KEY,
    applications INTEGER NOT NULL,   -- those with a cost
    container_slots INTEGER NOT NULL,
    cost TEXT NOT NULL,
    cost_units TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Keys that sign delegation tokens. Secret.
CREATE TABLE IF NOT EXISTS delegation_key (
    key INTEGER PRIMARY KEY,
    secret BLOB NOT NULL,
    made_ms INTEGER NOT NULL
) STRICT;

-- Delegation tokens in force. The password of one follows from its identifier and its key.
CREATE TABLE IF NOT EXISTS delegation_token (
    sequence INTEGER PRIMARY KEY,
    identifier BLOB NOT NULL,        -- as the token has it: owner, renewer, real user, dates, number, key
    until_ms INTEGER NOT NULL,       -- when it ends unless it is renewed
    origin TEXT NOT NULL             -- a number for the host that asked for it, hexadecimal
) STRICT;
