-- Schema version 1 of state.db. The version is in `PRAGMA user_version`, `PRAGMA application_id` says `jobt`.
--
-- Times are milliseconds since the epoch. Money is in two columns: an exact decimal number of credits, for people, and
-- the whole number of units of 10^-12 credit (`_units`), for programs; both are text, since neither fits a number of
-- SQLite. States are spelled as Hadoop spells them.

-- last_fact (number of the last fact recorded), scheduler_choice (which scheduler rules, JSON), hashes of the budget file, progress of housekeeping.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- Each start of the daemon, by the identifier in its job ids.
CREATE TABLE daemon_run (
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
    token_file BLOB,                 -- secret; cleared when the job ends
    priority TEXT NOT NULL,          -- the current one; the spec has the submitted one
    state TEXT NOT NULL,             -- PREP, RUNNING, SUCCEEDED, FAILED, KILLED
    running_ms INTEGER,              -- when it left PREP
    outcome TEXT,                    -- the state it will end in: set before the cleanup of a failed or killed job runs
    reason TEXT,                     -- why, for such an end
    finish_ms INTEGER,
    failure_info TEXT,
    counters TEXT,                   -- final; JSON [[counter_name.id, value], ...]
    first_attempt INTEGER NOT NULL DEFAULT 0,  -- lowest number of new attempts; others may have used those below
    pool TEXT,                       -- the one it was moved to; else the spec names it
    deadline TEXT,                   -- as it was tested last, with what was promised, JSON; else the spec has it
    estimate TEXT,                   -- what is believed of its costs, JSON; NULL: nothing
    log_key BLOB                     -- secret, follows from its token: makes tickets for its logs
) STRICT;
CREATE UNIQUE INDEX job_by_order ON job (accept_order);
CREATE INDEX job_unfinished ON job (accept_order) WHERE finish_ms IS NULL;
CREATE INDEX job_finished ON job (finish_ms, accept_order) WHERE finish_ms IS NOT NULL;

-- The attempts of a job are adjacent: their ids have a common prefix.
CREATE TABLE attempt (
    attempt TEXT PRIMARY KEY,
    job TEXT NOT NULL,
    role TEXT NOT NULL,              -- job_setup, job_cleanup, work
    tracker TEXT NOT NULL,
    response_id INTEGER NOT NULL,    -- of the heartbeat response that carried the launch
    launch_ms INTEGER NOT NULL,
    cleanup_tracker TEXT,            -- where and when the task cleanup was launched, unless it was lost
    cleanup_response_id INTEGER,
    cleanup_launch_ms INTEGER,
    state TEXT NOT NULL,
    kill_request TEXT,               -- the requested end: KILLED or FAILED by a user, PREEMPTED by the scheduler; while
                                     -- the attempt waits for its task cleanup, only requests made since then
    commit_granted INTEGER NOT NULL DEFAULT 0,
    start_ms INTEGER,                -- this and the next three: the tracker's clock, 0 = never
    shuffle_finish_ms INTEGER,
    sort_finish_ms INTEGER,
    finish_ms INTEGER,
    output_bytes INTEGER,            -- -1 = unknown
    diagnostics TEXT,
    state_text TEXT,
    counters TEXT,                   -- JSON [[counter_name.id, value], ...]
    slots INTEGER NOT NULL DEFAULT 1 -- how many it takes of its tracker; its task cleanup takes one
) STRICT;

-- The names that counters refer to. A row without name is a group without counters.
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

-- The last heartbeat response with launches of each tracker, byte for byte.
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

-- Trackers that have not yet acknowledged the KillJobAction of a completed job.
CREATE TABLE pending_kill_job (
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

-- Every credit that ever moved, from `debit` to `credit`: issued, revenue or queue:NAME. Old detail is compacted into
-- daily sums in this table; a sum over the whole ledger is the same before and after.
CREATE TABLE ledger (
    number INTEGER PRIMARY KEY,
    tick INTEGER NOT NULL,
    wall_ms INTEGER NOT NULL,
    queue TEXT,                      -- the one whose money it was or became
    reason TEXT NOT NULL,            -- endowment, top_up, charge, adjustment, closing, transfer, allowance
    rate TEXT,                       -- this and the next three: of charges only
    rate_units TEXT,
    map_slots INTEGER,
    reduce_slots INTEGER,
    container_slots INTEGER,         -- of charges; NULL in those of before containers: 0
    amount TEXT NOT NULL,
    amount_units TEXT NOT NULL,
    debit TEXT NOT NULL,
    credit TEXT NOT NULL,
    day TEXT,                        -- UTC day of a daily sum, such as 2026-11-21; NULL: the row is one movement. A sum
                                     -- has number, tick and time of its last movement, the sum of their slots, and a
                                     -- rate only if all of them had the same
    movements INTEGER NOT NULL DEFAULT 1,     -- how many the row stands for
    other_queue TEXT,                -- of a transfer: the queue that the money became, `queue` lost it
    made_by TEXT,                    -- this and the next: who moved it and what was said about it; NULL: nothing. A sum
    note TEXT                        -- has them only if all of its movements have the same
) STRICT;
CREATE INDEX ledger_by_queue ON ledger (queue, number);
CREATE UNIQUE INDEX ledger_by_day ON ledger (day, reason, debit, credit) WHERE day IS NOT NULL;

-- The last signature used, by its place of use, user and key.
CREATE TABLE stamp (
    consumer TEXT NOT NULL,          -- servlet, job, upload
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

-- What jobs have cost. A separate table: rows of jobs are long, and these change at every tick. The sum over the jobs of
-- a user, deleted ones included, equals what the user's queue was charged for jobs, whatever queue they were moved to.
CREATE TABLE job_cost (
    job TEXT PRIMARY KEY,
    tick INTEGER NOT NULL,           -- the last one that charged for it
    map_slots INTEGER NOT NULL,      -- paid for, summed over intervals
    reduce_slots INTEGER NOT NULL,
    cost TEXT NOT NULL,
    cost_units TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Finished jobs deleted by the retention limits, by the identifier in their ids. An id up to the last number that has
-- no row in `job` counts as used: it may have been a deleted job's.
CREATE TABLE deleted_job (
    identifier TEXT PRIMARY KEY,
    last_number INTEGER NOT NULL,
    jobs INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What the deleted jobs have cost that each queue paid for: with `job_cost` the sum over all of them.
CREATE TABLE deleted_job_cost (
    queue TEXT PRIMARY KEY,
    jobs INTEGER NOT NULL,           -- those with a cost
    map_slots INTEGER NOT NULL,
    reduce_slots INTEGER NOT NULL,
    cost TEXT NOT NULL,
    cost_units TEXT NOT NULL
) STRICT, WITHOUT ROWID;
