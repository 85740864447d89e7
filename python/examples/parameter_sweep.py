#!/usr/bin/env python3
"""Runs a command once for each combination of parameters and prints a table of the results.

  parameter_sweep.py --set rate=0.1,0.01 --set depth=2,4,8 -- ./train --rate {rate} --depth {depth}

A result is the last line that the command prints. The command runs in the current directory, which the workers must find
under the same name, without a shell. `--csv FILE` writes the table to a file as well.

Exit codes: 0 all runs ended with 0, 1 some did not, 2 wrong usage or refused, 4 the server does not answer.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from jobtracker_apps import (  # noqa: E402
    ApplicationError,
    Capability,
    Client,
    LaunchContext,
    Session,
    Task,
    TaskMaster,
    TaskState,
    Unavailable,
    Unreachable,
)

DONE, SOME_FAILED, USAGE, UNREACHABLE = 0, 1, 2, 4
#: So much of the end of a log is read for the result.
TAIL_BYTES = 4096


class Sweep(TaskMaster):
    """A task for each combination."""

    def __init__(self, session: Session, tasks: list[Task]) -> None:
        super().__init__(session, tasks)
        self.results: dict[int, str] = {}

    def on_task_change(self, task: Task) -> None:
        if not task.state.is_final:
            return
        self.results[task.number] = self.last_line(task)
        print(f"[{self.ended}/{len(self.tasks)}] {task.name}: {outcome(task)}", file=sys.stderr, flush=True)

    def last_line(self, task: Task) -> str:
        """The last line of the log; of a command that failed, of its errors."""
        log = "stdout" if task.state is TaskState.SUCCEEDED else "stderr"
        try:
            text = self.session.client.log(task.container_id or "", log, start=-TAIL_BYTES).decode("utf-8", "replace")
        except ApplicationError:
            return ""
        lines = text.split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def outcome(task: Task) -> str:
    """How a run ended, in a word."""
    if task.state is TaskState.SUCCEEDED:
        return "ok"
    return f"exit {task.exit_status}" if (task.exit_status or 0) > 0 else task.diagnostics or f"exit {task.exit_status}"


def combinations(settings: list[str]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Names, and all combinations of their values, the last name fastest."""
    names, values = [], []
    for setting in settings:
        name, equals, texts = setting.partition("=")
        if not (name and equals and texts):
            raise ValueError(f"--set {setting}: expected NAME=VALUE,VALUE")
        names.append(name)
        values.append(texts.split(","))
    return names, list(itertools.product(*values))


def fill(command: list[str], pairs: dict[str, str]) -> list[str]:
    """The command with `{name}` replaced by values."""
    for name, value in pairs.items():
        command = [word.replace("{" + name + "}", value) for word in command]
    return command


def tasks_of(options: argparse.Namespace, names: list[str], rows: list[tuple[str, ...]]) -> list[Task]:
    tasks = []
    for number, values in enumerate(rows, start=1):
        pairs = dict(zip(names, values))
        context = LaunchContext(
            fill(options.command, pairs),
            environment={f"SWEEP_{name.upper()}": value for name, value in pairs.items() if name.isidentifier()},
            working_directory=os.getcwd(),
            time_limit_ms=options.time_limit and int(options.time_limit * 1000),
            placeholder=None,
        )
        name = " ".join(f"{name}={value}" for name, value in pairs.items())
        capability = Capability(options.memory, options.cores)
        tasks.append(Task(number, context, capability, max_attempts=options.max_attempts, name=name))
    return tasks


def table(sweep: Sweep, names: list[str], rows: list[tuple[str, ...]]) -> list[list[str]]:
    lines = [[*names, "outcome", "tries", "result"]]
    for number, values in enumerate(rows, start=1):
        task = sweep.tasks[number]
        tries = str(len(task.ended_containers))
        lines.append([*values, outcome(task), tries, sweep.results.get(number, "")])
    return lines


def print_table(lines: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())


def arguments() -> argparse.Namespace:
    about, _, details = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="parameter_sweep.py",
        usage="%(prog)s [options] --set NAME=VALUE,VALUE [--set ...] -- COMMAND",
        description=about,
        epilog=details,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--set", action="append", required=True, metavar="NAME=VALUE,VALUE", help="a parameter")
    parser.add_argument("--name", default="sweep", help="name of the application")
    parser.add_argument("--queue", help="its queue")
    parser.add_argument("--memory", type=int, default=512, metavar="MB", help="memory of a run (512)")
    parser.add_argument("--cores", type=int, default=1, help="cores of a run (1)")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="longest time of a run")
    parser.add_argument("--max-attempts", type=int, default=1, help="how often a run may fail (1)")
    parser.add_argument("--csv", metavar="FILE", help="write the table to a file")
    parser.add_argument("--server", help="HOST:PORT of the JobTracker's web address")
    parser.add_argument("--user", help="call as this user")
    parser.add_argument("--key-file", help="file with the secret key")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="program and arguments")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    try:
        names, rows = combinations(options.set)
        tasks = tasks_of(options, names, rows)
        client = Client.find(options.server, options.user, options.key_file)
        session = Session.submit(client, options.name, application_type="sweep", queue=options.queue)
        print(f"{session.application_id}: {len(tasks)} runs", file=sys.stderr, flush=True)
        sweep = Sweep(session, tasks)
        sweep.run()
    except (Unreachable, Unavailable) as error:
        print(f"parameter_sweep.py: {error}", file=sys.stderr)
        return UNREACHABLE
    except (ApplicationError, OSError, ValueError) as error:
        print(f"parameter_sweep.py: {error}", file=sys.stderr)
        return USAGE
    lines = table(sweep, names, rows)
    print_table(lines)
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(lines)
    return SOME_FAILED if sweep.failed else DONE


if __name__ == "__main__":
    sys.exit(main())
