"""The commands of docs/write-an-application.md, as they stand there."""

import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from fake_jobtracker import Node
from test_client import KEYS, Case

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs/write-an-application.md"
TOOLS = ("curl", "openssl", "sha256sum", "bash")
#: In the order of the page, behind `call` or `call-signed`.
STEPS = ["field", "submit", "register", "ask", "launch", "log", "unregister", "unattended", "wait"]


def blocks():
    """The named blocks of the page, and of each the text block that follows."""
    found = re.findall(
        r"^```(?:sh|python) (\S+)\n(.*?)^```\n(?:\n```text\n(.*?)^```)?",
        PAGE.read_text("utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    return {name: (code, output) for name, code, output in found}


class Page(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.blocks = blocks()

    def begin(self, keys):
        jobtracker = self.start(keys=keys, works=True, nodes=(Node("localhost"),))
        return jobtracker, {
            **os.environ,
            "HOME": self.folder,
            "JOBTRACKER_SERVER": jobtracker.address,
            "HADOOP_KEY": "",
        }

    @unittest.skipUnless(all(map(shutil.which, TOOLS)), f"needs {', '.join(TOOLS)}")
    def test_steps_by_curl(self):
        os.mkdir(f"{self.folder}/.ssh")
        for keys, call in ((None, "call"), (KEYS, "call-signed")):
            jobtracker, environment = self.begin(keys)
            if keys:
                with open(f"{self.folder}/.ssh/hadoop_key", "w", encoding="utf-8") as file:
                    file.write(keys["alice"] + "\n")
            script = "set -eu\n" + self.blocks[call][0].replace("127.0.0.1:50030", jobtracker.address)
            script += "".join(f"echo; echo '== {name}'\n{self.blocks[name][0]}" for name in STEPS)
            # Timestamps of two calls in one millisecond are refused, as the page says.
            script = script.replace("call() {", "call() {\n    sleep 0.002")
            done = subprocess.run(
                ["bash", "-c", script], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=60
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            parts = dict(re.findall(r"^== (\S+)\n(.*?)(?=^== |\Z)", done.stdout, re.DOTALL | re.MULTILINE))
            for name in ("log", "wait"):
                self.assertEqual(parts[name].rstrip() + "\n", self.blocks[name][1], name)
            self.assertIn('"exit-status": 3', parts["launch"])
            self.assertIn('"state": "FINISHED"', parts["unregister"])
            self.assertEqual([one.state for one in jobtracker.applications.values()], ["FINISHED", "FINISHED"])

    def test_python(self):
        _, environment = self.begin(None)
        out = io.StringIO()
        with mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(out):
            exec(self.blocks["hello"][0], {})
        self.assertEqual(out.getvalue(), self.blocks["hello"][1])

    def test_sweep(self):
        _, environment = self.begin(None)
        code, output = self.blocks["sweep"]
        command = code.replace("python3", f"{sys.executable} -B")
        done = subprocess.run(
            ["sh", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
        )
        self.assertEqual((done.returncode, done.stdout), (0, output), done.stderr)


if __name__ == "__main__":
    unittest.main()
