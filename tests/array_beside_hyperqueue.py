#!/usr/bin/env python3
"""array_beside_hyperqueue.py PROGRAM [--tasks N] [--asks N] [--rounds N] [--strict]

Runs /bin/true N times on a daemon and two workers of PROGRAM, and as often on HyperQueue with two workers, by turns in one run, and prints what
each took: wall time, and CPU time for one task. Own CPU time is that of daemon, workers and client (HyperQueue: of the one process that has
server, workers and client inside); that of children is what their processes took, /bin/true and what keeps watch over it.
Then it asks an idle cluster N times for one process, one at a time, and prints how long it took from the call to the process's start, as the
process sees it. --strict ends with 1 where a median is above what it should be: wall and CPU time of HyperQueue, 10 ms for the start.

HyperQueue is the module `hyperqueue` of HYPERQUEUE_PYTHON (default: this Python): pip install 'hyperqueue==0.27.*'. Without it only PROGRAM
is measured, and a line says so.
"""

import argparse
import http.client
import json
import os
import pathlib
import pwd
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

from real_processes import configuration, free_port  # noqa: E402

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
START_S = 60
CORES = 2
HYPERQUEUE = """
import resource, sys, time
from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig
tasks, cores = int(sys.argv[1]), int(sys.argv[2])
def cpu_ms(who):
    used = resource.getrusage(who)
    return (used.ru_utime + used.ru_stime) * 1000
with LocalCluster() as cluster:
    for _ in range(2):
        cluster.start_worker(WorkerConfig(cores=cores))
    client = cluster.client()
    own, children, began = cpu_ms(resource.RUSAGE_SELF), cpu_ms(resource.RUSAGE_CHILDREN), time.monotonic()
    job = Job()
    for _ in range(tasks):
        job.program(["/bin/true"])
    client.wait_for_jobs([client.submit(job)])
    wall = time.monotonic() - began
    own, children = cpu_ms(resource.RUSAGE_SELF) - own, cpu_ms(resource.RUSAGE_CHILDREN) - children
    print("RESULT", wall, own / tasks, children / tasks)
"""


def fields_of(pid):
    """Fields of /proc/PID/stat from the third on; none: there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def descendants(pid):
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := fields_of(entry)):
            parents.setdefault(int(fields[1]), []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def own_ms(pid):
    fields = fields_of(pid)
    return sum(map(int, fields[11:13])) * TICK_MS


def reaped_ms(pid):
    fields = fields_of(pid)
    return sum(map(int, fields[13:15])) * TICK_MS if fields else 0


def children_ms(pid):
    """CPU time of all that came of a process, whether it was reaped or runs."""
    live = descendants(pid)
    return reaped_ms(pid) + sum(own_ms(one) + reaped_ms(one) for one in live if fields_of(one))


class Cluster:
    """A daemon and two workers with folders of their own."""

    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)
        self.rpc, self.http = free_port(), free_port()
        self.connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=60)
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.processes = []
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("HADOOP_", "JOBTRACKER_"))}

    def start(self):
        common = {
            "mapred.job.tracker": f"127.0.0.1:{self.rpc}",
            "mapred.job.tracker.http.address": f"127.0.0.1:{self.http}",
            "hadoop.tmp.dir": str(self.folder / "tmp"),
            "fs.default.name": "file:///",
        }
        self.daemon = self.spawn("daemon", "serve", common)
        self.await_(lambda: self.nodes() is not None, "the daemon")
        workers = []
        for number in range(2):
            of_worker = {
                "mapred.local.dir": str(self.folder / f"local-{number}"),
                "hadoop.log.dir": str(self.folder / f"logs-{number}"),
                "mapred.task.tracker.http.address": "127.0.0.1:0",
                "mapred.task.tracker.report.address": "127.0.0.1:0",
                "mapred.tasktracker.map.tasks.maximum": "1",
                "mapred.tasktracker.reduce.tasks.maximum": "1",
                "jobtracker.worker.run-as": "self",
                "jobtracker.tasktracker.vcores": str(CORES),
                "jobtracker.tasktracker.memory.mb": "8192",
            }
            workers.append(self.spawn(f"worker-{number}", "tasktracker", common | of_worker))
        self.workers = workers
        self.await_(lambda: sum(node["availMemoryMB"] > 0 for node in self.nodes()) == 2, "two workers")

    def spawn(self, name, command, keys):
        folder = self.folder / name
        folder.mkdir()
        conf = folder / "conf"
        conf.mkdir()
        (conf / "mapred-site.xml").write_text(configuration(keys))
        log = open(folder / "log", "wb")
        process = subprocess.Popen(
            [self.program, command, "--conf", str(conf)], cwd=folder, env=self.environment, stdout=log, stderr=log
        )
        self.processes.append(process)
        return process.pid

    def await_(self, holds, what):
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            try:
                if holds():
                    return
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.05)
        for log in sorted(self.folder.glob("*/log")):
            print(f"--- {log}\n{log.read_text()}", file=sys.stderr)
        sys.exit(f"{what} did not come within {START_S} s")

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait(timeout=START_S)

    def call(self, method, path, body=None):
        separator = "&" if "?" in path else "?"
        headers = {"Content-Type": "application/json", "X-Requested-By": "benchmark", "Host": f"127.0.0.1:{self.http}"}
        text = None if body is None else json.dumps(body)
        target = f"/ws/v1/cluster{path}{separator}user.name={self.user}"
        for is_last in False, True:
            try:
                self.connection.request(method, target, text, headers)
                answer = self.connection.getresponse()
                content = answer.read()
                break
            except (OSError, http.client.HTTPException):
                # The daemon closes idle connections; every call may be sent twice.
                self.connection.close()
                if is_last:
                    raise
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {content.decode()}")
        return json.loads(content)

    def nodes(self):
        return self.call("GET", "/nodes")["nodes"]["node"]

    def array(self, tasks):
        """Runs /bin/true so often; wall time in s, own CPU time and that of children for one task, ms."""
        self.await_(lambda: all(node["numContainers"] == 0 for node in self.nodes()), "the end of the containers before")
        pids = [self.daemon, *self.workers]
        owns = {pid: own_ms(pid) for pid in pids}
        children = sum(children_ms(pid) for pid in self.workers)
        before = os.times()
        began = time.monotonic()
        command = [self.program, "run", "--server", f"127.0.0.1:{self.http}", "--memory", "1024", "--array", f"1-{tasks}"]
        subprocess.run([*command, "--", "/bin/true"], check=True, cwd=self.folder, env=self.environment, capture_output=True)
        wall = time.monotonic() - began
        after = os.times()
        # What is noted and cleared belongs to it.
        time.sleep(0.3)
        client = (after.children_user + after.children_system - before.children_user - before.children_system) * 1000
        parts = {"daemon": own_ms(self.daemon) - owns[self.daemon], "client": client}
        parts["workers"] = sum(own_ms(pid) - owns[pid] for pid in self.workers)
        of_children = sum(children_ms(pid) for pid in self.workers) - children
        shown = ", ".join(f"{name} {used / tasks:.3f}" for name, used in parts.items())
        return wall, sum(parts.values()) / tasks, of_children / tasks, f" ({shown})"

    def ask(self, number):
        """Asks for one process; ms from the call to its start."""
        identity = self.call("POST", "/apps/new-application")["application-id"]
        file = self.folder / f"started-{number}"
        context = {"command": ["/bin/date", "+%s%N"], "stdout": str(file), "stderr": None}
        row = {"priority": 1, "resource-name": "*", "capability": {"memory": 1024, "vCores": 1}, "num-containers": 1}
        body = {
            "application-id": identity,
            "application-name": "ask",
            "unattended": True,
            "specs": {"date": context},
            "ask": [row | {"launch": {"spec": "date"}}],
        }
        began = time.time_ns()
        self.call("POST", "/apps", body)
        version = 0
        while True:
            report = self.call("GET", f"/apps/{identity}?version={version}&wait-ms=10000")["app"]
            if report["state"] in ("FINISHED", "FAILED", "KILLED"):
                break
            version = report["version"]
        if report["finalStatus"] != "SUCCEEDED":
            sys.exit(f"{identity}: {report['diagnostics']}")
        return (int(file.read_text()) - began) / 1e6


def hyperqueue(python, tasks):
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [python, "-c", HYPERQUEUE, str(tasks), str(CORES)], cwd=folder, capture_output=True, text=True, timeout=600
        )
    for line in ran.stdout.splitlines():
        if line.startswith("RESULT "):
            return *map(float, line.split()[1:]), ""
    sys.exit(f"HyperQueue failed: {ran.stdout}\n{ran.stderr}")


def show(name, result):
    wall, own, children, parts = result
    print(f"{name:12} {wall:6.2f} s, CPU for one task: own {own:.3f} ms{parts}, children {children:.3f} ms", flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--tasks", type=int, default=3000)
    parser.add_argument("--asks", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--strict", action="store_true")
    arguments = parser.parse_args()
    python = os.environ.get("HYPERQUEUE_PYTHON", sys.executable)
    has_peer = subprocess.run([python, "-c", "import hyperqueue"], capture_output=True).returncode == 0
    if not has_peer:
        print("SKIPPED HyperQueue: no module hyperqueue; pip install 'hyperqueue==0.27.*', or name a Python by HYPERQUEUE_PYTHON")
    folder = tempfile.mkdtemp()
    cluster = Cluster(os.path.realpath(arguments.program), folder)
    try:
        cluster.start()
        ours, theirs = [], []
        for _ in range(arguments.rounds):
            ours.append(show("jobtracker", cluster.array(arguments.tasks)))
            if has_peer:
                theirs.append(show("HyperQueue", hyperqueue(python, arguments.tasks)))
        asks = sorted(cluster.ask(number) for number in range(arguments.asks))
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
    wrong = []
    if theirs:
        for what, of in ("wall time", lambda r: r[0]), ("own CPU time", lambda r: r[1]), ("all CPU time", lambda r: r[1] + r[2]):
            one, other = statistics.median(map(of, ours)), statistics.median(map(of, theirs))
            print(f"{what}, median: {one:.3f}, HyperQueue {other:.3f}")
            if one > other:
                wrong.append(f"{what} is above that of HyperQueue")
    if asks:
        middle, last = asks[len(asks) // 2], asks[len(asks) * 99 // 100]
        print(f"from the ask to the process's start, {len(asks)} asks: {asks[0]:.2f} / {middle:.2f} / {last:.2f} ms (least, median, 99th percentile)")
        if middle > 10:
            wrong.append(f"half of the processes start later than {middle:.1f} ms")
    for what in wrong:
        print(f"WRONG: {what}")
    return 1 if wrong and arguments.strict else 0


if __name__ == "__main__":
    sys.exit(main())
