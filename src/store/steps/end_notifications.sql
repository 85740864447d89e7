-- To version 8: owners of jobs that are over who are still to be notified of it.
CREATE TABLE end_notification (
    job TEXT PRIMARY KEY,
    number INTEGER NOT NULL,         -- of the fact
    notification TEXT NOT NULL       -- JSON: URL, retries, pause and timeout
) STRICT, WITHOUT ROWID;
