#!/usr/bin/env python3
"""Tests of bill.py: it passes a right ledger and names what is wrong with others."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bill.py")
ENDOWMENT = ("endowment", 0, None, None, None, "100", "100000000000000")
CHARGES = [("charge", 1, "0.3", 2, 1, "0.9", "900000000000"), ("charge", 2, "0.3", 1, 0, "0.3", "300000000000")]


class Bill(unittest.TestCase):
    def bill(self, ledger, budget):
        with tempfile.TemporaryDirectory() as folder:
            name = lambda file: os.path.join(folder, file)
            database = sqlite3.connect(name("state.db"))
            database.execute("CREATE TABLE ledger (number INTEGER PRIMARY KEY, reason, tick, rate, map_slots, reduce_slots, amount, amount_units, queue)")
            for row in ledger:
                database.execute("INSERT INTO ledger VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, 'alice')", row)
            database.commit()
            database.close()
            with open(name("budget"), "w", encoding="utf-8") as file:
                file.write("alice 100.00000000000000000000 0.30000000000000000000\n")
            with open(name("answer"), "w", encoding="utf-8") as file:
                file.write(f"200 OK\n<QueueInfo><queue name='alice'><budget>{budget}</budget></queue></QueueInfo>\n")
            command = [sys.executable, PROGRAM, name("state.db"), name("budget"), f"alice={name('answer')}"]
            return subprocess.run(command, capture_output=True, text=True, timeout=30)

    def test_right(self):
        ended = self.bill([ENDOWMENT, *CHARGES], "98.8")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertEqual(
            ended.stdout,
            "alice: 100 credits at the start\n"
            "    rate 0.3 x 1 slot x 1 interval = 0.3\n"
            "    rate 0.3 x 3 slots x 1 interval = 0.9\n"
            "    charged 1.2, left 98.8\n",
        )

    def test_wrong(self):
        first, second = CHARGES
        cases = {
            "the last digit": ([ENDOWMENT, *CHARGES], "98.800000000001", "is not 98.800000000001"),
            "amount": ([ENDOWMENT, ("charge", 1, "0.3", 2, 2, "0.9", "900000000000")], "99.1", "not 0.3 x 4"),
            "rate": ([ENDOWMENT, ("charge", 1, "0.4", 1, 0, "0.4", "400000000000")], "99.6", "the bid is 0.3"),
            "tick": ([ENDOWMENT, first, first], "98.2", "charged twice"),
            "units": ([ENDOWMENT, ("charge", 1, "0.3", 1, 0, "0.3", "300000000001")], "99.7", "300000000001 units"),
            "no charge": ([ENDOWMENT], "100.0", "nothing was charged"),
            "endowment": ([first, second], "98.8", "begins with 0"),
        }
        for name, (ledger, budget, text) in cases.items():
            with self.subTest(name):
                ended = self.bill(ledger, budget)
                self.assertEqual(ended.returncode, 1)
                self.assertIn(text, ended.stdout)


if __name__ == "__main__":
    unittest.main()
