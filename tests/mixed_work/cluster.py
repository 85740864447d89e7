"""A daemon, two built-in workers, streaming jobs and applications of two users, in a folder of their own."""

import http.client
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

from jobtracker_apps import Client, Session, Signed  # noqa: E402
from jobtracker_apps.signing import sign  # noqa: E402
from real_processes import configuration, end_processes, free_port, start_process, verdict, wait_for  # noqa: E402

USERS = ("alice", "bob")
WORKERS = ("w1", "w2")
# Of each worker; its bag is larger than its slots together.
MAPS, REDUCES, BAG = 2, 1, 8
SLOTS = BAG * len(WORKERS)
SLOT_MB = 1024
TICK_S = 1
PREEMPTED = -102
# Who signs: both users, and administrators: for commands, for requests, and for what looks beside them, so that no timestamps collide.
KEYS = {name: f"key-of-{name}" for name in (*USERS, "root", "clerk", "watch")}
CLASSES = {
    "dynamic": "DynamicPriorityScheduler",
    "fifo": "JobQueueTaskScheduler",
    "capacity": "CapacityTaskScheduler",
    "fair": "FairScheduler",
    "constraint": "ConstraintScheduler",
}

# A line is a number n: the mapper counts n under its remainder by 3. The reducer adds, and takes longer than a tick.
MAPPER = """#!/bin/sh
while read -r offset number; do
    sleep "$PAUSE"
    echo "$((number % 3))\t$number"
done
"""
REDUCER = """#!/bin/sh
sleep 1.2
awk -F '\\t' '{ sum[$1] += $2 } END { for (key in sum) print key "\\t" sum[key] }'
"""
# An item writes its square once it may go on; one that is cut short has written nothing.
ITEM = """#!/bin/sh
sleep "$PAUSE"
until [ -e "$GATE" ]; do sleep 0.05; done
echo $(($1 * $1)) >"$OUT/$1.part.$JOBTRACKER_ITEM_ATTEMPT"
mv "$OUT/$1.part.$JOBTRACKER_ITEM_ATTEMPT" "$OUT/$1"
"""


class Cluster:
    """Everything of it ends with it."""

    def __init__(self, program, policy, keys=None, files=None):
        self.program, self.policy = program, policy
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"jobtracker-mixed-{policy}."))
        self.processes, self.stamps = [], {}
        self.rpc, self.web = free_port(), free_port()
        for name, text in (("map.sh", MAPPER), ("reduce.sh", REDUCER), ("item.sh", ITEM)):
            self.write(name, text, 0o755)
        for name, key in KEYS.items():
            self.write(f"{name}.key", key)
        roles = {name: "user" if name in USERS else "admin" for name in KEYS}
        self.write("acl", "".join(f"{name} {roles[name]} {key}\n" for name, key in KEYS.items()))
        self.write("budget", "".join(f"{user} 5000 1\n" for user in USERS))
        server = {
            "fs.default.name": "file:///",
            "hadoop.tmp.dir": self.folder / "tmp",
            "mapred.job.tracker": f"127.0.0.1:{self.rpc}",
            "mapred.job.tracker.http.address": f"127.0.0.1:{self.web}",
            "jobtracker.state.dir": self.folder / "state",
            "mapred.system.dir": self.folder / "system",
            "mapreduce.jobtracker.staging.root.dir": self.folder / "staging",
            "jobtracker.containers.slot.memory.mb": SLOT_MB,
            "mapred.jobtracker.taskScheduler": f"org.apache.hadoop.mapred.{CLASSES[policy]}",
            "mapred.dynamic-scheduler.budget-file": self.folder / "budget",
            "mapred.priority-scheduler.acl-file": self.folder / "acl",
            **(keys or {}),
        }
        self.configure("conf", server)
        for name, text in (files or {}).items():
            self.write(f"conf/{name}", text, 0o644)
        self.daemon = self.start_daemon()
        for name in WORKERS:
            own = {
                "mapred.local.dir": self.folder / name,
                "hadoop.log.dir": self.folder / f"{name}-log",
                "mapred.task.tracker.http.address": "127.0.0.1:0",
                "mapred.tasktracker.map.tasks.maximum": MAPS,
                "mapred.tasktracker.reduce.tasks.maximum": REDUCES,
                "jobtracker.tasktracker.memory.mb": BAG * SLOT_MB,
                "jobtracker.tasktracker.vcores": BAG,
                "jobtracker.tasktracker.cgroup": "off",
            }
            self.configure(f"{name}-conf", server | own)
            self.start(name, "tasktracker", "--conf", self.folder / f"{name}-conf", "--name", name, "-D", "jobtracker.worker.run-as=self")
        wait_for("workers", lambda: sum(node["availMemoryMB"] for node in self.nodes()) == SLOTS * SLOT_MB)

    def write(self, name, text, mode=0o600):
        (self.folder / name).write_text(text, encoding="utf-8")
        (self.folder / name).chmod(mode)

    def configure(self, name, keys):
        (self.folder / name).mkdir()
        self.write(f"{name}/mapred-site.xml", configuration(keys), 0o644)

    def start(self, name, *words):
        self.processes.append(start_process(self.folder / f"{name}.log", self.program, *words))
        return self.processes[-1]

    def start_daemon(self):
        daemon = self.start("jobtracker", "serve", "--conf", self.folder / "conf")
        wait_for("answer", lambda: self.run("time", "--server", f"127.0.0.1:{self.web}").returncode == 0)
        return daemon

    def restart(self):
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait(30)
        self.daemon = self.start_daemon()

    # Commands

    def run(self, *words):
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True, check=False)

    def signer(self, user):
        return ["--as", user, "--key-file", str(self.folder / f"{user}.key"), "--server", f"127.0.0.1:{self.web}"]

    def ask(self, user, *words):
        """The JSON answer of a signed command."""
        done = self.run(*words, *self.signer(user), "--json")
        if done.returncode != 0:
            raise SystemExit(f"{words} of {user}: {done.returncode} {done.stderr}; see {self.folder}")
        return json.loads(done.stdout)

    def bid(self, user, rate):
        return self.ask(user, "queue", "set-spending", user, rate)

    # Requests

    def client(self, user):
        return Client(f"127.0.0.1:{self.web}", Signed(user, KEYS[user]))

    def nodes(self):
        return self.client("clerk").call("GET", "/nodes")["nodes"]["node"]

    def applications(self, user="clerk"):
        return self.client(user).call("GET", "/apps")["apps"]["app"]

    def look(self, path, query=None, user="root"):
        """JSON of an address of `/scheduler`, with the moments before and after; signed if `query` is given."""
        connection = http.client.HTTPConnection("127.0.0.1", self.web, timeout=30)
        headers, before = {}, time.time()
        if query is not None:
            self.stamps[user] = max(int(before * 1000), self.stamps.get(user, 0) + 1)
            query = f"{query}&user={user}&timestamp={self.stamps[user]}"
            headers["Authorization"], path = sign(query, KEYS[user]), f"{path}?{query}"
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise OSError(f"{path}: {answer.status} {body[:200]}")
        return before, json.loads(body), time.time()

    # Work

    def submit(self, user, name, maps, pause_s, queue=()):
        """A streaming job over the numbers from 1 to `maps`, each a map of its own."""
        self.write(f"{name}.in", "".join(f"{number}\n" for number in range(1, maps + 1)), 0o644)
        words = ["job", "submit", "--input", self.folder / f"{name}.in", "--output", self.folder / f"{name}.out", "--input-format", "nline"]
        words += ["--mapper", self.folder / "map.sh", "--reducer", self.folder / "reduce.sh", "--reduces", 2, "--env", f"PAUSE={pause_s}"]
        words += ["--name", name, "--detach", "--jobtracker", f"127.0.0.1:{self.rpc}", *queue]
        # Second attempts would blur what is counted.
        words += ["-D", "mapred.map.tasks.speculative.execution=false", "-D", "mapred.reduce.tasks.speculative.execution=false"]
        return Job(self, self.ask(user, *words)["job"], name, maps)

    def array(self, user, name, items, pause_s, *more):
        return Array(self, user, name, items, pause_s, more)

    def open_gate(self):
        """Items that have waited go on."""
        self.write("gate", "")

    def session(self, user, name, **members):
        session = Session.submit(self.client(user), name, **members)
        session.register()
        return session

    def end(self, keep):
        end_processes(self.processes)
        if keep:
            print(f"logs in {self.folder}", flush=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def judge_end(self):
        """No slot, no room is held, and nothing in the log of the daemon that should not be."""
        name = self.policy

        def idle():
            workers = self.look("/scheduler/workers")[1]["workers"]
            nodes = self.nodes()
            used = [worker["used"] for worker in workers if worker["used"] != {"map": 0, "reduce": 0}]
            rooms = [node["availMemoryMB"] for node in nodes] + [node["availableVirtualCores"] * SLOT_MB for node in nodes]
            held = [node["numContainers"] for node in nodes if node["numContainers"]]
            return not used and not held and rooms == [BAG * SLOT_MB] * (2 * len(WORKERS))

        try:
            free = wait_for("free room", idle, 15)
        except SystemExit:
            free = False
        verdict(f"{name}: all slots and all room are free at the end", free, "" if free else str(self.nodes()))
        log = (self.folder / "jobtracker.log").read_text(encoding="utf-8")
        complaints = [line for line in log.splitlines() if re.search(r"ERROR|panicked|invariant", line)]
        verdict(f"{name}: the daemon complains of nothing", not complaints, str(complaints) if complaints else "")


class Job:
    """A streaming job under way."""

    def __init__(self, cluster, job, name, maps):
        self.cluster, self.id, self.name, self.maps = cluster, job, name, maps

    def attempts(self):
        return self.cluster.look("/scheduler/tasks", f"tasks={self.id}")[1]["attempts"]

    def is_over(self):
        times = self.cluster.look("/scheduler/jobs", "jobs")[1]["jobs"]
        return any(job["job"] == self.id and job.get("finish_ms") for job in times)

    def judge(self):
        output = "".join(path.read_text() for path in sorted((self.cluster.folder / f"{self.name}.out").glob("part-*")))
        sums = {key: sum(number for number in range(1, self.maps + 1) if number % 3 == key) for key in range(3)}
        found = sorted(output.splitlines())
        good = found == [f"{key}\t{total}" for key, total in sums.items() if total]
        verdict(f"{self.cluster.policy}: {self.name} has the right output", good, "" if good else repr(output))


class Array:
    """An array under way."""

    def __init__(self, cluster, user, name, items, pause_s, more):
        self.cluster, self.name, self.items = cluster, name, items
        self.out = cluster.folder / f"{name}.out"
        self.out.mkdir()
        words = ["run", "--array", f"1-{items}", "--name", name, "--memory", SLOT_MB, "--scratch", "--detach", *more]
        words += ["--env", f"OUT={self.out}", "--env", f"PAUSE={pause_s}", "--env", f"GATE={cluster.folder / 'gate'}", *cluster.signer(user), "--json"]
        done = cluster.run(*words, "--", cluster.folder / "item.sh", "{}")
        if done.returncode != 0:
            raise SystemExit(f"{name} is refused: {done.stderr}; see {cluster.folder}")
        self.id = json.loads(done.stdout)["application"]

    def report(self):
        return self.cluster.client("clerk").call("GET", f"/apps/{self.id}")["app"]

    def is_over(self):
        report = self.report()
        return report["state"] in ("FINISHED", "FAILED", "KILLED") and not report["runningContainers"]

    def containers(self):
        return list(self.cluster.client("clerk").containers(self.id))

    def preempted(self):
        return [container for container in self.containers() if container["exitStatus"] == PREEMPTED]

    def judge(self):
        name = f"{self.cluster.policy}: {self.name}"
        report, containers = self.report(), self.containers()
        good = report["finalStatus"] == "SUCCEEDED" and not report["failedContainers"] and not report["failedItems"]
        verdict(f"{name} succeeds", good, "" if good else str(report))
        found = {path.name: path.read_text().strip() for path in self.out.iterdir() if ".part." not in path.name}
        expected = {str(item): str(item * item) for item in range(1, self.items + 1)}
        verdict(f"{name} has the right outputs", found == expected, f"{len(found)} of {self.items}")
        ended = [container["item"] for container in containers if container["exitStatus"] == 0]
        again = {container["item"] for container in containers if container["exitStatus"] == PREEMPTED}
        others = {container["exitStatus"] for container in containers} - {0, PREEMPTED}
        good = sorted(ended) == list(range(1, self.items + 1)) and not others
        verdict(f"{name}: each item ends with 0 once, what was preempted came again", good, f"{len(again)} came again{f', {others}' if others else ''}")


class Watch(threading.Thread):
    """Calls `look` again and again until it is stopped; what a look returns is kept."""

    def __init__(self, look):
        super().__init__(daemon=True)
        self.look, self.seen, self.failures, self._stop_event = look, [], [], threading.Event()
        self.start()

    def run(self):
        while not self._stop_event.wait(0.1):
            try:
                self.seen.append(self.look())
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(str(error))

    def stop(self):
        self._stop_event.set()
        self.join()
        return self.seen
