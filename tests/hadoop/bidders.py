#!/usr/bin/env python3
"""Watches the market of a live run and judges it to the last digit.

  bidders.py watch SERVER USER KEY STATE_DB TICKS     appends what `infos` says at each tick to the file TICKS, until it is ended
  bidders.py bid SERVER USER KEY RATE CHANGES         signed setSpending of the user's own queue; appends when to the file CHANGES
  bidders.py used TICKS QUEUE                         prints slots used and tasks pending of the queue at the last tick
  bidders.py judge SERVER USER KEY STATE_DB TICKS CHANGES BUDGET_FILE HISTORIES
                                                      prints the table, then what is wrong; ends with 1 when anything is; when attempts
                                                      ran is read from the job histories in the folder HISTORIES

USER of `watch` and `judge` is an administrator.
"""

import http.client
import importlib.util
import json
import os
import re
import sqlite3
import sys
import time
import xml.etree.ElementTree
from decimal import ROUND_DOWN, Decimal, getcontext

getcontext().prec = 60

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../etc/client/scheduler.py")
LOOK_EVERY_S = 0.05
BILLIONTH = Decimal("0.000000001")
# From the end of an attempt until the JobTracker has heard of it, and from its launch until the tracker has begun it.
HEARTBEAT_MS = 4000
IS_HISTORY = re.compile(r"job_\d+_\d+_(?!conf\.xml)[^.]*$")
MEMBER = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
# The clocks of the tick's row and of its meter are read apart.
SLACK_MS = 20


def load_client():
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("scheduler", CLIENT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CLIENT = load_client()
last_signed_ms = 0


def ask(server, user, key, query, path="/scheduler"):
    """The body of the answer to a signed query, which must be good."""
    global last_signed_ms
    last_signed_ms = max(time.time_ns() // 1_000_000, last_signed_ms + 1)
    query = CLIENT.signed_query(query, user, last_signed_ms)
    connection = http.client.HTTPConnection(server, timeout=30)
    connection.request("GET", f"{path}?{query}", headers={"Authorization": CLIENT.sign(query, key)})
    response = connection.getresponse()
    body = response.read().decode()
    if response.status != 200:
        raise SystemExit(f"bidders.py: {query} was answered by {response.status} {response.reason}: {body}")
    return body


def select(state_db, sql):
    database = sqlite3.connect(f"file:{state_db}?mode=ro", uri=True, timeout=10)
    try:
        return database.execute(sql).fetchall()
    finally:
        database.close()


def last_tick(state_db):
    return (select(state_db, "SELECT number, wall_ms FROM tick ORDER BY number DESC LIMIT 1") or [(0, 0)])[0]


def look(server, user, key, state_db):
    """What is published at a tick, with the quotas, or None when the next tick came meanwhile."""
    tick, wall_ms = last_tick(state_db)
    answer = xml.etree.ElementTree.fromstring(ask(server, user, key, "infos"))
    quotas = {queue: (maps, reduces) for queue, maps, reduces in select(state_db, "SELECT queue, map_slots, reduce_slots FROM allocation")}
    if last_tick(state_db)[0] != tick:
        return None
    queues = {}
    for queue in answer.iter("queue"):
        name = queue.get("name")
        line = {element.tag: element.text for element in queue}
        line["used"], line["pending"] = int(line["used"]), int(line["pending"])
        line["maps"], line["reduces"] = quotas.get(name, (0, 0))
        queues[name] = line
    return {"tick": tick, "wall_ms": wall_ms, "price": answer.findtext("price"), "queues": queues}


def watch(server, user, key, state_db, ticks):
    seen = -1
    with open(ticks, "a", encoding="utf-8") as file:
        while True:
            if last_tick(state_db)[0] != seen:
                record = look(server, user, key, state_db)
                if record is None:
                    continue
                seen = record["tick"]
                print(json.dumps(record), file=file, flush=True)
            time.sleep(LOOK_EVERY_S)


def bid(server, user, key, rate, changes):
    asked_ms = time.time_ns() // 1_000_000
    ask(server, user, key, f"setSpending={rate}&queue={user}")
    with open(changes, "a", encoding="utf-8") as file:
        answered_ms = time.time_ns() // 1_000_000
        print(json.dumps({"queue": user, "rate": rate, "asked_ms": asked_ms, "answered_ms": answered_ms}), file=file)


def read_lines(name):
    if not os.path.exists(name):
        return []
    with open(name, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def used(ticks, queue):
    line = read_lines(ticks)[-1:]
    line = line[0]["queues"].get(queue, {}) if line else {}
    print(line.get("used", 0), line.get("pending", 0))


def cents(text):
    """A sum as the table shows it; the judge uses all digits."""
    return format(Decimal(text).quantize(Decimal("0.001"), ROUND_DOWN), "f")


def table(ticks):
    names = sorted(ticks[0]["queues"])
    head = " | ".join(f"{name + ': budget':>16} {'rate':>6} {'share':>5} used/quota pend." for name in names)
    yield f"{'tick':>4} {'price':>6} | {head}"
    for record in ticks:
        parts = []
        for name in names:
            line = record["queues"][name]
            quota = line["maps"] + line["reduces"]
            parts.append(
                f"{cents(line['budget']):>16} {cents(line['spending']):>6} {cents(line['share']):>5} {line['used']:>4}/{quota:<5} {line['pending']:>5}"
            )
        yield f"{record['tick']:>4} {cents(record['price']):>6} | " + " | ".join(parts)


def bids_at(queue, wall_ms, first, changes):
    """The bids that may be in force at a moment, by what the bidder saw: two while an answer is under way."""
    bids = {first}
    for change in changes:
        if change["queue"] != queue:
            continue
        if change["answered_ms"] < wall_ms:
            bids = set()
        if change["asked_ms"] <= wall_ms:
            bids.add(Decimal(change["rate"]))
    return bids


def attempts_of(histories):
    """What ran of maps and reduces by the histories of jobs in a folder: (queue, whether a map, state, begin, end) in milliseconds."""
    attempts = []
    for folder, _, names in os.walk(histories):
        for name in filter(IS_HISTORY.match, names):
            attempts += attempts_in(os.path.join(folder, name))
    return attempts


def attempts_in(history):
    queue, lines = None, {}
    with open(history, encoding="utf-8") as file:
        for line in file:
            members = {key: re.sub(r"\\(.)", r"\1", value) for key, value in MEMBER.findall(line)}
            queue = members.get("JOB_QUEUE", queue)
            if line.startswith(("MapAttempt ", "ReduceAttempt ")) and members["TASK_TYPE"] in ("MAP", "REDUCE"):
                lines.setdefault(members["TASK_ATTEMPT_ID"], {}).update(members)
    return [
        (queue, line["TASK_TYPE"] == "MAP", line["TASK_STATUS"], int(line["START_TIME"]), int(line["FINISH_TIME"]))
        for line in lines.values()
        if line.get("START_TIME", "0") != "0"
    ]


def held_between(attempts, queue, from_ms, until_ms, is_map, quota, interval_ms):
    """The least and the most slot-milliseconds within a quota that attempts may have held between two ticks."""
    until_ms = min(until_ms, from_ms + interval_ms)
    own = [row for row in attempts if row[0] == queue and row[1] == is_map]
    # A tracker begins what the JobTracker has launched, and the JobTracker learns of an end at a heartbeat. What is killed leaves its slot
    # before its task-cleanup ends, which is when the history has its end.
    surely = [(begin_ms, end_ms) for _, _, state, begin_ms, end_ms in own if state == "SUCCESS"]
    perhaps = [(begin_ms - HEARTBEAT_MS, end_ms + HEARTBEAT_MS) for _, _, _, begin_ms, end_ms in own]

    def held(spans):
        edges = sorted({from_ms, until_ms, *(edge for span in spans for edge in span if from_ms < edge < until_ms)})
        return sum((end - begin) * min(quota, sum(first <= begin < last for first, last in spans)) for begin, end in zip(edges, edges[1:]))

    slack_ms = quota * SLACK_MS
    return held(surely) - slack_ms, held(perhaps) + slack_ms


def judge_tick(before, now, rows, start, changes, attempts):
    """What is wrong with a tick, given the one before it and the ledger's rows by (queue, tick)."""
    wrong = []
    rates = [Decimal(line["spending"]) for line in now["queues"].values()]
    price = Decimal(now["price"])
    if sum(rates) != price:
        wrong.append(f"the price is {price}, the rates sum to {sum(rates)}")
    for name, line in now["queues"].items():
        budget, rate, share = (Decimal(line[key]) for key in ("budget", "spending", "share"))
        earlier = before["queues"][name]
        bids = bids_at(name, now["wall_ms"], start[name][1], changes)
        wants = line["used"] > 0 or line["pending"] > 0
        right = {bid if wants and bid <= budget else Decimal(0) for bid in bids}
        # Who runs only what lies beyond his quota shows neither use nor want, and is active all the same.
        if rate not in right and not (rate in bids and rate <= budget):
            wrong.append(f"{name}: the effective rate is {rate}, the bid {bids}, the budget {budget}")
        if share != ((rate / price).quantize(BILLIONTH, ROUND_DOWN) if price else 0):
            wrong.append(f"{name}: the share is {share}, not {rate} of {price}")
        if rate and rate * (line["maps"] + line["reduces"]) > budget:
            wrong.append(f"{name}: the quota {line['maps']} + {line['reduces']} at {rate} is more than {budget} can pay")
        charges = [row for row in rows.get((name, now["tick"]), []) if row["reason"] == "charge"]
        slot_ms, interval_ms = {"map_slot_ms": 0, "reduce_slot_ms": 0}, now["wall_ms"] - before["wall_ms"]
        for row in charges:
            slot_ms, interval_ms = {kind: row[kind] for kind in slot_ms}, row["interval_ms"]
            if Decimal(row["rate"]) != Decimal(earlier["spending"]):
                wrong.append(f"{name}: charged at {row['rate']}, the interval was bought at {earlier['spending']}")
            units = int(Decimal(row["rate"]) * 10**12) * sum(slot_ms.values()) // interval_ms
            if -Decimal(row["amount"]) * 10**12 != units:
                wrong.append(f"{name}: charged {row['amount']}, not {row['rate']} x {sum(slot_ms.values())} ms of slots in {interval_ms} ms")
        charged = -sum(Decimal(row["amount"]) for row in charges)
        if len(charges) > 1:
            wrong.append(f"{name}: {len(charges)} charges of {charged} together")
        if Decimal(earlier["budget"]) - charged != budget:
            wrong.append(f"{name}: {earlier['budget']} - {charged} is not {budget}")
        for kind, quota, is_map in (("map_slot_ms", "maps", True), ("reduce_slot_ms", "reduces", False)):
            if not Decimal(earlier["spending"]):
                continue
            least, most = held_between(attempts, name, before["wall_ms"], now["wall_ms"], is_map, earlier[quota], interval_ms)
            if not least <= slot_ms[kind] <= most:
                wrong.append(f"{name}: {slot_ms[kind]} {kind} charged, {least} to {most} were held within {earlier[quota]} slots")
    return [f"tick {now['tick']}, {text}" for text in wrong]


def judge(ticks, statements, start, changes, attempts, costs):
    """What is wrong with a run, and how many charges and ticks were judged."""
    rows = {}
    for name, statement in statements.items():
        for row in statement["rows"]:
            rows.setdefault((name, row["tick"]), []).append(row)
    wrong, charges = [], 0
    for before, now in zip(ticks, ticks[1:]):
        if now["tick"] != before["tick"] + 1:
            wrong.append(f"tick {before['tick']} is followed by {now['tick']}: the watcher was too slow")
            continue
        wrong += judge_tick(before, now, rows, start, changes, attempts)
        charges += sum(row["reason"] == "charge" for name in statements for row in rows.get((name, now["tick"]), []))
    for name, statement in statements.items():
        moved = sum(Decimal(row["amount"]) for row in statement["rows"])
        endowed = sum(Decimal(row["amount"]) for row in statement["rows"] if row["reason"] != "charge")
        if endowed != start[name][0] or moved != Decimal(statement["balance"]):
            wrong.append(f"{name}: began with {endowed}, moved {moved}, has {statement['balance']}")
        if costs.get(name, 0) != endowed - moved:
            wrong.append(f"{name}: was charged {endowed - moved}, the jobs have cost {costs.get(name, 0)}")
    return wrong, charges


def judge_run(server, user, key, state_db, ticks, changes, budget_file, histories):
    ticks, changes = read_lines(ticks), read_lines(changes)
    with open(budget_file, encoding="utf-8") as file:
        start = {queue: (Decimal(budget), Decimal(rate)) for queue, budget, rate in map(str.split, file)}
    statements = {name: json.loads(ask(server, user, key, f"statement={name}", "/scheduler/statement")) for name in start}
    attempts = attempts_of(histories)
    costs = {}
    for queue, cost in select(state_db, "SELECT queue, cost FROM job_cost JOIN job USING (job)"):
        costs[queue] = costs.get(queue, 0) + Decimal(cost)
    print("\n".join(table(ticks)))
    wrong, charges = judge(ticks, statements, start, changes, attempts, costs)
    for text in wrong:
        print("wrong:", text)
    print(f"{charges} charges over {len(ticks)} ticks judged, {len(wrong)} wrong")
    return 1 if wrong or not charges else 0


def main():
    command, *arguments = sys.argv[1:]
    return {"watch": watch, "bid": bid, "used": used, "judge": judge_run}[command](*arguments)


if __name__ == "__main__":
    sys.exit(main())
