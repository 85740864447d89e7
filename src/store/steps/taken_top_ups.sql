-- Top-ups that were made in a database of budgets and are in the ledger: none is taken over twice.
CREATE TABLE taken_top_up (
    reference TEXT PRIMARY KEY,
    queue TEXT NOT NULL,
    amount TEXT NOT NULL,
    amount_units TEXT NOT NULL,
    ledger INTEGER NOT NULL          -- the number of its entry, as it was before compaction
) STRICT, WITHOUT ROWID;
