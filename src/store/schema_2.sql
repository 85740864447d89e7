-- The step to schema version 2: the ledger's old detail becomes daily sums, in the same table, so that a sum over all of it
-- is the same before and after.

-- Of a sum the day of UTC it sums, such as 2026-11-21; NULL: this row is one movement. A sum stands at the number, tick
-- and time of the last movement in it, adds up their slots, and has a rate only if all of them had that one.
ALTER TABLE ledger ADD COLUMN day TEXT;
-- How many movements the row stands for.
ALTER TABLE ledger ADD COLUMN movements INTEGER NOT NULL DEFAULT 1;
CREATE UNIQUE INDEX ledger_by_day ON ledger (day, reason, debit, credit) WHERE day IS NOT NULL;
