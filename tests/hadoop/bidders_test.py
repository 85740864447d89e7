#!/usr/bin/env python3
"""Tests of the judge in bidders.py: it passes a right run and names what is wrong with others."""

import copy
import importlib.util
import os
import sys
import tempfile
import unittest
from decimal import Decimal

sys.dont_write_bytecode = True
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bidders.py")
SPEC = importlib.util.spec_from_file_location("bidders", PROGRAM)
bidders = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(bidders)


def line(budget, spending, share, used, pending, maps, reduces=0):
    return {"budget": budget, "spending": spending, "share": share, "used": used, "pending": pending, "maps": maps, "reduces": reduces}


def charge(tick, rate, map_ms, amount):
    return {"tick": tick, "reason": "charge", "rate": rate, "interval_ms": 2000, "map_slot_ms": map_ms, "reduce_slot_ms": 0, "amount": amount}


def run():
    """Alice pays for two slots and then for one and a half, and has changed her bid in between; bob cannot pay his."""
    return {
        "ticks": [
            {"tick": 5, "wall_ms": 10000, "price": "0.3", "queues": {"alice": line("10.0", "0.3", "1.000000000", 0, 3, 4), "bob": line("0.5", "0.0", "0.000000000", 0, 2, 0)}},
            {"tick": 6, "wall_ms": 12000, "price": "0.3", "queues": {"alice": line("9.4", "0.3", "1.000000000", 2, 1, 4), "bob": line("0.5", "0.0", "0.000000000", 0, 2, 0)}},
            {"tick": 7, "wall_ms": 14000, "price": "0.7", "queues": {"alice": line("8.95", "0.7", "1.000000000", 1, 1, 4), "bob": line("0.5", "0.0", "0.000000000", 0, 2, 0)}},
        ],
        "statements": {
            "alice": {"balance": "8.95", "rows": [{"tick": 0, "reason": "endowment", "amount": "10"}, charge(6, "0.3", 4000, "-0.6"), charge(7, "0.3", 3000, "-0.45")]},
            "bob": {"balance": "0.5", "rows": [{"tick": 0, "reason": "endowment", "amount": "0.5"}]},
        },
        "start": {"alice": (Decimal(10), Decimal("0.3")), "bob": (Decimal("0.5"), Decimal("0.6"))},
        "changes": [{"queue": "alice", "rate": "0.7", "asked_ms": 13000, "answered_ms": 13010}],
        "attempts": [("alice", True, "SUCCESS", 10000, 20000), ("alice", True, "SUCCESS", 10000, 13000)],
        "costs": {"alice": Decimal("1.05")},
    }


class Judge(unittest.TestCase):
    def test_right(self):
        self.assertEqual(bidders.judge(**run()), ([], 2))
        self.assertEqual(len(list(bidders.table(run()["ticks"]))), 4)

    def test_wrong(self):
        def alice(run, tick, key, value):
            run["ticks"][tick]["queues"]["alice"][key] = value

        def charged(run, key, value):
            run["statements"]["alice"]["rows"][1][key] = value

        cases = {
            "the last digit": (lambda run: charged(run, "amount", "-0.600000000001"), "not 0.3 x 4000"),
            "budget": (lambda run: alice(run, 1, "budget", "9.400000000001"), "is not 9.400000000001"),
            "rate of the charge": (lambda run: charged(run, "rate", "0.7"), "bought at 0.3"),
            "slots": (lambda run: charged(run, "map_slot_ms", 6000), "not 0.3 x 6000"),
            "more than ran": (lambda run: run["attempts"].clear(), "-80 to 80 were held"),
            "fewer than ran": (lambda run: run["attempts"].extend(run["attempts"][:1] * 2), "were held"),
            "charged twice": (lambda run: run["statements"]["alice"]["rows"].append(charge(6, "0.3", 4000, "-0.6")), "2 charges"),
            "not charged": (lambda run: run["statements"]["alice"]["rows"].pop(), "is not 8.95"),
            "bid too early": (lambda run: run["changes"][0].update(asked_ms=15000, answered_ms=15010), "the effective rate is 0.7"),
            "bid too late": (lambda run: run["changes"][0].update(asked_ms=11000, answered_ms=11010), "the effective rate is 0.3"),
            "a rate that cannot be paid": (lambda run: run["ticks"][1]["queues"]["bob"].update(spending="0.6"), "bob: the effective rate is 0.6"),
            "price": (lambda run: run["ticks"][1].update(price="0.4"), "the rates sum to 0.3"),
            "share": (lambda run: alice(run, 1, "share", "0.999999999"), "the share is"),
            "quota": (lambda run: alice(run, 1, "maps", 32), "more than 9.4 can pay"),
            "a tick left out": (lambda run: run["ticks"].pop(1), "too slow"),
            "cost": (lambda run: run["costs"].update(alice=Decimal("0.8")), "the jobs have cost 0.8"),
            "balance": (lambda run: run["statements"]["bob"].update(balance="0.6"), "bob: began with"),
        }
        for name, (breakage, text) in cases.items():
            with self.subTest(name):
                broken = copy.deepcopy(run())
                breakage(broken)
                self.assertIn(text, "\n".join(bidders.judge(**broken)[0]))

    def test_attempts_of_a_history(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "job_202611270714_0001_1_alice_sleep"), "w", encoding="utf-8") as file:
                file.write(HISTORY)
            with open(os.path.join(folder, "job_202611270714_0001_conf.xml"), "w", encoding="utf-8") as file:
                file.write("<configuration/>")
            self.assertEqual(bidders.attempts_of(folder), [("a.lice", True, "KILLED", 10000, 20000), ("a.lice", False, "SUCCESS", 15000, 21000)])


HISTORY = r"""Meta VERSION="1" .
Job JOBID="job_202611270714_0001" JOBNAME="say \"a\"" USER="alice" JOB_QUEUE="a\.lice" .
MapAttempt TASK_TYPE="SETUP" TASKID="t" TASK_ATTEMPT_ID="s" START_TIME="9000" .
MapAttempt TASK_TYPE="SETUP" TASKID="t" TASK_ATTEMPT_ID="s" TASK_STATUS="SUCCESS" FINISH_TIME="9500" .
MapAttempt TASK_TYPE="MAP" TASKID="t" TASK_ATTEMPT_ID="m" START_TIME="10000" .
MapAttempt TASK_TYPE="MAP" TASKID="t" TASK_ATTEMPT_ID="m" TASK_STATUS="KILLED" FINISH_TIME="20000" .
ReduceAttempt TASK_TYPE="REDUCE" TASKID="t" TASK_ATTEMPT_ID="r" START_TIME="15000" .
ReduceAttempt TASK_TYPE="REDUCE" TASKID="t" TASK_ATTEMPT_ID="r" TASK_STATUS="SUCCESS" SHUFFLE_FINISHED="16000" FINISH_TIME="21000" .
"""

if __name__ == "__main__":
    unittest.main()
