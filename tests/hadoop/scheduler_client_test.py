#!/usr/bin/env python3
"""Tests of etc/client/scheduler.py against a web server that answers as told and remembers what it was asked."""

import http.server
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../etc/client/scheduler.py")
KEY = "alicekey-abc"


def load():
    spec = importlib.util.spec_from_file_location("scheduler", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


scheduler = load()


class Answering(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append((self.path, self.headers["Authorization"]))
        status, reason, body = self.server.answer
        self.send_response(status, reason)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


class Client(unittest.TestCase):
    def setUp(self):
        self.server = http.server.HTTPServer(("127.0.0.1", 0), Answering)
        self.server.asked = []
        self.server.answer = (200, "OK", "<QueueInfo/>\n")
        self.address = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def run_client(self, *arguments, **environment):
        environment = {**os.environ, "HADOOP_KEY": KEY, **environment}
        return subprocess.run([sys.executable, PROGRAM, *arguments], capture_output=True, text=True, env=environment, timeout=30)

    def test_vectors(self):
        self.assertEqual(scheduler.sign("info=alice&user=alice&timestamp=1700000000000", KEY), "JVa0yXYFKIhmBKTdmYzPdNt4IaE%3D")
        self.assertEqual(
            scheduler.job_parameters("alice", KEY, 1700000000000),
            [
                "-Dmapred.job.timestamp=1700000000000",
                "-Dmapred.job.signature=JD3O%2Brpv43yYZ9IQpkDsySnG1pI%3D",
                "-Dmapreduce.job.queue.name=alice",
            ],
        )

    def test_query_is_sent_as_signed(self):
        ended = self.run_client("info=alice", "--user", "alice", "--server", self.address)
        self.assertEqual((ended.returncode, ended.stdout), (0, "200 OK\n<QueueInfo/>\n"))
        [(time_path, _), (path, signature)] = self.server.asked
        self.assertEqual(time_path, "/scheduler?time")
        self.assertIn("gives no time", ended.stderr)
        self.assertRegex(path, r"^/scheduler\?info=alice&user=alice&timestamp=\d{13}$")
        self.assertEqual(signature, scheduler.sign(path.partition("?")[2], KEY))

    def test_the_server_is_that_of_the_environment_unless_it_is_named(self):
        self.run_client("info=alice", "--user", "alice", JOBTRACKER_SERVER=self.address)
        self.assertEqual(len(self.server.asked), 2)
        ended = self.run_client("info=alice", "--user", "alice", "--server", self.address, JOBTRACKER_SERVER="127.0.0.1:1")
        self.assertEqual((len(self.server.asked), ended.returncode), (4, 0))

    def test_time_is_the_servers(self):
        self.server.answer = (200, "OK", "<QueueInfo>\n  <start>1</start>\n  <time>1700000000000</time>\n</QueueInfo>\n")
        ended = self.run_client("info=alice", "--user", "alice", "--server", self.address)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        path, signature = self.server.asked[-1]
        self.assertEqual(path, "/scheduler?info=alice&user=alice&timestamp=1700000000000")
        self.assertEqual(signature, "JVa0yXYFKIhmBKTdmYzPdNt4IaE%3D")
        job = self.run_client("--job", "--user", "alice", "--server", self.address)
        self.assertTrue(job.stdout.startswith("-Dmapred.job.timestamp=1700000000000 "))

    def test_denial(self):
        self.server.answer = (500, "ACCESS DENIED: infos", "ACCESS DENIED: infos")
        ended = self.run_client("infos", "--server", self.address)
        self.assertEqual((ended.returncode, ended.stdout), (3, "500 ACCESS DENIED: infos\nACCESS DENIED: infos\n"))

    def test_wrong_query(self):
        self.server.answer = (400, "Bad Request", "<error>no such operation</error>")
        self.assertEqual(self.run_client("nonsense", "--server", self.address).returncode, 2)
        self.assertEqual(self.run_client("a b", "--server", self.address).returncode, 2)
        self.assertEqual(self.run_client().returncode, 2)
        self.assertEqual(self.run_client("price", "--job").returncode, 2)

    def test_server_that_cannot_answer(self):
        self.server.answer = (503, "Service Unavailable", "starting")
        self.assertEqual(self.run_client("price", "--server", self.address).returncode, 4)
        self.assertEqual(self.run_client("price", "--server", "127.0.0.1:1").returncode, 4)

    def test_job(self):
        ended = self.run_client("--job", "--user", "alice")
        match = re.fullmatch(
            r"-Dmapred.job.timestamp=(\d{13}) -Dmapred.job.signature=(\S+) -Dmapreduce.job.queue.name=alice\n", ended.stdout
        )
        self.assertEqual(match[2], scheduler.sign(f"&user=alice&timestamp={match[1]}", KEY))

    def test_user_is_the_system_user(self):
        name = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        self.assertIn(f"queue.name={name}\n", self.run_client("--job").stdout)

    def test_key_places(self):
        with tempfile.TemporaryDirectory() as home:
            os.mkdir(os.path.join(home, ".ssh"))
            for name, key in ((".ssh/hadoop_key", "from-home\n"), ("other", "from-file\n"), ("empty", "\n")):
                with open(os.path.join(home, name), "w", encoding="utf-8") as file:
                    file.write(key)
            environment = {"HOME": home, "HADOOP_KEY": ""}
            for arguments, key in ((["--key-file", f"{home}/other"], "from-file"), ([], "from-home")):
                self.run_client("price", "--server", self.address, *arguments, **environment)
                path, signature = self.server.asked[-1]
                self.assertEqual(signature, scheduler.sign(path.partition("?")[2], key))
            ended = self.run_client("price", "--key-file", f"{home}/empty", **environment)
            self.assertEqual(ended.returncode, 2)
            self.assertIn("empty", ended.stderr)
            ended = self.run_client("price", "--key-file", f"{home}/missing", **environment)
            self.assertEqual(ended.returncode, 2)
            self.assertIn("missing", ended.stderr)


if __name__ == "__main__":
    unittest.main()
