-- Schema version 1 of state.db.
--
-- Times are milliseconds since the epoch. Money stands twice: as an exact decimal number of credits, for people, and as
-- the whole number of units of 10^-12 credit (`_units`), for programs; both are text, since neither fits a number of
-- SQLite. States are spelled as Hadoop spells them.

-- schema_version, last_fact (number of the last fact recorded), hashes of the budget image.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- Each start of the daemon, by the identifier in its job ids.
CREATE TABLE incarnation (
    identifier TEXT PRIMARY KEY,
    start_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE job (
    job TEXT PRIMARY KEY,
    accept_order INTEGER NOT NULL,
    submit_ms INTEGER NOT NULL,
    spec TEXT NOT NULL,              -- JSON
    user TEXT GENERATED ALWAYS AS (spec ->> 'user') VIRTUAL,
    queue TEXT GENERATED ALWAYS AS (spec ->> 'queue') VIRTUAL,
    name TEXT GENERATED ALWAYS AS (spec ->> 'name') VIRTUAL,
    splits BLOB NOT NULL,            -- compact, with a version of its own
    token_file BLOB,                 -- secret; dropped at the end of the job
    priority TEXT NOT NULL,          -- as it is now; the spec has the submitted one
    state TEXT NOT NULL,             -- PREP, RUNNING, SUCCEEDED, FAILED, KILLED
    running_ms INTEGER,              -- when it left PREP
    outcome TEXT,                    -- how it ends: set before the cleanup of a failed or killed job runs
    reason TEXT,                     -- why, for such an end
    finish_ms INTEGER,
    failure_info TEXT,
    counters TEXT                    -- final; JSON [[counter_name.id, value], ...]
) STRICT;
CREATE UNIQUE INDEX job_by_order ON job (accept_order);
CREATE INDEX job_unfinished ON job (accept_order) WHERE finish_ms IS NULL;

-- All attempts of a job lie side by side: their ids begin alike.
CREATE TABLE attempt (
    attempt TEXT PRIMARY KEY,
    job TEXT NOT NULL,
    role TEXT NOT NULL,              -- job_setup, job_cleanup, work
    tracker TEXT NOT NULL,
    response_id INTEGER NOT NULL,    -- of the answer that carried the launch
    launch_ms INTEGER NOT NULL,
    cleanup_tracker TEXT,            -- where and when the cleaning up after the attempt was launched, unless it was lost
    cleanup_response_id INTEGER,
    cleanup_launch_ms INTEGER,
    state TEXT NOT NULL,
    kill_asked TEXT,                 -- KILLED or FAILED: what somebody asked it to become; PREEMPTED: told to end; when it
                                     -- waits for its cleaning up, what somebody asked is granted, and only what was asked
                                     -- since stands here
    commit_granted INTEGER NOT NULL DEFAULT 0,
    start_ms INTEGER,                -- this and the next three: the tracker's clock, 0 = never
    shuffle_finish_ms INTEGER,
    sort_finish_ms INTEGER,
    finish_ms INTEGER,
    output_bytes INTEGER,            -- -1 = unknown
    diagnostics TEXT,
    state_text TEXT,
    counters TEXT                    -- JSON [[counter_name.id, value], ...]
) STRICT;

-- The names that counters point to. A row without name stands for a group without counters.
CREATE TABLE counter_name (
    id INTEGER PRIMARY KEY,
    group_name TEXT NOT NULL,
    group_display TEXT NOT NULL,
    name TEXT,
    display_name TEXT                -- NULL: the same as the name
) STRICT;
CREATE INDEX counter_name_by_name ON counter_name (group_name, name);

CREATE VIEW attempt_counter AS
    SELECT attempt, label.group_name, label.name, pair.value ->> 1 AS value
    FROM attempt, json_each(attempt.counters) AS pair JOIN counter_name AS label ON label.id = pair.value ->> 0;
CREATE VIEW job_counter AS
    SELECT job, label.group_name, label.name, pair.value ->> 1 AS value
    FROM job, json_each(job.counters) AS pair JOIN counter_name AS label ON label.id = pair.value ->> 0;

-- The last answer with launches of each tracker, byte for byte.
CREATE TABLE launch_answer (
    tracker TEXT PRIMARY KEY,
    response_id INTEGER NOT NULL,
    answer BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE completion_event (
    job TEXT NOT NULL,
    event_id INTEGER NOT NULL,
    attempt TEXT NOT NULL,
    id_within_job INTEGER NOT NULL,
    is_map INTEGER NOT NULL,
    status TEXT NOT NULL,
    tracker_http TEXT,
    run_time_ms INTEGER NOT NULL,
    PRIMARY KEY (job, event_id)
) STRICT, WITHOUT ROWID;

-- Trackers that have yet to be told that a job is over.
CREATE TABLE kill_debt (
    job TEXT NOT NULL,
    tracker TEXT NOT NULL,
    PRIMARY KEY (job, tracker)
) STRICT, WITHOUT ROWID;

-- Queues with money. Removed queues are gone; their history is in the ledger.
CREATE TABLE account (
    queue TEXT PRIMARY KEY,
    balance TEXT NOT NULL,
    balance_units TEXT NOT NULL,
    rate TEXT NOT NULL,              -- the bid: credits for one slot over one interval
    rate_units TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The open interval of each active queue: those of the last tick count.
CREATE TABLE allocation (
    queue TEXT PRIMARY KEY,
    tick INTEGER NOT NULL,
    interval TEXT NOT NULL,          -- JSON; money in it is decimal text
    rate TEXT GENERATED ALWAYS AS (interval ->> '$.share.rate') VIRTUAL,
    map_slots INTEGER GENERATED ALWAYS AS (interval ->> '$.quota.map') VIRTUAL,
    reduce_slots INTEGER GENERATED ALWAYS AS (interval ->> '$.quota.reduce') VIRTUAL
) STRICT, WITHOUT ROWID;

-- Every credit that ever moved, from `debit` to `credit`: issued, revenue or queue:NAME. Old rows are daily sums:
-- see schema_2.sql.
CREATE TABLE ledger (
    number INTEGER PRIMARY KEY,
    tick INTEGER NOT NULL,
    wall_ms INTEGER NOT NULL,
    queue TEXT,                      -- the one whose money it was or became
    reason TEXT NOT NULL,            -- endowment, top_up, charge, adjustment, closing
    rate TEXT,                       -- this and the next three: of charges only
    rate_units TEXT,
    map_slots INTEGER,
    reduce_slots INTEGER,
    amount TEXT NOT NULL,
    amount_units TEXT NOT NULL,
    debit TEXT NOT NULL,
    credit TEXT NOT NULL
) STRICT;
CREATE INDEX ledger_by_queue ON ledger (queue, number);

-- The last signature used, by its place of use, user and key.
CREATE TABLE stamp (
    consumer TEXT NOT NULL,          -- servlet, job
    user TEXT NOT NULL,
    key_id TEXT NOT NULL,            -- hexadecimal beginning of the key's SHA-256
    timestamp_ms INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    PRIMARY KEY (consumer, user, key_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tick (
    number INTEGER PRIMARY KEY,
    wall_ms INTEGER NOT NULL,
    price TEXT NOT NULL,
    price_units TEXT NOT NULL,
    ledger_rows INTEGER NOT NULL,    -- this and the rest: the ledger up to here, in sums
    issued TEXT NOT NULL,
    issued_units TEXT NOT NULL,
    charged TEXT NOT NULL,
    charged_units TEXT NOT NULL
) STRICT;
