#!/usr/bin/env python3
"""What restart.sh needs beside a shell.

restart_words.py make FILES FOLDER             writes so many small files of words, always the same
restart_words.py check FOLDER REDUCES OUTPUT   OUTPUT must hold, byte for byte, what the stock word count makes of FOLDER
restart_words.py knock PORT                    once whoever listens there has died, prints the time, ms since 1970, when somebody does again
restart_words.py ticks STATE_DB QUEUE INTERVAL_MS KILLS
                                               every interval in which the queue held slots is charged, none is short
"""

import collections
import os
import random
import socket
import sqlite3
import sys
import time


def make(files, folder):
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(1, 9))) for _ in range(2000)]
    os.makedirs(folder)
    for number in range(int(files)):
        with open(os.path.join(folder, f"text-{number:04}"), "w", encoding="ascii") as file:
            for _ in range(40):
                print(*chance.choices(words, k=12), file=file)


def partition(word, reduces):
    """Where Hadoop's `HashPartitioner` sends a `Text`."""
    value = 1
    for byte in word:
        value = (31 * value + byte) & 0xFFFFFFFF
    return (value & 0x7FFFFFFF) % reduces


def check(folder, reduces, output):
    counts = collections.Counter()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            counts.update(file.read().split())
    for reduce in range(int(reduces)):
        wanted = b"".join(b"%s\t%d\n" % (word, counts[word]) for word in sorted(counts) if partition(word, int(reduces)) == reduce)
        name = f"part-r-{reduce:05}"
        with open(os.path.join(output, name), "rb") as file:
            found = file.read()
        if found != wanted:
            sys.exit(f"{name} has {len(found)} bytes that are not the {len(wanted)} of a run without kills")


def knock(port):
    with socket.create_connection(("127.0.0.1", int(port))) as connection:
        print("connected", flush=True)
        try:
            connection.recv(1)
        except OSError:
            pass
    while True:
        try:
            with socket.create_connection(("127.0.0.1", int(port)), timeout=1) as connection:
                opened_ms = int(time.time() * 1000)
                # The dying one may still have taken it; the living one waits for what comes.
                connection.settimeout(0.25)
                connection.recv(1)
        except TimeoutError:
            print(opened_ms)
            return
        except OSError:
            pass
        time.sleep(0.002)


def ticks(state_db, queue, interval_ms, kills):
    database = sqlite3.connect(f"file:{state_db}?mode=ro", uri=True)
    interval_ms = int(interval_ms)
    moments = database.execute("SELECT number, wall_ms FROM tick ORDER BY number").fetchall()
    charged = {row[0] for row in database.execute("SELECT tick FROM ledger WHERE queue = ? AND reason = 'charge'", (queue,))}
    # By the trackers' clocks, which are this machine's; a report takes a moment.
    attempts = database.execute(
        "SELECT launch_ms, attempt.finish_ms FROM attempt JOIN job USING (job) WHERE queue = ? AND role = 'work'", (queue,)
    ).fetchall()
    wrong = [f"tick {number} stands where {place} should" for place, (number, _) in enumerate(moments, 1) if number != place]
    missing = [
        number
        for (before, opened_ms), (number, closed_ms) in zip(moments, moments[1:])
        # It held slots when the interval was bought and when it was charged.
        if any(launch + 500 < opened_ms and closed_ms < finish for launch, finish in attempts) and number not in charged
    ]
    wrong += [f"tick {number} charged nothing" for number in missing]
    gaps = [after - before for (_, before), (_, after) in zip(moments, moments[1:])]
    # The interval that a kill cuts ends a whole one after the start, and is paid for once.
    long = sum(gap > interval_ms * 11 // 10 for gap in gaps)
    print(f"{len(moments)} ticks, {len(charged)} of them charged {queue}; {long} intervals took longer, with {kills} kills")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    {"make": make, "check": check, "knock": knock, "ticks": ticks}[sys.argv[1]](*sys.argv[2:])
