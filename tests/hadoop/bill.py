#!/usr/bin/env python3
"""bill.py STATE_DB BUDGET_FILE QUEUE=ANSWER_FILE...

Prints what each queue was charged for, and checks it to the last digit: every charge is rate x slot-seconds / interval, the rate is the bid of
the budget file, and the budget at the start less all charges is the budget that `/scheduler` shows. ANSWER_FILE holds the answer to `info=QUEUE`.
"""

import re
import sqlite3
import sys
from decimal import Decimal, getcontext

getcontext().prec = 60


def plain(amount):
    """A decimal without exponent and without zeros at the end."""
    return format(amount.normalize(), "f")


def seconds(ms):
    return plain(Decimal(ms) / 1000)


def counted(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def rows(state_db, queue):
    """The ledger's rows of a queue's money: (reason, tick, rate, slot-milliseconds, interval, amount, units)."""
    database = sqlite3.connect(f"file:{state_db}?mode=ro", uri=True)
    return database.execute(
        "SELECT reason, tick, rate, map_slot_ms + reduce_slot_ms, interval_ms, amount, amount_units FROM ledger WHERE queue = ? ORDER BY number",
        (queue,),
    ).fetchall()


def bill(state_db, queue, start, bid, end):
    """Prints a queue's bill; gives what is wrong with it, one text each."""
    wrong = []
    used_ms, lengths = 0, set()
    charged = received = Decimal(0)
    ticks = set()
    for reason, tick, rate, slot_ms, interval_ms, amount, units in rows(state_db, queue):
        amount = Decimal(amount)
        if amount * 10**12 != Decimal(units):
            wrong.append(f"{queue}, tick {tick}: {amount} is not {units} units")
        if reason != "charge":
            received += amount
            continue
        rate = Decimal(rate)
        if amount * 10**12 != int(rate * 10**12) * slot_ms // interval_ms:
            wrong.append(f"{queue}, tick {tick}: charged {amount}, not {rate} x {seconds(slot_ms)} slot-s / {seconds(interval_ms)} s")
        if rate != bid:
            wrong.append(f"{queue}, tick {tick}: charged at the rate {rate}, but the bid is {bid}")
        if tick in ticks:
            wrong.append(f"{queue}, tick {tick}: charged twice")
        ticks.add(tick)
        used_ms += slot_ms
        lengths.add(interval_ms)
        charged += amount
    print(f"{queue}: {plain(start)} credits at the start")
    lengths = " or ".join(seconds(length) for length in sorted(lengths))
    print(f"    rate {plain(bid)} x {seconds(used_ms)} slot-s / {lengths} s, in {counted(len(ticks), 'interval')} = {plain(charged)}")
    print(f"    charged {plain(charged)}, left {plain(end)}")
    if charged == 0:
        wrong.append(f"{queue}: nothing was charged")
    if received != start:
        wrong.append(f"{queue}: the ledger begins with {received}, the budget file with {start}")
    if start - charged != end:
        wrong.append(f"{queue}: {start} - {charged} is not {end}")
    return wrong


def main():
    state_db, budget_file, *answers = sys.argv[1:]
    with open(budget_file, encoding="utf-8") as file:
        accounts = {queue: (Decimal(budget), Decimal(rate)) for queue, budget, rate in map(str.split, file)}
    wrong = []
    for answer in answers:
        queue, _, name = answer.partition("=")
        with open(name, encoding="utf-8") as file:
            end = re.search(r"<budget>([0-9.]+)</budget>", file.read())
        if end is None:
            wrong.append(f"{queue}: no budget in its answer")
            continue
        wrong += bill(state_db, queue, *accounts[queue], Decimal(end[1]))
    for text in wrong:
        print("wrong:", text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
