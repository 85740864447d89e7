#!/usr/bin/env python3
"""Tests of bill.py: it passes a right ledger and names what is wrong with others."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bill.py")
ENDOWMENT = ("endowment", 0, None, None, None, None, "100", "100000000000000")
CHARGES = [("charge", 1, "0.3", 4000, 2000, 2000, "0.9", "900000000000"), ("charge", 2, "0.3", 2001, 0, 2000, "0.30015", "300150000000")]


class Bill(unittest.TestCase):
    def bill(self, ledger, budget):
        with tempfile.TemporaryDirectory() as folder:
            name = lambda file: os.path.join(folder, file)
            database = sqlite3.connect(name("state.db"))
            database.execute("CREATE TABLE ledger (number INTEGER PRIMARY KEY, reason, tick, rate, map_slot_ms, reduce_slot_ms, interval_ms, amount, amount_units, queue)")
            for row in ledger:
                database.execute("INSERT INTO ledger VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, 'alice')", row)
            database.commit()
            database.close()
            with open(name("budget"), "w", encoding="utf-8") as file:
                file.write("alice 100.00000000000000000000 0.30000000000000000000\n")
            with open(name("answer"), "w", encoding="utf-8") as file:
                file.write(f"200 OK\n<QueueInfo><queue name='alice'><budget>{budget}</budget></queue></QueueInfo>\n")
            command = [sys.executable, PROGRAM, name("state.db"), name("budget"), f"alice={name('answer')}"]
            return subprocess.run(command, capture_output=True, text=True, timeout=30)

    def test_right(self):
        ended = self.bill([ENDOWMENT, *CHARGES], "98.79985")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertEqual(
            ended.stdout,
            "alice: 100 credits at the start\n"
            "    rate 0.3 x 8.001 slot-s / 2 s, in 2 intervals = 1.20015\n"
            "    charged 1.20015, left 98.79985\n",
        )

    def test_wrong(self):
        first, second = CHARGES
        cases = {
            "the last digit": ([ENDOWMENT, *CHARGES], "98.799850000001", "is not 98.799850000001"),
            "amount": ([ENDOWMENT, ("charge", 1, "0.3", 4000, 4000, 2000, "0.9", "900000000000")], "99.1", "not 0.3 x 8 slot-s / 2 s"),
            "rate": ([ENDOWMENT, ("charge", 1, "0.4", 2000, 0, 2000, "0.4", "400000000000")], "99.6", "the bid is 0.3"),
            "tick": ([ENDOWMENT, first, first], "98.2", "charged twice"),
            "units": ([ENDOWMENT, ("charge", 1, "0.3", 2000, 0, 2000, "0.3", "300000000001")], "99.7", "300000000001 units"),
            "no charge": ([ENDOWMENT], "100.0", "nothing was charged"),
            "endowment": ([first, second], "98.79985", "begins with 0"),
        }
        for name, (ledger, budget, text) in cases.items():
            with self.subTest(name):
                ended = self.bill(ledger, budget)
                self.assertEqual(ended.returncode, 1)
                self.assertIn(text, ended.stdout)


if __name__ == "__main__":
    unittest.main()
