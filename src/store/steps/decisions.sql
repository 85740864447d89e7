-- What was decided of others' work, by the scheduler or by somebody: the newest, and those about unfinished jobs.
CREATE TABLE decision (
    number INTEGER PRIMARY KEY,      -- of its fact
    job TEXT,                        -- that it is about, if it is about one
    decision TEXT NOT NULL           -- with its time and kind, JSON
) STRICT;
