"""A daemon, built-in workers and arrays, in a folder of their own, and what must hold of an array."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
from decimal import Decimal

from real_processes import configuration, free_port, is_alive, processes_of, rows_of, start_process, verdict

is_paid = "--market" in sys.argv
program, *numbers = [word for word in sys.argv[1:] if word != "--market"]
kills = int(numbers[0]) if numbers else 20
seed = int(numbers[1]) if len(numbers) > 1 else 1
dice = random.Random(seed)
ITEMS = 200
SLOTS = 4
TICK_S = 1
# Silence after which a worker is lost.
EXPIRY_MS = 4000
WORKERS = ("w1", "w2")
LOST = -100
BUDGET = Decimal(10_000)

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
folder = tempfile.mkdtemp(prefix="jobtracker-arrays.")
processes, stamps = [], [0]


def path(name):
    return os.path.join(folder, name)


def write(name, text, mode=0o644):
    with open(path(name), "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path(name), mode)


rpc, web = free_port(), free_port()
SERVER = {
    "fs.default.name": "file:///",
    "hadoop.tmp.dir": path("tmp"),
    "mapred.job.tracker": f"127.0.0.1:{rpc}",
    "mapred.job.tracker.http.address": f"127.0.0.1:{web}",
    "jobtracker.state.dir": path("state"),
    "mapred.system.dir": path("system"),
    "mapreduce.jobtracker.staging.root.dir": path("staging"),
    "mapred.tasktracker.expiry.interval": str(EXPIRY_MS),
}

if is_paid:
    SERVER |= {
        "mapred.jobtracker.taskScheduler": "org.apache.hadoop.mapred.DynamicPriorityScheduler",
        "mapred.dynamic-scheduler.alloc-interval": str(TICK_S),
        "mapred.dynamic-scheduler.budget-file": path("budget"),
        "mapred.priority-scheduler.acl-file": path("acl"),
    }

# An item: a file of its own that must not be there, with who runs it and when. One that runs a second time says so, and fails.
ITEM = """#!/bin/sh
set -C
run=$OUT/$1.$JOBTRACKER_ITEM_ATTEMPT
[ "$1" = "$JOBTRACKER_ITEM" ] || exit 98
if ! echo "$1 $$ $JOBTRACKER_ITEM_ATTEMPT $JOBTRACKER_NODE_ID begins $(date +%s%N)" >"$run"; then
    echo "$$" >"$run.again.$$"
    exit 99
fi
sleep "$PAUSE"
echo "$1 $$ $JOBTRACKER_ITEM_ATTEMPT $JOBTRACKER_NODE_ID ends $(date +%s%N)" >>"$run"
[ "$JOBTRACKER_ITEM_ATTEMPT" != "$FAILS" ] || exit 7
"""


def configure(name, keys):
    os.makedirs(path(name), exist_ok=True)
    write(f"{name}/mapred-site.xml", configuration(keys))


def start(name, *words):
    processes.append(start_process(path(f"{name}.log"), program, *words))
    return processes[-1]


def start_daemon():
    return start("jobtracker", "serve", "--conf", path("conf"))


def start_worker(name):
    return start(name, "tasktracker", "--conf", path(f"{name}-conf"), "--name", name, "-D", "jobtracker.worker.run-as=self")


def next_stamp():
    """A timestamp that no request of ours has had, ms."""
    stamps.append(max(int(time.time() * 1000), stamps[-1] + 1))
    return stamps[-1]


def ask(method, address, body=None, timeout=60):
    """Status and JSON of an answer; an OSError or HTTPException while nothing answers."""
    connection = http.client.HTTPConnection("127.0.0.1", web, timeout=timeout)
    try:
        headers = {"X-Requested-By": "test", "Content-Type": "application/json"}
        body = None if body is None else json.dumps(body)
        target = f"/ws/v1/cluster{address}{'&' if '?' in address else '?'}"
        if is_paid:
            target += f"user=root&timestamp={next_stamp()}"
            target += "" if body is None else f"&sha256={hashlib.sha256(body.encode()).hexdigest()}"
            mac = hmac.new(b"key-of-root", f"{method} {target}".encode(), "sha1")
            headers["Authorization"] = urllib.parse.quote(base64.b64encode(mac.digest()), safe="")
        else:
            target += f"user.name={os.environ.get('USER', 'root')}"
        connection.request(method, target, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def nodes(states=("RUNNING",)):
    """Nodes in these states, by host."""
    try:
        status, answer = ask("GET", "/nodes")
    except (OSError, http.client.HTTPException):
        return {}
    if status != 200:
        return {}
    return {node["nodeHostName"]: node for node in answer["nodes"]["node"] if node["state"] in states}


def takes_containers(name):
    node = nodes().get(name)
    return node and node["availMemoryMB"] + node["usedMemoryMB"] > 0


def is_lost(name):
    # One that is silent is shown as LOST, and may still come back in time.
    found = nodes(("RUNNING", "UNHEALTHY", "LOST"))
    return found and name not in found


def rows(sql, *values):
    return rows_of(path("state"), sql, values)


class Array:
    """An array under way."""

    def __init__(self, name, items, pause_s, *more):
        self.name, self.items, self.out = name, items, path(f"out-{name}")
        os.makedirs(self.out)
        words = ["run", "--array", f"1-{items}", "--name", name, "--memory", "1024", "--scratch", "--json", "--server", f"127.0.0.1:{web}"]
        words += ["--user", "ann", "--key-file", path("ann.key")] if is_paid else []
        words += ["--env", f"OUT={self.out}", "--env", f"PAUSE={pause_s}", *more, "--", path("item.sh"), "{}"]
        with open(path(f"{name}.err"), "wb") as errors:
            self.client = subprocess.Popen([program, *words], stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
        processes.append(self.client)

    def runs(self):
        """Item and attempt of each run, with its lines."""
        found = {}
        for name in os.listdir(self.out):
            with open(os.path.join(self.out, name), encoding="utf-8") as file:
                found[name] = [line.split() for line in file]
        return found

    def done(self):
        return sum(1 for lines in self.runs().values() if len(lines) == 2)

    def running(self, node=""):
        """Processes of runs that have begun and not ended, perhaps on one node alone."""
        runs = [lines[0] for lines in self.runs().values() if len(lines) == 1 and len(lines[0]) == 6]
        return [int(pid) for _, pid, _, where, _, _ in runs if where.startswith(node)]

    def end(self, seconds=180):
        """The client's exit code and what it says at the end."""
        try:
            said, _ = self.client.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise SystemExit(f"{self.name} does not end; see {folder}") from None
        return self.client.returncode, json.loads(said) if said.strip() else {}

    def containers(self, application):
        """Item, attempt, state and exit status of each container by the daemon's books."""
        sql = "SELECT record FROM container WHERE application = ? ORDER BY number"
        return [json.loads(record) for (record,) in rows(sql, application)]


def exits(containers):
    """How often each exit status is in the books."""
    counts = {}
    for container in containers:
        status = (container.get("end") or {}).get("exit")
        counts[status] = counts.get(status, 0) + 1
    return counts


def judge(array, code, said, lost_allowed):
    """What must hold of every array: each item ended well once, ran once for each attempt, and nothing of it is left."""
    application, name = said.get("application", ""), array.name
    runs, containers = array.runs(), array.containers(application)
    expected = {"items": array.items, "final_status": "SUCCEEDED", "failed_containers": 0, "failed_items": None}
    wrong = {key: said.get(key) for key, value in expected.items() if said.get(key) != value}
    verdict(f"{name}: the client ends with 0 and the right counts", code == 0 and not wrong, f"exit code {code}{f', {wrong}' if wrong else ''}")
    again = [run for run in runs if "again" in run]
    verdict(f"{name}: no attempt runs twice", not again, ", ".join(again))
    ended = {}
    for lines in runs.values():
        if len(lines) == 2:
            ended[int(lines[0][0])] = ended.get(int(lines[0][0]), 0) + 1
    # One whose worker is lost runs again, even if it ended before that could be said.
    most = len(containers) if lost_allowed else 1
    missing = [item for item in range(1, array.items + 1) if not 1 <= ended.get(item, 0) <= most]
    verdict(f"{name}: each item runs to its end", not missing and len(ended) == array.items, f"wrong: {missing}" if missing else "")
    pids = [lines for lines in runs.values() if len(lines) == 2 and lines[0][1:4] != lines[1][1:4]]
    verdict(f"{name}: each run is one process from its begin to its end", not pids, str(pids) if pids else "")
    counts = exits(containers)
    lost = counts.get(LOST, 0)
    good = {container["launch"]["item"] for container in containers if container["end"]["exit"] == 0}
    sound = len(good) == counts.get(0, 0) == array.items and set(counts) <= ({0, LOST} if lost_allowed else {0})
    sound = sound and said.get("completed_containers") == len(containers)
    verdict(f"{name}: by the books each item ended with 0 once", sound, f"{counts}, {said.get('completed_containers')} complete")
    wait_s = 10
    end = time.monotonic() + wait_s
    while processes_of(application) and time.monotonic() < end:
        time.sleep(0.1)
    left = processes_of(application)
    verdict(f"{name}: no process is left", not left, str(left) if left else "")
    held = {name: node["numContainers"] for name, node in nodes().items() if node["numContainers"]}
    verdict(f"{name}: no node holds anything", not held, str(held) if held else "")
    return lost, containers


class Successor:
    """A daemon that is not our child."""

    def __init__(self, pid):
        self.pid = pid

    def poll(self):
        return None if is_alive(self.pid) else 0

    def wait(self, seconds):
        end = time.monotonic() + seconds
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("jobtracker", seconds)
            time.sleep(0.02)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)


def complaints():
    """Lines of the daemon's log that no kill explains."""
    with open(path("jobtracker.log"), encoding="utf-8") as file:
        return [line.strip() for line in file if re.search(r"ERROR|panicked|invariant", line)]
