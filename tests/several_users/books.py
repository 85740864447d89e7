"""books.py STATE_DIR REPORT_CSV QUEUE...: for each queue, what its account lacks of 1000 is what it was charged by the ledger, what `report
queues` says and what the budget file lacks, to the last digit. Prints the sum; ends with 1 when anything differs or a queue paid nothing.
"""

import csv
import sqlite3
import sys
from decimal import Decimal

state, report, queues = sys.argv[1], sys.argv[2], sys.argv[3:]
database = sqlite3.connect(f"file:{state}/state.db?mode=ro", uri=True)
with open(f"{state}/budget", encoding="utf-8") as file:
    budgets = {line.split()[0]: Decimal(line.split()[1]) for line in file if line.strip()}
with open(report, encoding="utf-8") as file:
    reported = {row["queue"]: Decimal(row["charged"]) for row in csv.DictReader(file)}
total = Decimal(0)
for queue in queues:
    rows = database.execute("SELECT amount FROM ledger WHERE queue = ? AND reason = 'charge'", [queue])
    charged = sum((Decimal(amount) for (amount,) in rows), Decimal(0))
    balance = Decimal(database.execute("SELECT balance FROM account WHERE queue = ?", [queue]).fetchone()[0])
    if charged == 0 or charged != 1000 - balance or budgets[queue] != balance or reported.get(queue) != charged:
        sys.exit(f"{queue}: charged {charged}, reported {reported.get(queue)}, balance {balance}, budget file {budgets[queue]}")
    total += charged
print(f"  charged in all: {total}")
