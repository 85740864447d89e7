-- Jobs that are held and queues that are paused, until they are released or resumed.
CREATE TABLE pause (
    kind TEXT NOT NULL,              -- job, queue
    name TEXT NOT NULL,
    user TEXT NOT NULL,              -- who did it
    since_ms INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
