#!/bin/sh
# Budgets in an SQLite database, for mapred.dynamic-scheduler.store.command:
#     /etc/hadoop/sqlite.sh /var/lib/jobtracker/budgets.db
# Make the table once, and put in what the first start is to find:
#     sqlite3 /var/lib/jobtracker/budgets.db "CREATE TABLE account (name TEXT PRIMARY KEY, budget TEXT NOT NULL, bid TEXT NOT NULL);
#         CREATE TABLE publication (tick INTEGER NOT NULL); INSERT INTO publication VALUES (0);
#         INSERT INTO account VALUES ('alice', '1000', '0.5')"
# Amounts are text: SQLite's numbers are not exact to 12 decimals.
set -eu

database=$1
case $2 in
load)
    exec sqlite3 -bail -readonly -separator ' ' "$database" 'SELECT name, budget, bid FROM account ORDER BY name'
    ;;
publish)
    tick=$3
    # A later tick stays, but for the first publication of a start: the JobTracker may be a restored one.
    first=${4-}
    sqlite3 -bail "$database" <<END
.timeout 10000
CREATE TEMP TABLE new (name TEXT, budget TEXT, bid TEXT);
.mode list
.separator " "
.import /dev/fd/3 new
BEGIN IMMEDIATE;
CREATE TEMP TABLE rows (number INTEGER CONSTRAINT publication_has_one_row CHECK (number = 1));
INSERT INTO rows SELECT count(*) FROM publication;
CREATE TEMP TABLE due AS SELECT 1 FROM publication WHERE tick <= $tick OR '$first' = 'first';
DELETE FROM account WHERE EXISTS (SELECT 1 FROM due);
INSERT INTO account SELECT name, budget, bid FROM new WHERE EXISTS (SELECT 1 FROM due);
UPDATE publication SET tick = $tick WHERE EXISTS (SELECT 1 FROM due);
COMMIT;
END
    ;;
*)
    echo "expected load or publish TICK [first], not $2" >&2
    exit 2
    ;;
esac 3<&0
