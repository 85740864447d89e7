//! Charges by time: the slot-milliseconds of charges and costs beside the whole slots of earlier ones, and what is held in
//! the open interval.

use rusqlite::Connection;

/// Adds the columns, empty in all rows, and the table.
pub(super) fn add(database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(
        "ALTER TABLE ledger ADD COLUMN interval_ms INTEGER;        -- of a charge by time: the length of a whole interval
         ALTER TABLE ledger ADD COLUMN map_slot_ms INTEGER;        -- this and the next two: slots held x ms, paid for
         ALTER TABLE ledger ADD COLUMN reduce_slot_ms INTEGER;
         ALTER TABLE ledger ADD COLUMN container_slot_ms INTEGER;
         ALTER TABLE tick ADD COLUMN interval_ms INTEGER;          -- the length of the interval that it opens
         ALTER TABLE job_cost ADD COLUMN map_slot_ms INTEGER NOT NULL DEFAULT 0;     -- held in charged intervals
         ALTER TABLE job_cost ADD COLUMN reduce_slot_ms INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE deleted_job_cost ADD COLUMN map_slot_ms INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE deleted_job_cost ADD COLUMN reduce_slot_ms INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE application_cost ADD COLUMN container_slot_ms INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE deleted_application_cost ADD COLUMN container_slot_ms INTEGER NOT NULL DEFAULT 0;
         -- What jobs and applications hold in the open interval, as it changed.
         CREATE TABLE metered (
             number INTEGER PRIMARY KEY,      -- of its fact; 0: the last moment at which nothing changed
             tick INTEGER NOT NULL,           -- the one that opened the interval
             offset_ms INTEGER NOT NULL,      -- how long it had been open, without the time while the daemon was down
             changes TEXT                     -- JSON; NULL: nothing changed
         ) STRICT;",
    )
}

#[cfg(test)]
mod tests {
    use crate::store::schema;

    #[test]
    fn charges_of_before_have_no_time_and_costs_none_yet() {
        let database = schema::in_memory().unwrap();
        let old = "INSERT INTO ledger (number, tick, wall_ms, reason, map_slots, amount, amount_units, debit, credit)
                       VALUES (1, 2, 3, 'charge', 4, '1.0', '1', 'queue:q', 'revenue');
                   INSERT INTO job_cost (job, tick, map_slots, reduce_slots, cost, cost_units)
                       VALUES ('j', 2, 4, 0, '1.0', '1')";
        database.execute_batch(old).unwrap();
        let found = "SELECT ledger.interval_ms IS NULL AND ledger.map_slot_ms IS NULL AND job_cost.map_slot_ms = 0
                     FROM ledger, job_cost";
        assert!(database.query_row(found, [], |row| row.get::<_, bool>(0)).unwrap());
    }
}
