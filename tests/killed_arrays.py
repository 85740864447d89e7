#!/usr/bin/env python3
"""killed_arrays.py JOBTRACKER [--market] [KILLS] [SEED]

Arrays of `jobtracker run` on two built-in workers while what runs them is killed. The daemon gets KILLS times SIGKILL (20) under an array
of 200, at moments that SEED (1) decides, and is started again at once: each item runs once, in one process. A worker is killed, started
anew under its name, and stopped until it is lost: its items run again elsewhere, and nothing of it runs on. A master in a container dies while
the daemon is killed, and its successor takes over what runs. The daemon is upgraded while a
program waits for containers that never come: it is answered, and what runs runs on.
With --market the array of 200 alone, paid for: every charge is rate times slots, together they are what the application has cost, and none
is for time in which the daemon was down.
Ends with a line `N passed, N failed`.
"""

import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from decimal import Decimal

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "killed_arrays"))

from cluster import (  # noqa: E402
    Array,
    BUDGET,
    EXPIRY_MS,
    ITEM,
    ITEMS,
    LOST,
    REPOSITORY,
    SERVER,
    SLOTS,
    Successor,
    TICK_S,
    WORKERS,
    ask,
    complaints,
    configure,
    dice,
    folder,
    is_lost,
    is_paid,
    judge,
    kills,
    path,
    processes,
    program,
    rows,
    start_daemon,
    start_worker,
    takes_containers,
    write,
)
from real_processes import end_processes, free_port, is_alive, print_counts, processes_of, verdict, wait_for  # noqa: E402


def killed_daemon(daemon):
    """The array under a daemon that is killed at random moments."""
    array = Array("killed-daemon", ITEMS, 1.5)
    began, killed, ended_by_itself, seen, downtimes = time.monotonic(), 0, 0, {}, []
    while killed < kills and array.client.poll() is None:
        time.sleep(dice.uniform(0.05, 2.5))
        ended_by_itself += daemon.poll() is not None
        running = array.running()
        daemon.kill()
        daemon.wait()
        killed += 1
        downtimes.append(time.time() * 1000)
        # What ran before a kill runs on, each in the process that it had.
        seen.update((pid, killed) for pid in running if is_alive(pid))
        daemon = start_daemon()
    print(f"killed {killed} times in {time.monotonic() - began:.1f} s, {array.done()} items done, {len(seen)} processes met a kill", flush=True)
    code, said = array.end()
    print(f"all done after {time.monotonic() - began:.1f} s", flush=True)
    verdict(f"the daemon is killed {kills} times under the array", killed == kills, f"{killed}")
    verdict("it never ends by itself", ended_by_itself == 0 and daemon.poll() is None)
    verdict("containers run while it is down", seen)
    _, containers = judge(array, code, said, False)
    verdict("one container for each item", len(containers) == ITEMS, str(len(containers)))
    again = [container["id"] for container in containers if container["launch"]["item_attempt"] != 1]
    verdict("no item has a second attempt", not again, str(again) if again else "")
    if is_paid:
        judge_charges(said, downtimes)
    return daemon


def failing_items(daemon, times=8):
    """Each item fails at its first attempt; the daemon is killed meanwhile."""
    array = Array("failing-items", 60, 0.7, "--max-attempts", "2", "--env", "FAILS=1")
    for _ in range(times):
        time.sleep(dice.uniform(0.05, 1.5))
        daemon.kill()
        daemon.wait()
        daemon = start_daemon()
    code, said = array.end()
    verdict("failing-items: the client ends with 0", code == 0 and said.get("final_status") == "SUCCEEDED", f"{code} {said.get('final_status')}")
    attempts = {}
    for container in array.containers(said.get("application", "")):
        launch = container["launch"]
        attempts.setdefault(launch["item"], []).append((launch["item_attempt"], container["end"]["exit"]))
    wrong = {item: ends for item, ends in attempts.items() if ends != [(1, 7), (2, 0)]}
    verdict("failing-items: each item fails once and ends well once", len(attempts) == array.items and not wrong, str(wrong) if wrong else "")
    again = [run for run in array.runs() if "again" in run]
    verdict("failing-items: no attempt runs twice", not again and len(array.runs()) == 2 * array.items, str(again) if again else "")
    return daemon


def killed_master(daemon, items=40, times=8):
    """The daemon is killed under a master that dies, too: its successor hears of each end that it does not know, and of no other."""
    out = path("out-master")
    os.makedirs(out)
    environment = {"PYTHONPATH": os.path.join(REPOSITORY, "python"), "OUT": out, "ITEMS": str(items), "PAUSE": "1", "ITEM": path("item.sh")}
    context = {"command": [sys.executable, "-B", os.path.join(REPOSITORY, "tests/killed_arrays/master.py")], "environment": environment}
    master = {"context": context, "capability": {"memory": 512, "vCores": 1}, "max-attempts": 2}
    application = ask("POST", "/apps/new-application")[1]["application-id"]
    ask("POST", "/apps", {"application-id": application, "application-name": "master", "master": master})
    for _ in range(times):
        time.sleep(dice.uniform(0.3, 2))
        daemon.kill()
        daemon.wait()
        daemon = start_daemon()

    def report():
        try:
            status, answer = ask("GET", f"/apps/{application}")
        except (OSError, http.client.HTTPException):
            return None
        over = status == 200 and answer["app"]["state"] in ("FINISHED", "FAILED", "KILLED") and not answer["app"]["runningContainers"]
        return answer["app"] if over else None

    app = wait_for("end of the master", report, 120)
    verdict("master: its application succeeds", app["finalStatus"] == "SUCCEEDED", f"{app['state']} {app['diagnostics']}")
    with open(os.path.join(out, "statuses"), encoding="utf-8") as file:
        statuses = [line.split() for line in file]
    of_attempts = [[line for line in statuses if line[0] == attempt] for attempt in sorted({line[0] for line in statuses})]
    verdict("master: a second one takes over", len(of_attempts) == 2, f"{[len(lines) for lines in of_attempts]} ends")
    twice = [lines for lines in of_attempts if len({line[2] for line in lines}) != len(lines)]
    verdict("master: no attempt hears of an end twice", not twice, str(twice) if twice else "")
    first = of_attempts[0]
    again = {line[2] for line in first} & {line[2] for lines in of_attempts[1:] for line in lines}
    last = {line[2] for line in first if line[4] == first[-1][4]}
    verdict("master: what the first may not have received comes again, and nothing else", again == last, f"{len(again)} of {len(last)}")
    good = sorted(int(line[1]) for line in {line[2]: line for line in statuses}.values() if line[3] == "0")
    verdict("master: each item ends well once", good == list(range(1, items + 1)), f"{len(good)} ends")
    runs = [name for name in os.listdir(out) if name != "statuses"]
    verdict("master: each item runs once", len(runs) == items, f"{len(runs)} runs")
    verdict("master: no process is left", not processes_of(application))
    return daemon


def judge_charges(said, downtimes):
    """What the array has cost, to the last digit."""
    time.sleep(2 * TICK_S)
    charges = rows(
        "SELECT wall_ms, rate, map_slot_ms + reduce_slot_ms, container_slot_ms, amount, interval_ms FROM ledger "
        "WHERE reason = 'charge' AND queue = 'ann'"
    )
    wrong = [row for row in charges if int(Decimal(row[1]) * 10**12) * (row[2] + row[3]) // row[5] != Decimal(row[4]) * 10**12]
    verdict("every charge is rate times slot-time", charges and not wrong, f"{len(charges)} charges{f', {wrong}' if wrong else ''}")
    beyond = [row for row in charges if row[2] != 0 or not 0 < row[3] <= SLOTS * len(WORKERS) * row[5]]
    verdict("what is charged are slots of containers, no more than there are", not beyond, str(beyond) if beyond else "")
    amounts = sum((Decimal(row[4]) for row in charges), Decimal(0))
    # The report that the client ends with may come before the last charge.
    cost = Decimal(ask("GET", f"/apps/{said['application']}")[1]["app"]["cost"])
    verdict("the application has cost what was charged", cost == amounts > 0, f"{cost} of {amounts}")
    balance = Decimal(rows("SELECT balance FROM account WHERE queue = 'ann'")[0][0])
    verdict("the balance is what is left", balance == BUDGET - amounts, str(balance))
    # A charge is for the interval before it, in which the daemon did not die.
    in_downtime = [(wall_ms, died) for wall_ms, *_ in charges for died in downtimes if wall_ms - TICK_S * 1000 < died < wall_ms]
    verdict("nothing is charged for time in which the daemon was down", not in_downtime, str(in_downtime) if in_downtime else "")


def killed_worker(workers):
    """A worker is killed in the middle; it comes back after it was lost."""
    array = Array("killed-worker", 40, 1, "--max-attempts", "2")
    wait_for("containers on w2", lambda: len(array.running("w2")) == SLOTS and array.done() >= SLOTS)
    victims = array.running("w2")
    workers["w2"].kill()
    workers["w2"].wait()
    end = time.monotonic() + 5
    while any(map(is_alive, victims)) and time.monotonic() < end:
        time.sleep(0.02)
    left = [pid for pid in victims if is_alive(pid)]
    verdict("containers of a killed worker die with it", not left, f"{len(victims)} ran, left {left}")
    wait_for("loss of w2", lambda: is_lost("w2"), 30)
    workers["w2"] = start_worker("w2")
    code, said = array.end()
    lost, containers = judge(array, code, said, True)
    verdict("each that it had is -100", lost >= len(victims), f"{lost} for {len(victims)}")
    texts = {container["end"]["diagnostics"] for container in containers if container["end"]["exit"] == LOST}
    verdict("the text names the node", texts and all(re.fullmatch(r"node w2:\d+ was lost", text) for text in texts), str(texts))
    where = {container["node"]["host"] for container in containers if container["launch"]["item_attempt"] > 1}
    verdict("its items run again", where, str(where))
    return workers


def restarted_worker(workers):
    """A worker is killed and started at once under its own name."""
    wait_for("w2", lambda: takes_containers("w2"))
    array = Array("restarted-worker", 24, 1, "--max-attempts", "2")
    wait_for("containers on w2", lambda: len(array.running("w2")) == SLOTS)
    began = time.monotonic()
    workers["w2"].kill()
    workers["w2"].wait()
    workers["w2"] = start_worker("w2")
    code, said = array.end()
    lost, containers = judge(array, code, said, True)
    verdict("each that the process before had is -100", lost >= 1, str(lost))
    incarnations = {container["node"]["incarnation"] for container in containers if container["node"]["host"] == "w2"}
    verdict("the new process runs containers", len(incarnations) == 2, f"{time.monotonic() - began:.1f} s")
    return workers


def stopped_worker(workers):
    """A worker is stopped until it is lost, and continues."""
    wait_for("w2", lambda: takes_containers("w2"))
    # Each lasts longer than the silence.
    array = Array("stopped-worker", 16, EXPIRY_MS / 1000 + 8, "--max-attempts", "2")
    wait_for("containers on w2", lambda: len(array.running("w2")) == SLOTS)
    victims = array.running("w2")
    workers["w2"].send_signal(signal.SIGSTOP)
    wait_for("loss of w2", lambda: is_lost("w2"), 30)
    verdict("what a stopped worker has runs on", all(map(is_alive, victims)))
    workers["w2"].send_signal(signal.SIGCONT)
    end = time.monotonic() + 20
    while any(map(is_alive, victims)) and time.monotonic() < end:
        time.sleep(0.02)
    cut = [lines for lines in array.runs().values() if len(lines) == 1 and int(lines[0][1]) in victims]
    verdict("once it continues they are killed", len(cut) == len(victims) and not any(map(is_alive, victims)), f"{len(cut)} of {len(victims)}")
    wait_for("w2", lambda: takes_containers("w2"))
    code, said = array.end()
    lost, containers = judge(array, code, said, True)
    verdict("each that it had is -100, once", lost == len(victims), f"{lost} for {len(victims)}")
    incarnations = {container["node"]["incarnation"] for container in containers if container["node"]["host"] == "w2"}
    verdict("it takes containers again, as the same process", len(incarnations) == 1 and workers["w2"].poll() is None)
    return workers


def killed_both(daemon, workers, times=10):
    """Daemon and workers are killed at random moments, at one time too."""
    wait_for("w2", lambda: takes_containers("w2"))
    array = Array("killed-both", 80, 1.2)
    killed, absent = [], []
    while len(killed) < times and array.client.poll() is None:
        time.sleep(dice.uniform(0.2, 2))
        victims = dice.choice((["daemon"], ["w1"], ["w2"], ["daemon", "w1"], ["w2", "daemon"], ["w1", "daemon", "w2"]))
        killed.append("+".join(victims))
        for name in victims:
            process = daemon if name == "daemon" else workers[name]
            if process is not None:
                process.kill()
                process.wait()
        # A worker that is killed may stay away for a while.
        for name in absent + [name for name in victims if name != "daemon"]:
            workers[name] = None
        if "daemon" in victims:
            daemon = start_daemon()
        absent = [name for name, process in workers.items() if process is None and dice.random() < 0.3]
        for name, process in workers.items():
            if process is None and name not in absent:
                workers[name] = start_worker(name)
    for name in absent:
        workers[name] = start_worker(name)
    print(f"killed: {', '.join(killed)}", flush=True)
    code, said = array.end()
    judge(array, code, said, True)
    return daemon, workers


class Waiter(threading.Thread):
    """A program that asks for what no node has, and waits."""

    def __init__(self):
        super().__init__(daemon=True)
        self.application = ask("POST", "/apps/new-application")[1]["application-id"]
        self.is_over, self.answers, self.failures = False, [], []
        ask("POST", "/apps", {"application-id": self.application, "application-name": "waiter"})
        registered = ask("POST", f"/apps/{self.application}/register", {})[1]
        self.attempt = registered["attempt"]

    def run(self):
        response_id = 0
        huge = {"priority": 1, "resource-name": "*", "capability": {"memory": 900_000, "vCores": 1}, "num-containers": 1}
        while not self.is_over:
            call = {"attempt": self.attempt, "response-id": response_id, "wait-ms": 30_000, "ask": [huge]}
            try:
                status, answer = ask("POST", f"/apps/{self.application}/allocate", call)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                time.sleep(0.2)
                continue
            if status != 200 or answer["response-id"] != response_id + 1:
                self.failures.append(f"{status} {answer}")
                time.sleep(0.2)
                continue
            response_id = answer["response-id"]
            self.answers.append(time.monotonic())


def upgraded_daemon(daemon, times=3):
    """The daemon is upgraded while calls wait and beats are held."""
    waiter = Waiter()
    waiter.start()
    array = Array("upgraded-daemon", 30, 2)
    said = []
    for upgrade in range(times):
        wait_for("work", lambda count=upgrade: array.done() >= 6 * count and len(array.running()) >= 2)
        running, answers = set(array.running()), len(waiter.answers)
        done = subprocess.run([program, "upgrade", "--conf", path("conf")], capture_output=True, text=True, check=False)
        said.append(f"{done.stdout}{done.stderr}".strip())
        if done.returncode != 0:
            break
        daemon.wait(30)
        daemon = Successor(int(re.match(r"process (\d+)", done.stdout).group(1)))
        wait_for("answer to the wait", lambda count=answers: len(waiter.answers) > count, 10)
        ended = {int(lines[0][1]) for lines in array.runs().values() if len(lines) == 2}
        gone = [pid for pid in running if pid not in ended and not is_alive(pid)]
        verdict(f"upgrade {upgrade + 1}: what waits is answered, what runs runs on", not gone, said[-1])
    verdict("all upgrades succeed", len(said) == times and all(text.startswith("process ") for text in said), said[-1])
    code, report = array.end()
    judge(array, code, report, False)
    waiter.is_over = True
    status, answer = ask("PUT", f"/apps/{waiter.application}/state", {"state": "KILLED"})
    waiter.join(10)
    over = [failure for failure in waiter.failures if "application-over" in failure]
    verdict("no wait fails", len(waiter.failures) == len(over), f"{len(waiter.answers)} answers {waiter.failures}")
    verdict("the program that waits is killed", status in (200, 202) and answer["state"] == "KILLED", f"{status} {answer}")
    return daemon


def main():
    write("item.sh", ITEM, 0o755)
    if is_paid:
        for user in ("ann", "root"):
            write(f"{user}.key", f"key-of-{user}", 0o600)
        write("acl", "ann user key-of-ann\nroot admin key-of-root\n", 0o600)
        write("budget", f"ann {BUDGET} 0.5\n")
    configure("conf", SERVER)
    daemon = start_daemon()
    workers = {}
    try:
        for name in WORKERS:
            own = {"slave.host.name": name, "mapred.local.dir": path(name), "mapred.task.tracker.http.address": f"127.0.0.1:{free_port()}"}
            own |= {"mapred.tasktracker.map.tasks.maximum": "0", "mapred.tasktracker.reduce.tasks.maximum": "0", "hadoop.log.dir": path(f"{name}-log")}
            own |= {"jobtracker.tasktracker.memory.mb": str(SLOTS * 1024), "jobtracker.tasktracker.vcores": str(SLOTS)}
            configure(f"{name}-conf", SERVER | own)
            workers[name] = start_worker(name)
        wait_for("workers", lambda: all(takes_containers(name) for name in WORKERS))
        if kills:
            daemon = killed_daemon(daemon)
        if kills and not is_paid:
            daemon = failing_items(daemon)
            daemon = killed_master(daemon)
            workers = killed_worker(workers)
            workers = restarted_worker(workers)
            workers = stopped_worker(workers)
            daemon, workers = killed_both(daemon, workers)
        if not is_paid:
            daemon = upgraded_daemon(daemon)
        verdict("the daemon complains of nothing", not complaints(), "; ".join(complaints()[:3]))
    finally:
        if isinstance(daemon, Successor):
            daemon.kill()
    return print_counts()


status = 1
try:
    status = main()
finally:
    end_processes(processes)
    if status:
        print(f"logs in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
sys.exit(status)
