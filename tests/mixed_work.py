#!/usr/bin/env python3
"""mixed_work.py JOBTRACKER [--short]

Two users with streaming jobs and containers beside each other, on two built-in workers whose bags are larger than their slots. Under the
market, with preemption and bids that change: containers give way to the maps and the containers of the queue that pays more, what had to
give way comes again, and the bills are right to the last digit by the statements alone, before and after a restart. Then the same mix
under each other scheduler (`--short`: under none): everything ends with the right outputs, limits hold, and no slot is lost.
Ends with a line `N passed, N failed`.
"""

import os
import re
import sys
import time
from decimal import Decimal

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "mixed_work"))

from cluster import PREEMPTED, SLOT_MB, SLOTS, TICK_S, USERS, Cluster, Watch  # noqa: E402
from real_processes import counts, print_counts, verdict, wait_for  # noqa: E402

ROW = {"priority": 1, "resource-name": "*", "capability": {"memory": SLOT_MB, "vCores": 1}}
GAVE_WAY = r"Preempted: queue {} is over its quota of slots for containers, and others are below theirs"
# What the clocks of a tick and of a look may differ by, s.
MARGIN_S = 0.05
# Of the pool `bob` under the Fair scheduler.
MAX_RUNNING = 2
MAXIMUM_PERCENT = 60
# Of alice's job under the Constraint scheduler, s.
DUE_S = 60


def granted(session, number, members=None):
    """So many containers, and what else the application sends with its wish."""
    found, members = [], {"ask": [{**ROW, "num-containers": number}], **(members or {})}
    while len(found) < number:
        found += [each["container-id"] for each in session.allocate(members, wait_ms=10_000)["allocated-containers"]]
        members = {}
    return found


def returns_promptly(session, rounds):
    """Takes containers and gives them back at once; the longest time that one may have been held, s."""
    longest = 0.0
    for _ in range(rounds):
        began = time.monotonic()
        session.allocate({"release": granted(session, 2)})
        longest = max(longest, time.monotonic() - began)
    session.unregister()
    return longest


def hoards(session, out, hoarded_s):
    """Holds three containers without launching them; then launches one and gives the others back. True if its command ran well."""
    containers = granted(session, 3)
    time.sleep(hoarded_s)
    context = {"command": ["sh", "-c", f"echo done >{out}"]}
    members = {"launch": [{"container-id": containers[0], "context": context}], "release": containers[1:]}
    ends = {}
    while len(ends) < len(containers):
        for status in session.allocate(members, wait_ms=10_000)["completed-container-statuses"]:
            ends[status["container-id"]] = status["exit-status"]
        members = {}
    session.unregister()
    return [ends[container] for container in containers] == [0, -100, -100] and out.read_text() == "done\n"


# The market


def gave_way(cluster, array, user, known=()):
    """Containers of the array that had to give way, but those that are known."""
    return wait_for(
        f"container of {user} that gives way",
        lambda: [container for container in array.preempted() if container["containerId"] not in known],
    )


def judge_texts(what, user, containers):
    wrong = [container["diagnostics"] for container in containers if not re.fullmatch(GAVE_WAY.format(user), container["diagnostics"])]
    verdict(f"market: {what}", containers and not wrong, f"{len(containers)} with {PREEMPTED}{f', {wrong}' if wrong else ''}")


def play_market(cluster, is_short):
    """The mix while bids change; returns how long a container was held that was given back at once, s. Items wait for a gate, so that none
    ends before it had to give way."""
    held_s = returns_promptly(cluster.session("bob", "prompt"), 6)
    if not is_short:
        good = hoards(cluster.session("alice", "hoard"), cluster.folder / "hoard", 2.5 * TICK_S)
        verdict("market: an application that hoards ends well", good)
    # bob is alone, and his containers fill both bags.
    bobs = cluster.array("bob", "bob-array", 24, 0)
    wait_for("full workers", lambda: bobs.report()["runningContainers"] == SLOTS)
    job = cluster.submit("alice", "alice-job", 8, 0.5)
    wait_for("map of alice", lambda: any(attempt["task"] == "map" for attempt in job.attempts()))
    # Until now she wants no container.
    first = bobs.preempted()
    judge_texts("her map gets its room from his containers, which say why", "bob", first)
    alices = cluster.array("alice", "alice-array", 16, 0)
    other = cluster.submit("bob", "bob-job", 8, 0.5)
    cluster.bid("alice", "9.000000000001")
    second = gave_way(cluster, bobs, "bob", {container["containerId"] for container in first})
    judge_texts("her raise takes containers from him", "bob", second)
    wait_for("charge to the last decimal", lambda: Decimal(alices.report()["cost"]) % 1 != 0)
    if not is_short:
        # Her reduces are paid for, too.
        wait_for("end of alice's job", job.is_over)
        wait_for("containers of alice", lambda: alices.report()["runningContainers"] > 4)
        cluster.bid("bob", "30.7")
        cluster.bid("alice", "0.3")
        judge_texts("his raise takes containers from her", "alice", gave_way(cluster, alices, "alice"))
    cluster.bid("alice", "2.3")
    cluster.bid("bob", 2)
    wait_for("charge for bob-array", lambda: Decimal(bobs.report()["cost"]) > 0)
    cluster.open_gate()
    for work in (bobs, alices, job, other):
        wait_for(f"end of {work.name}", work.is_over)
    for work in (bobs, alices, job, other):
        work.judge()
    return held_s


def ticks(cluster):
    """Number of the last tick."""
    return cluster.look("/scheduler/history")[1]["points"][-1]["tick"]


def pass_ticks(cluster, number):
    until = ticks(cluster) + number
    wait_for("tick", lambda: ticks(cluster) >= until)


def books(cluster):
    """All money: the statement of each queue, and the cost of each job and application by its user."""
    statements = {user: cluster.ask(user, "queue", "statement") for user in USERS}
    jobs = {job["job"]: job["cost"] for job in cluster.look("/scheduler/jobs", "jobs")[1]["jobs"]}
    applications = {user: {app["application"]: app["cost"] for app in cluster.ask(user, "app", "list", "--all")} for user in USERS}
    return statements, jobs, applications


def slot_ms_of(row):
    return row["map_slot_ms"] + row["reduce_slot_ms"] + row["container_slot_ms"]


def amount_of(row):
    """Rate times slot-milliseconds, for each whole interval, rounded down to 10^-12."""
    return Decimal(int(Decimal(row["rate"]) * 10**12) * slot_ms_of(row) // row["interval_ms"]) / 10**12


def judge_rows(user, statement, before):
    """The statement of a queue alone."""
    charges = [row for row in statement["rows"] if row["reason"] == "charge"]
    wrong = [row for row in charges if -Decimal(row["amount"]) != amount_of(row)]
    kinds = [sum(row[f"{kind}_slot_ms"] for row in charges) for kind in ("map", "reduce", "container")]
    text = "{} charges, {} map, {} reduce, {} container slot-milliseconds".format(len(charges), *kinds)
    good = kinds[2] and kinds[0] + kinds[1] and not wrong
    verdict(f"bill of {user}: every charge is rate times slot-time", good, f"{text}{f', {wrong}' if wrong else ''}")
    balance, wrong = Decimal(0), []
    for row in statement["rows"]:
        balance += Decimal(row["amount"])
        wrong += [row] if Decimal(row["balance"]) != balance else []
    verdict(f"bill of {user}: each balance is the one before with the amount", not wrong, str(wrong) if wrong else "")
    total = -sum(Decimal(row["amount"]) for row in charges)
    good = Decimal(statement["balance"]) == balance == before - total
    verdict(f"bill of {user}: the charges are what the budget has lost", good, f"{before} - {total} = {statement['balance']}")
    return charges, total


def judge_quotas(user, charges, seen, times):
    """No charge is for more than was bought for its interval, as the live status showed within it."""
    looked_at, beyond, paid_before = set(), [], set()
    for row in charges:
        # What a preempted container holds in its grace costs what its queue paid when it was granted.
        is_grace = not (row["map_slot_ms"] or row["reduce_slot_ms"]) and Decimal(row["rate"]) in paid_before
        # From the tick before.
        began_s, ended_s = times[row["tick"] - 1] + MARGIN_S, times[row["tick"]] - MARGIN_S
        for before, queues, after in seen:
            if not began_s < before < after < ended_s:
                continue
            looked_at.add(row["tick"])
            queue = next(queue for queue in queues["queues"] if queue["queue"] == user)
            quota, rate = queue["quota"], Decimal(queue["rate"])
            if is_grace and Decimal(row["rate"]) != rate:
                continue
            over = any(row[f"{kind}_slot_ms"] > quota[kind] * row["interval_ms"] for kind in ("map", "reduce"))
            # Containers beyond the quota count what others have bought and do not hold.
            bought = sum(sum(other["quota"].values()) for other in queues["queues"])
            if over or Decimal(row["rate"]) != rate or -Decimal(row["amount"]) > rate * bought:
                beyond.append((row, queue))
        paid_before.add(Decimal(row["rate"]))
    good = 2 * len(looked_at) >= len(charges) and not beyond
    text = f"{len(looked_at)} of {len(charges)} intervals looked at{f', {beyond[:3]}' if beyond else ''}"
    verdict(f"bill of {user}: no charge is above rate times what was bought", good, text)


def judge_market(program, is_short):
    cluster = Cluster(program, "dynamic", {"mapred.dynamic-scheduler.alloc-interval": TICK_S, "mapred.priority-scheduler.kill-interval": TICK_S})
    failed = counts[False]
    try:
        before = {queue["queue"]: Decimal(queue["budget"]) for queue in cluster.ask("root", "queue", "list")}
        watch = Watch(lambda: cluster.look("/scheduler/queues", "queues", "watch"))
        held_s = play_market(cluster, is_short)
        # What was held until the end is charged at the next tick.
        pass_ticks(cluster, 2)
        seen = watch.stop()
        statements, jobs, applications = books(cluster)
        times = {point["tick"]: point["time_ms"] / 1000 for point in cluster.look("/scheduler/history?history&points=1000")[1]["points"]}
        owners = {job: "alice" if name == "alice-job" else "bob" for job, name in names_of_jobs(cluster)}
        for user in USERS:
            charges, total = judge_rows(user, statements[user], before[user])
            judge_quotas(user, charges, seen, times)
            of_jobs = sum(Decimal(cost) for job, cost in jobs.items() if owners[job] == user)
            of_applications = sum(map(Decimal, applications[user].values()))
            good = of_jobs > 0 and of_applications > 0 and of_jobs + of_applications == total
            verdict(f"bill of {user}: jobs and applications have cost it together", good, f"{of_jobs} + {of_applications} = {total}")
        judge_costs_of_applications(cluster, applications, held_s)
        cluster.restart()
        verdict("market: after a restart balances, rows and costs are what they were", books(cluster) == (statements, jobs, applications))
        pass_ticks(cluster, 2)
        verdict("market: nothing is charged for what is over", books(cluster) == (statements, jobs, applications))
        cluster.judge_end()
    except BaseException:
        failed = -1
        raise
    finally:
        cluster.end(keep=failed != counts[False])


def names_of_jobs(cluster):
    rows = cluster.ask("root", "job", "list", "--all", "--jobtracker", f"127.0.0.1:{cluster.rpc}")
    return [(row["job"], row["name"]) for row in rows]


def judge_costs_of_applications(cluster, applications, held_s):
    reports = {app["id"]: app for app in cluster.applications()}
    by_name = {app["name"]: Decimal(app["cost"]) for app in reports.values()}
    # One that a stalled machine held over two ticks is charged, rightly.
    good = by_name["prompt"] == 0 or held_s > TICK_S
    verdict("market: containers that are given back at once cost nothing", good, f"held for {held_s:.3f} s at most")
    if "hoard" in by_name:
        verdict("market: containers that are hoarded cost", by_name["hoard"] > 0, str(by_name["hoard"]))
    wrong = []
    for user in USERS:
        for application, cost in applications[user].items():
            status = cluster.ask(user, "app", "status", application)
            shown = cluster.run("app", "status", application, *cluster.signer(user)).stdout
            number = re.search(r"(?m)^\s*cost\s+(\S+)", shown)
            costs = {Decimal(cost), Decimal(reports[application]["cost"]), Decimal(status["cost"]), Decimal(number.group(1) if number else -1)}
            wrong += [(application, costs)] if len(costs) != 1 else []
    verdict("market: app list, app status and reports show the same costs", not wrong, str(wrong) if wrong else "")


# The other schedulers

CAPACITY = "".join(
    f"<property><name>mapred.capacity-scheduler.queue.{user}.{key}</name><value>{value}</value></property>"
    for user in USERS
    for key, value in (("capacity", 50), ("maximum-capacity", MAXIMUM_PERCENT), ("user-limit-factor", 2))
)
POOLS = f"<pool name='alice'><weight>2</weight></pool><pool name='bob'><maxRunningJobs>{MAX_RUNNING}</maxRunningJobs></pool>"
FILES = {
    "capacity": {"capacity-scheduler.xml": f"<configuration>{CAPACITY}</configuration>"},
    "fair": {"fair-scheduler.xml": f"<allocations>{POOLS}</allocations>"},
}


def judge_policy(program, policy):
    keys = {"mapred.queue.names": ",".join(USERS)} if policy == "capacity" else {}
    cluster = Cluster(program, policy, keys, FILES.get(policy))
    failed = counts[False]

    def look():
        applications = cluster.applications("watch")
        report = cluster.look("/scheduler?format=json")[1]
        return applications, report

    try:
        began_ms, watch = time.time() * 1000, Watch(look)
        queue = {user: ("--queue", user) if policy == "capacity" else () for user in USERS}
        member = {"queue": "bob"} if policy == "capacity" else {}
        due = ("--deadline", f"{DUE_S}s", "--map-time", "1s", "--reduce-time", "1s") if policy == "constraint" else ()
        cluster.open_gate()
        # A deadline may not count on the room of containers: jobs come first.
        jobs = [cluster.submit(user, f"{user}-job", 12, 0.5, (*queue[user], *(due if user == "alice" else ()))) for user in USERS]
        arrays = [cluster.array(user, f"{user}-array", 40, 0.5, *queue[user]) for user in USERS]
        returns_promptly(cluster.session("bob", "prompt", **member), 2)
        verdict(f"{policy}: an application that hoards ends well", hoards(cluster.session("bob", "hoard", **member), cluster.folder / "hoard", 0.5))
        for work in (*arrays, *jobs):
            wait_for(f"end of {work.name}", work.is_over)
        seen = watch.stop()
        for work in (*arrays, *jobs):
            work.judge()
        if due:
            times = {job["job"]: job["finish_ms"] for job in cluster.look("/scheduler/jobs", "jobs")[1]["jobs"]}
            took_s = (times[jobs[0].id] - began_ms) / 1000
            verdict(f"{policy}: the job with a deadline is done in time", took_s <= DUE_S, f"{took_s:.1f} s of {DUE_S} s")
        preempted = [array.name for array in arrays if array.preempted()]
        verdict(f"{policy}: nothing is preempted", not preempted, str(preempted) if preempted else "")
        judge_limits(policy, seen, watch.failures)
        cluster.judge_end()
    except BaseException:
        failed = -1
        raise
    finally:
        cluster.end(keep=failed != counts[False])


def judge_limits(policy, seen, failures):
    """What the looks saw at one time."""
    most, over = {}, []
    for applications, report in seen:
        for user in USERS:
            own = [app for app in applications if app["user"] == user]
            containers = sum(app["slots"] for app in own)
            jobs = [job for job in report["jobs"] if job["user"] == user]
            tasks = sum(sum(job["held"].values()) for job in jobs)
            holders = sum(1 for app in own if app["slots"]) + sum(1 for job in jobs if sum(job["held"].values()))
            most[user] = tuple(map(max, most.get(user, (0, 0, 0)), (containers, tasks, holders)))
            # Maps and reduces are limited by themselves: they may come beside containers that were there first.
            if policy == "capacity" and containers > SLOTS * MAXIMUM_PERCENT // 100:
                over.append((user, containers))
            if policy == "fair" and user == "bob" and holders > MAX_RUNNING:
                over.append((user, holders))
        if sum(app["slots"] for app in applications) > SLOTS:
            over.append(("all", [app["slots"] for app in applications]))
    texts = [f"{user}: {most[user][0]} slots of containers, {most[user][1]} of tasks, {most[user][2]} at a time" for user in most]
    busy = all(containers and tasks and holders > 1 for containers, tasks, holders in most.values())
    detail = f"{len(seen)} looks; {'; '.join(texts)}{f'; over: {over}' if over else ''}{f'; {failures[:3]}' if failures else ''}"
    verdict(f"{policy}: limits hold", busy and not over and not failures, detail)


def main():
    program, *options = sys.argv[1:]
    is_short, began = "--short" in options, time.monotonic()
    judge_market(program, is_short)
    print(f"after {time.monotonic() - began:.1f} s", flush=True)
    for policy in () if is_short else ("fifo", "capacity", "fair", "constraint"):
        judge_policy(program, policy)
        print(f"after {time.monotonic() - began:.1f} s", flush=True)
    return print_counts()


sys.exit(main())
