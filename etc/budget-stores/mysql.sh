#!/bin/sh
# Budgets in a MySQL or MariaDB database, for mapred.dynamic-scheduler.store.command:
#     /etc/hadoop/mysql.sh /etc/hadoop/mysql.cnf accounting
# The first argument is an option file with user, password and host under [client], mode 600. Make the tables once:
#     CREATE TABLE account (name VARCHAR(255) PRIMARY KEY, budget DECIMAL(40,12) NOT NULL, bid DECIMAL(40,12) NOT NULL);
#     CREATE TABLE publication (tick BIGINT NOT NULL); INSERT INTO publication VALUES (0);
#     INSERT INTO account VALUES ('alice', 1000, 0.5);
set -eu

options=$1
database=$2
client() {
    mysql --defaults-extra-file="$options" --batch --skip-column-names "$database"
}

case $3 in
load)
    echo 'SELECT name, budget, bid FROM account ORDER BY name' | client | tr '\t' ' '
    ;;
publish)
    tick=$4
    # Quotes and backslashes of names are escaped; a later tick stays, but for the first publication of a start: the
    # JobTracker may be a restored one.
    first=${5-}
    {
        echo 'START TRANSACTION;'
        echo 'SELECT tick INTO @shown FROM publication FOR UPDATE;'
        # Without its row this fails.
        echo 'CREATE TEMPORARY TABLE shown (row_of_publication BIGINT NOT NULL);'
        echo 'INSERT INTO shown VALUES (@shown);'
        [ "$first" != first ] || echo 'SET @shown = 0;'
        echo 'CREATE TEMPORARY TABLE new LIKE account;'
        sed -e "s/['\\\\]/\\\\&/g" -e "s/^\\([^ ]*\\) \\([^ ]*\\) \\([^ ]*\\)\$/INSERT INTO new VALUES ('\\1', \\2, \\3);/"
        echo "DELETE FROM account WHERE @shown <= $tick;"
        echo "INSERT INTO account SELECT * FROM new WHERE @shown <= $tick;"
        echo "UPDATE publication SET tick = $tick WHERE @shown <= $tick;"
        echo 'COMMIT;'
    } | client
    ;;
*)
    echo "expected load or publish TICK [first], not $3" >&2
    exit 2
    ;;
esac
