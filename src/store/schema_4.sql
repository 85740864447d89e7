-- The step to schema version 4: jobs that have run under another JobTracker.

-- The lowest number of new attempts: the numbers below it may have been used elsewhere.
ALTER TABLE job ADD COLUMN first_attempt INTEGER NOT NULL DEFAULT 0;
