"""The examples as people start them, against a JobTracker that runs their commands."""

import contextlib
import csv
import importlib.util
import io
import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from test_client import KEYS, Case

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"


class Examples(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def environment(self, jobtracker):
        return {"HADOOP_KEY": (jobtracker.keys or {}).get("alice", ""), "HOME": self.folder}

    def begin(self, jobtracker, script, *words):
        """A process of its own, to be stopped."""
        command = [
            sys.executable,
            "-B",
            str(EXAMPLES / script),
            "--server",
            jobtracker.address,
            "--user",
            "alice",
            *words,
        ]
        environment = {**os.environ, **self.environment(jobtracker)}
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.folder, env=environment, stdout=pipe, stderr=pipe)

    def run_example(self, jobtracker, script, *words):
        """Exit code and outputs of the same in this process."""
        program = load(script)
        out, err = io.StringIO(), io.StringIO()
        argv = [script, "--server", jobtracker.address, "--user", "alice", *words]
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            with (
                mock.patch.dict(os.environ, self.environment(jobtracker)),
                mock.patch.object(sys, "argv", argv),
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
            ):
                code = program.main()
        except SystemExit as end:
            code = end.code
        finally:
            os.chdir(before)
        return code, out.getvalue(), err.getvalue()

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def lines(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read().split()

    def wait_for(self, name):
        end = time.monotonic() + 20
        while not os.path.exists(os.path.join(self.folder, name)):
            if time.monotonic() > end:
                raise AssertionError(f"{name} did not appear")
            time.sleep(0.005)


def load(script):
    """An example as a module."""
    spec = importlib.util.spec_from_file_location("example", EXAMPLES / script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Readme(Examples):
    def test_its_program_runs(self):
        readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
        (program,) = re.findall("```python\n(.*?)```", readme, re.DOTALL)
        jobtracker = self.start(works=True)
        environment = {**self.environment(jobtracker), "JOBTRACKER_SERVER": jobtracker.address}
        out = io.StringIO()
        with mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(out):
            exec(program, {})
        self.assertEqual(out.getvalue().splitlines(), [f"{number} SUCCEEDED {2 * number}" for number in range(1, 11)])


class ParameterSweep(Examples):
    def test_the_table_has_every_combination(self):
        for keys in (KEYS, None):
            jobtracker = self.start(keys=keys, works=True)
            self.write("area.sh", 'echo "computing"\nexpr "$1" "*" "$2"\n')
            words = ["--set", "width=2,3", "--set", "height=5,7", "--csv", "table.csv"]
            code, out, err = self.run_example(
                jobtracker, "parameter_sweep.py", *words, "--", "sh", "area.sh", "{width}", "{height}"
            )
            self.assertEqual(code, 0, err)
            self.assertEqual(
                out.splitlines(),
                [
                    "width  height  outcome  tries  result",
                    "2      5       ok       1      10",
                    "2      7       ok       1      14",
                    "3      5       ok       1      15",
                    "3      7       ok       1      21",
                ],
            )
            with open(os.path.join(self.folder, "table.csv"), encoding="utf-8") as file:
                self.assertEqual(list(csv.reader(file))[-1], ["3", "7", "ok", "1", "21"])
            self.assertEqual(jobtracker.only.final_status, "SUCCEEDED")

    def test_failures_show(self):
        jobtracker = self.start(works=True)
        words = ["--set", "n=0,3", "--max-attempts", "2", "--", "sh", "-c", "echo bad {n} >&2; exit {n}"]
        code, out, _ = self.run_example(jobtracker, "parameter_sweep.py", *words)
        self.assertEqual(code, 1)
        self.assertEqual(out.splitlines(), ["n  outcome  tries  result", "0  ok       1", "3  exit 3   2      bad 3"])

    def test_wrong_usage(self):
        jobtracker = self.start()
        for words in (["--", "true"], ["--set", "n", "--", "true"], ["--set", "n=1"]):
            self.assertEqual(self.run_example(jobtracker, "parameter_sweep.py", *words)[0], 2)
        jobtracker.keys = {}
        code, _, err = self.run_example(jobtracker, "parameter_sweep.py", "--set", "n=1", "--", "true")
        self.assertEqual(code, 2)
        self.assertIn("signature-refused", err)


class Steps(Examples):
    def plan(self, **steps):
        self.write("plan.json", json.dumps({"steps": steps}))

    def test_the_plan_that_ships(self):
        jobtracker = self.start(keys=KEYS, works=True)
        self.write("plan.json", (EXAMPLES / "plan.json").read_text(encoding="utf-8"))
        code, out, err = self.run_example(jobtracker, "steps.py", "plan.json")
        self.assertEqual(code, 0, err)
        self.assertIn("SUCCEEDED: 3 of 3 steps succeeded", out)
        self.assertEqual(self.lines("sum.txt"), ["5050"])
        path = os.path.join(self.folder, f"{jobtracker.only.id}.json")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)

    def test_steps_survive_its_restarts(self):
        for how in (signal.SIGKILL, signal.SIGINT):
            jobtracker = self.start(keys=KEYS, works=True)
            for name in os.listdir(self.folder):
                os.remove(os.path.join(self.folder, name))
            count = "echo $0 >>ran.txt; "
            wait = "while [ ! -e go ]; do sleep 0.01; done"
            self.plan(
                first={"command": ["sh", "-c", count, "first"]},
                long={"command": ["sh", "-c", f"{count} : >started; {wait}", "long"], "after": ["first"]},
                short={"command": ["sh", "-c", f"{count} exit 0", "short"], "after": ["first"]},
                last={"command": ["sh", "-c", count, "last"], "after": ["long", "short"]},
            )
            process = self.begin(jobtracker, "steps.py", "plan.json")
            self.wait_for("started")
            process.send_signal(how)
            process.communicate(timeout=20)
            self.assertNotEqual(process.returncode, 0)
            self.assertEqual(jobtracker.only.state, "RUNNING")
            self.write("go", "")
            code, out, err = self.run_example(jobtracker, "steps.py", "--resume", jobtracker.only.id)
            self.assertEqual(code, 0, err + out)
            ran = self.lines("ran.txt")
            self.assertEqual(sorted(ran), ["first", "last", "long", "short"])
            self.assertEqual((ran[0], ran[-1]), ("first", "last"))
            self.assertEqual(jobtracker.only.attempt, 2)
            # Once more: it has ended.
            self.assertEqual(self.run_example(jobtracker, "steps.py", "--resume", jobtracker.only.id)[0], 0)

    def test_a_submission_that_was_interrupted_is_finished(self):
        jobtracker = self.start(keys=KEYS, works=True)
        self.plan(only={"command": ["true"]})
        self.run_example(jobtracker, "steps.py", "plan.json")
        name = f"{jobtracker.only.id}.json"
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            state = json.load(file)
        state.update(secret=None, steps={})
        self.write(name, json.dumps(state))
        code, _, err = self.run_example(jobtracker, "steps.py", "--resume", jobtracker.only.id)
        self.assertEqual((code, "application-over" in err), (2, True))
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["secret"], jobtracker.only.secret)

    def test_failed_steps_stop_what_depends_on_them(self):
        jobtracker = self.start(works=True)
        self.plan(
            bad={"command": ["sh", "-c", "echo x >>tries.txt; exit 4"], "max-attempts": 3},
            good={"command": ["touch", "good"]},
            never={"command": ["touch", "never"], "after": ["bad"]},
        )
        code, out, _ = self.run_example(jobtracker, "steps.py", "plan.json")
        self.assertEqual(code, 1)
        self.assertEqual(len(self.lines("tries.txt")), 3)
        self.assertIn("FAILED: 1 of 3 steps succeeded\nnot succeeded: bad, never\n", out)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "good")))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "never")))
        self.assertEqual(jobtracker.only.final_status, "FAILED")

    def test_bad_plans(self):
        jobtracker = self.start()
        for steps, text in (
            ({}, "has no steps"),
            ({"a": {}}, "step a: no command"),
            ({"a": {"command": ["true"], "memroy": 5}}, "step a: unknown: memroy"),
            ({"a": {"command": ["true"], "after": ["b"]}}, "there is no step b"),
            (
                {"a": {"command": ["true"], "after": ["b"]}, "b": {"command": ["true"], "after": ["a"]}},
                "wait for each other: a, b",
            ),
        ):
            with self.assertRaisesRegex(ValueError, text):
                load("steps.py").Plan({"steps": steps}, "/")
        self.plan()
        code, _, err = self.run_example(jobtracker, "steps.py", "plan.json")
        self.assertEqual((code, err), (2, "steps.py: the plan has no steps\n"))


if __name__ == "__main__":
    unittest.main()
