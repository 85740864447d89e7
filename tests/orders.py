#!/usr/bin/env python3
"""orders.py JOBTRACKER [KILLS]

A deadline bought in the market, live: two users on two built-in workers, without Hadoop. ann's job has a deadline order, bob bids more and
more; her rate follows his, her job ends in time and costs no more than it may, and every charge is right to the last digit. The same
without the order misses. The daemon gets KILLS times SIGKILL (0) meanwhile; deadlines, orders and money are before each kill what they are
after it. Then `what-if` plays both: as configured each ends as it did, without the order the first misses too.
Ends with a line `N passed, N failed`.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from decimal import Decimal

sys.dont_write_bytecode = True

from real_processes import configuration, end_processes, free_port, print_counts, rows_of, start_process, verdict, wait_for  # noqa: E402

TICK_S = 2
MAP_S = 2
# Between two kills: after a start the first tick comes an interval later at most.
KILL_S = TICK_S + 1.0
MAX_RATE, MAX_COST = Decimal(40), Decimal(3000)
# What a what-if may miss an end by: a tenth of the time it took, or two seconds.
TOLERANCE = 0.1, 2.0

program, kills = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
# Half of the four slots, all the time, would do it; what bob leaves of them without the order would not.
DEADLINE_S = 40
KILLED_DEADLINE_S = DEADLINE_S + int(2 * KILL_S * kills)
folder = tempfile.mkdtemp(prefix="jobtracker-orders.")
processes = []


def path(name):
    return os.path.join(folder, name)


def write(name, text, mode=0o600):
    with open(path(name), "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path(name), mode)


rpc, http = free_port(), free_port()
SERVER = {
    "fs.default.name": "file:///",
    "hadoop.tmp.dir": path("tmp"),
    "mapred.job.tracker": f"127.0.0.1:{rpc}",
    "mapred.job.tracker.http.address": f"127.0.0.1:{http}",
    "jobtracker.state.dir": path("state"),
    "mapred.system.dir": path("system"),
    "mapreduce.jobtracker.staging.root.dir": path("staging"),
    "mapred.jobtracker.taskScheduler": "org.apache.hadoop.mapred.DynamicPriorityScheduler",
    "mapred.dynamic-scheduler.alloc-interval": str(TICK_S),
    "mapred.dynamic-scheduler.budget-file": path("budget"),
    "mapred.priority-scheduler.acl-file": path("acl"),
}


def configure(name, keys):
    os.makedirs(path(name), exist_ok=True)
    write(f"{name}/mapred-site.xml", configuration(keys), 0o644)


def start(name, *words):
    processes.append(start_process(path(f"{name}.log"), program, *words))
    return processes[-1]


def run(*words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=False)


def signer(user):
    return ["--user", user, "--key-file", path(f"{user}.key"), "--server", f"127.0.0.1:{http}"]


def ask(user, *words):
    """The JSON answer of a signed command; none while nothing answers."""
    done = run(*words, *signer(user), "--json")
    return json.loads(done.stdout) if done.returncode == 0 else None


def bid(user, rate):
    """Whether the bid counts."""
    return run("queue", "set-spending", user, str(rate), *signer(user)).returncode == 0


def submit(user, name, maps, *more):
    write(f"{name}.in", "".join(f"{line}\n" for line in range(maps)), 0o644)
    words = ["job", "submit", "--input", path(f"{name}.in"), "--output", path(f"{name}.out"), "--mapper", f"sleep {MAP_S}", "--reducer", "NONE"]
    words += ["--input-format", "nline", "--name", name, "--detach", "--jobtracker", f"127.0.0.1:{rpc}", *signer(user)]
    # Output of a map that sleeps is nothing; second attempts would blur the bill.
    words += ["-D", "mapred.map.tasks.speculative.execution=false", "--json", *more]
    done = run(*words)
    if done.returncode != 0:
        raise SystemExit(f"{name} is refused: {done.stderr}")
    return json.loads(done.stdout)


def rows(sql, *values):
    return rows_of(path("state"), sql, values)


def promises():
    """What a kill must leave as it was: deadlines, orders, and the ledger."""
    deadlines = rows("SELECT job, spec ->> 'deadline', spec ->> 'order', deadline FROM job ORDER BY job")
    orders = rows("SELECT job, max_rate, max_cost, deadline_ms FROM market_order ORDER BY job")
    return deadlines, orders, rows("SELECT * FROM ledger ORDER BY number")


def kill_and_restart(daemon):
    """Kills the daemon and starts it again; true if what it had promised before is there after."""
    deadlines, orders, ledger = promises()
    daemon.send_signal(signal.SIGKILL)
    daemon.wait()
    daemon = start("jobtracker", "serve", "--conf", path("conf"))
    wait_for("answer after a kill", lambda: run("time", "--server", f"127.0.0.1:{http}").returncode == 0)
    deadlines_after, orders_after, ledger_after = promises()
    # An order may have ended with its job since the look before; nothing else may be gone or changed, and money only moves on.
    over = {job for (job,) in rows("SELECT job FROM job WHERE finish_ms IS NOT NULL")}
    stand = [order for order in orders if order[0] not in over]
    kept = deadlines == deadlines_after and stand == orders_after and ledger == ledger_after[: len(ledger)]
    if not kept:
        print(f"before: {deadlines} {orders}\nafter: {deadlines_after} {orders_after}", flush=True)
    return daemon, kept


def bills_are_right(queue):
    """Every charge is rate times slot-time for each whole interval, and the rows add up to the balance."""
    balance = Decimal(0)
    for reason, rate, slot_ms, interval_ms, amount, debit in rows(
        "SELECT reason, rate, map_slot_ms + reduce_slot_ms, interval_ms, amount, debit FROM ledger WHERE queue = ? ORDER BY number", queue
    ):
        if reason == "charge" and int(Decimal(rate) * 10**12) * slot_ms // interval_ms != Decimal(amount) * 10**12:
            return False
        balance += Decimal(amount) if debit != f"queue:{queue}" else -Decimal(amount)
    return [Decimal(left) for (left,) in rows("SELECT balance FROM account WHERE queue = ?", queue)] == [balance]


def cost_of(job):
    found = rows("SELECT cost FROM job_cost WHERE job = ?", job)
    return Decimal(found[0][0]) if found else Decimal(0)


def finish_of(job):
    found = rows("SELECT finish_ms, submit_ms FROM job WHERE job = ?", job)
    return found[0] if found and found[0][0] else None


def round_of(daemon, name, with_order, deadline_s):
    """One round: bob's long job, then ann's with a deadline. Returns the daemon, her job, her rates with bob's bids, kept promises."""
    bob = submit("bob", f"bob-{name}", 10 * deadline_s)["job"]
    wait_for("bid", lambda: bid("bob", 1))
    wait_for("task of bob's", lambda: rows("SELECT 1 FROM attempt WHERE job = ? AND role = 'work' LIMIT 1", bob))
    more = ["--deadline", f"{deadline_s}s", "--map-time", f"{MAP_S + 1}s"]
    more += ["--max-rate", str(MAX_RATE), "--max-cost", str(MAX_COST)] if with_order else []
    ann = submit("ann", f"ann-{name}", deadline_s // 2, *more)["job"]
    began, seen, kept, killed, his = time.monotonic(), {}, True, 0, 1
    while not finish_of(ann):
        age = time.monotonic() - began
        if age > 5 * deadline_s:
            raise SystemExit(f"{ann} does not end; see {folder}")
        # bob bids one credit more every 4 s.
        wanted = min(1 + int(age / 4), 6) if with_order else 1
        if wanted != his and bid("bob", wanted):
            his = wanted
        both = ask("root", "queue", "list")
        if both:
            rates = {queue["queue"]: Decimal(queue["spending"]) for queue in both}
            seen.setdefault(rates["bob"], set()).add(rates["ann"])
        if with_order and killed < kills and age > (killed + 1) * KILL_S:
            daemon, is_kept = kill_and_restart(daemon)
            kept, killed = kept and is_kept, killed + 1
        time.sleep(0.2)
    run("job", "kill", bob, "--jobtracker", f"127.0.0.1:{rpc}", *signer("bob"))
    wait_for("end of bob's job", lambda: finish_of(bob))
    return daemon, ann, seen, kept, killed


def main():
    for user in ("ann", "bob", "root"):
        write(f"{user}.key", f"key-of-{user}")
    write("acl", "".join(f"{user} {'admin' if user == 'root' else 'user'} key-of-{user}\n" for user in ("ann", "bob", "root")))
    write("budget", "ann 5000 0.1\nbob 50000 1\n")
    configure("conf", SERVER)
    daemon = start("jobtracker", "serve", "--conf", path("conf"))
    wait_for("answer", lambda: run("time", "--server", f"127.0.0.1:{http}").returncode == 0)
    for worker in ("w1", "w2"):
        own = {"slave.host.name": worker, "mapred.local.dir": path(worker), "mapred.task.tracker.http.address": "127.0.0.1:0"}
        own |= {"mapred.tasktracker.map.tasks.maximum": "2", "mapred.tasktracker.reduce.tasks.maximum": "1", "hadoop.log.dir": path(f"{worker}-log")}
        configure(worker + "-conf", SERVER | own)
        start(worker, "tasktracker", "--conf", path(worker + "-conf"), "-D", "jobtracker.worker.run-as=self")
    wait_for("workers", lambda: rows("SELECT count(*) FROM tracker_presence")[0][0] == 2)

    daemon, with_order, seen, kept, killed = round_of(daemon, "order", True, KILLED_DEADLINE_S)
    finish_ms, submit_ms = finish_of(with_order)
    took_s = (finish_ms - submit_ms) / 1000
    verdict("with the order the job ends in time", took_s <= KILLED_DEADLINE_S, f"{took_s:.1f} s of {KILLED_DEADLINE_S} s")
    # The least rates that buy one, two and three of four slots beside his.
    parts = [Decimal(1) / 3, Decimal(1), Decimal(3)]
    follows = {his: [rate for rate in rates if any(abs(rate / his - part) < Decimal("1e-6") for part in parts)] for his, rates in seen.items() if his}
    texts = ", ".join(f"{' and '.join(str(rate) for rate in rates)} to his {his}" for his, rates in sorted(follows.items()))
    verdict("her rate follows his bids", len([his for his, rates in follows.items() if rates]) >= 3, texts)
    verdict("no rate is above what she allows", all(rate <= MAX_RATE for rates in seen.values() for rate in rates))
    cost = cost_of(with_order)
    verdict("the job costs no more than it may", Decimal(0) < cost <= MAX_COST, f"{cost} of {MAX_COST}")
    if kills:
        verdict(f"{killed} kills leave deadlines, orders and money as they were", kept and killed == kills)

    daemon, without, _, _, _ = round_of(daemon, "alone", False, DEADLINE_S)
    finish_ms, submit_ms = finish_of(without)
    took_s = (finish_ms - submit_ms) / 1000
    verdict("without it the same job misses", took_s > DEADLINE_S, f"{took_s:.1f} s of {DEADLINE_S} s")
    for queue in ("ann", "bob"):
        verdict(f"every charge of {queue} is right to the last digit", bills_are_right(queue))

    for orders, words in (("as it was", []), ("without orders", ["--without-orders"])):
        done = run("what-if", "--conf", path("conf"), "--jobs", "--json", *words)
        if done.returncode != 0:
            verdict(f"what-if {orders}", False, done.stderr.strip())
            continue
        for job in json.loads(done.stdout)["jobs"]:
            if job["job"] not in (with_order, without):
                continue
            finish_ms, submit_ms = finish_of(job["job"])
            if not words:
                took_s, played_s = (finish_ms - submit_ms) / 1000, ((job["configured"]["endMs"] or 0) - submit_ms) / 1000
                near = abs(played_s - took_s) <= max(TOLERANCE[0] * took_s, TOLERANCE[1])
                verdict(f"what-if tells the end of {job['job']}", near, f"{played_s:.1f} s, it was {took_s:.1f} s")
            elif job["job"] == with_order:
                verdict("what-if without the order tells the miss", not job["asked"]["met"] and job["configured"]["met"])
    return print_counts()


status = 1
try:
    status = main()
finally:
    end_processes(processes)
    print(f"logs in {folder}")
sys.exit(status)
