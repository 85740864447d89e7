#!/usr/bin/env python3
"""The examples and the commands of docs/write-an-application.md against a real JobTracker and two workers.

Needs the program: JOBTRACKER_PROGRAM=target/debug/jobtracker python/live_tests.py. Each test has a cluster of its own in a
scratch folder, on free ports of the loopback interface, with keys and without.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from jobtracker_apps import Client, Session, Signed, Unsigned, find_credentials  # noqa: E402
from test_docs import STEPS, blocks  # noqa: E402

PROGRAM = os.environ.get("JOBTRACKER_PROGRAM", "")
KEY = "key-of-the-tests"
START_S = 30
LIMIT_S = 120


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Cluster:
    """A JobTracker and workers of this user."""

    def __init__(self, folder: str, is_signed: bool) -> None:
        self.folder = folder
        self.rpc, self.web = free_port(), free_port()
        self.address = f"127.0.0.1:{self.web}"
        self.user = find_credentials().user
        self.credentials = Signed(self.user, KEY) if is_signed else Unsigned(self.user)
        self.processes: list[subprocess.Popen[bytes]] = []
        # How clients find it, and their key.
        os.makedirs(os.path.join(folder, ".ssh"), mode=0o700)
        if is_signed:
            self.write(".ssh/hadoop_key", KEY + "\n")
        self.keys = {
            "hadoop.tmp.dir": os.path.join(folder, "tmp"),
            "mapred.job.tracker": f"127.0.0.1:{self.rpc}",
            "mapred.job.tracker.http.address": self.address,
            "jobtracker.state.dir": os.path.join(folder, "state"),
        }
        if is_signed:
            self.keys["jobtracker.containers.acl-file"] = self.write("acl", f"{self.user} user {KEY}\n")
        self.jobtracker = self.start_jobtracker()

    def write(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o600)
        return path

    def start(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        with open(os.path.join(self.folder, f"{name}.log"), "ab") as log:
            process = subprocess.Popen([PROGRAM, *words], stdout=log, stderr=log, start_new_session=True)
        self.processes.append(process)
        return process

    def start_jobtracker(self) -> subprocess.Popen[bytes]:
        keys = [f"-D{key}={value}" for key, value in self.keys.items()]
        return self.start("jobtracker", "serve", *keys)

    def start_workers(self) -> None:
        for name in ("one", "two"):
            keys = {
                **self.keys,
                "mapred.local.dir": os.path.join(self.folder, name),
                "hadoop.log.dir": os.path.join(self.folder, f"{name}-logs"),
                "mapred.task.tracker.http.address": f"127.0.0.1:{free_port()}",
                # Its folders are private.
                "jobtracker.worker.run-as": "self",
            }
            self.start(name, "tasktracker", "--name", name, *[f"-D{key}={value}" for key, value in keys.items()])
        client = Client(self.address, self.credentials, first_patience_s=START_S)
        end = time.monotonic() + START_S
        while sum(node.get("availMemoryMB", 0) > 0 for node in client.nodes()) < 2:
            if time.monotonic() > end:
                raise AssertionError(f"no two workers within {START_S} s: {self.log()}")
            time.sleep(0.05)

    def restart_jobtracker(self) -> None:
        self.jobtracker.kill()
        self.jobtracker.wait()
        self.jobtracker = self.start_jobtracker()

    def log(self) -> str:
        with open(os.path.join(self.folder, "jobtracker.log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def environment(self) -> dict[str, str]:
        return {**os.environ, "HOME": self.folder, "HADOOP_KEY": "", "JOBTRACKER_SERVER": self.address}

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(LIMIT_S)


@unittest.skipUnless(PROGRAM, "needs JOBTRACKER_PROGRAM")
class Live(unittest.TestCase):
    def begin(self, is_signed: bool) -> Cluster:
        folder = tempfile.mkdtemp(prefix="jobtracker-python.")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        cluster = Cluster(folder, is_signed)
        self.addCleanup(cluster.stop)
        cluster.start_workers()
        return cluster

    def run_there(self, cluster: Cluster, *command: str, code: int = 0) -> str:
        folder = os.path.join(cluster.folder, "work")
        os.makedirs(folder, exist_ok=True)
        done = subprocess.run(
            command, cwd=folder, env=cluster.environment(), capture_output=True, text=True, timeout=LIMIT_S
        )
        self.assertEqual(done.returncode, code, f"{done.stdout}{done.stderr}")
        return done.stdout

    def example(self, name: str) -> tuple[str, str]:
        return sys.executable, str(ROOT / "examples" / name)

    def test_the_page(self) -> None:
        page = blocks()
        for is_signed in (False, True):
            cluster = self.begin(is_signed)
            call = page["call-signed" if is_signed else "call"][0]
            script = "set -eu\n" + call.replace("127.0.0.1:50030", cluster.address)
            script = script.replace("SIGNER=alice", f"SIGNER={cluster.user}")
            script += "".join(f"echo; echo '== {name}'\n{page[name][0]}" for name in STEPS)
            out = self.run_there(cluster, "bash", "-c", script)
            parts = dict(re.findall(r"^== (\S+)\n(.*?)(?=^== |\Z)", out, re.DOTALL | re.MULTILINE))
            self.assertRegex(parts["log"], "^hello from ")
            self.assertEqual(parts["wait"].strip(), "SUCCEEDED")
            self.assertIn('"exit-status":3', parts["launch"])
            self.assertIn('"state":"FINISHED"', parts["unregister"])

    def test_parameter_sweep(self) -> None:
        for is_signed in (False, True):
            cluster = self.begin(is_signed)
            words = ["--set", "n=0,3", "--set", "m=1,2", "--", "sh", "-c", "echo {n}{m}; exit {n}"]
            out = self.run_there(cluster, *self.example("parameter_sweep.py"), *words, code=1)
            lines = [re.split(r"  +", line) for line in out.splitlines()]
            self.assertEqual(lines[1:3], [["0", "1", "ok", "1", "01"], ["0", "2", "ok", "1", "02"]])
            self.assertEqual([line[:4] for line in lines[3:]], [["3", m, "exit 3", "1"] for m in "12"])

    def test_steps_survive_their_program_and_the_jobtracker(self) -> None:
        cluster = self.begin(True)
        work = os.path.join(cluster.folder, "work")
        os.makedirs(work)
        note = "echo $0 >>ran.txt; "
        wait = "while [ ! -e go ]; do sleep 0.05; done"
        plan = {
            "first": {"command": ["sh", "-c", note, "first"]},
            "long": {"command": ["sh", "-c", f"{note} : >started; {wait}", "long"], "after": ["first"]},
            "last": {"command": ["sh", "-c", note, "last"], "after": ["long"]},
        }
        with open(os.path.join(work, "plan.json"), "w", encoding="utf-8") as file:
            json.dump({"steps": plan}, file)
        program = subprocess.Popen(
            [*self.example("steps.py"), "plan.json"], cwd=work, env=cluster.environment(), stdout=subprocess.PIPE
        )
        end = time.monotonic() + LIMIT_S
        while not os.path.exists(os.path.join(work, "started")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        program.send_signal(signal.SIGKILL)
        program.communicate()
        cluster.restart_jobtracker()
        with open(os.path.join(work, "go"), "w", encoding="utf-8"):
            pass
        (state,) = [name for name in os.listdir(work) if name.startswith("application_")]
        out = self.run_there(cluster, *self.example("steps.py"), "--resume", state[: -len(".json")])
        self.assertIn("SUCCEEDED: 3 of 3 steps succeeded", out)
        with open(os.path.join(work, "ran.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read().split(), ["first", "long", "last"])

    def test_an_end_may_be_repeated(self) -> None:
        cluster = self.begin(True)
        session = Session.submit(Client(cluster.address, cluster.credentials), "ends")
        session.register()
        self.assertEqual([session.unregister(), session.unregister()], ["FINISHED", "FINISHED"])


if __name__ == "__main__":
    unittest.main()
