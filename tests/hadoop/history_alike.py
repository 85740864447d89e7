#!/usr/bin/env python3
"""history_alike.py FOLDER JOBTRACKER... -- JOB...: compares what was said of the same jobs' histories under each JobTracker.

Left out: times, ids, ports and hosts, counters of time, memory and files, in what order lines of one kind stand, which hangs on times and on
hash tables, and of a killed job the attempts after the first: one that ran at the kill ends before the job or after it, and then is in no
history, under either JobTracker. Prints a line for each file that differs, and `N agree, N differ`.
"""

import difflib
import json
import re
import sys
from pathlib import Path

VOLATILE_COUNTERS = re.compile(
    r"CPU time|memory|heap usage|snapshot|SLOTS_MILLIS|waiting after reserving|FILE_BYTES|_MS\)|\(ms\)|SPLIT_RAW_BYTES|Bytes Read"
)


def plain(text: str, cluster: str) -> str:
    """Without what differs from run to run."""
    text = text.replace(cluster, "CLUSTER")
    text = re.sub(r"(job|task|attempt)_2\d{11}_", r"\1_START_", text)
    text = re.sub(r"\d{1,2}-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d( \([^)]*\))?", "TIME", text)
    text = re.sub(r"worker-\d", "worker", text)
    text = re.sub(r"(worker|localhost|127\.0\.0\.1):\d+", r"\1:PORT", text)
    text = re.sub(r"(?<!\d)1\d{12}(?!\d)", "MS", text)
    text = re.sub(r"\b(\d+hrs, )?(\d+mins, )?\d+sec\b", "DURATION", text)
    return text


# Of a killed job: an attempt after the first, and the row that sums them up.
MAY_BE_MISSING = re.compile(r"attempt_START_\d+_[mr]_\d+_[1-9]|(Map|Reduce)\t\d+\t\d+\t")


def history(path: Path, cluster: str, is_killed: bool) -> list[str]:
    """Lines of `job -history`, those of one table in order."""
    lines = []
    for line in plain(path.read_text(), cluster).splitlines():
        if line.startswith("job tracker start time:"):
            # It is the number in the id of the job, read as a time.
            line = "job tracker start time: TIME"
        if line.startswith("|"):
            group, name, *values = [cell.strip() for cell in line.strip("|").split("|")]
            line = " | ".join([group, name, "SOME" if VOLATILE_COUNTERS.search(name) else " | ".join(values)])
        # Which task was best or last is a matter of times.
        line = re.sub(r"(best performing \w+ task|The last \w+ task) task_\S+", r"\1 TASK", line)
        if re.match(r"task_START_\S+ DURATION$", line):
            line = "TASK DURATION"
        # The last text of a child that dies comes or does not, under either JobTracker; the address of its log stands behind it.
        line = re.sub(r"java\.lang\.RuntimeException: PipeMapRed.*|http://worker:PORT/tasklog\S*", "", line).rstrip()
        if re.match(r"worker\ttask_", line):
            # Which of the trackers ran it is a matter of chance.
            lines.extend(f"worker {task}" for task in re.findall(r"task_\w+", line))
        elif line and not line.startswith("\tat ") and not (is_killed and MAY_BE_MISSING.match(line)):
            lines.append(line)
    return sorted(lines)


def trace(path: Path, topology: Path, cluster: str) -> list[str]:
    """Jobs of a trace as text, one value a line; values of time and size are there or not."""
    decoder, text, jobs = json.JSONDecoder(), path.read_text(), []
    while text := text.lstrip():
        job, end = decoder.raw_decode(text)
        jobs.append(job)
        text = text[end:]
    lines = []
    # A failed job has no end here: TraceBuilder stumbles over the line about the task that failed it.
    for job in sorted(jobs, key=lambda job: job["jobID"] or ""):
        if job["outcome"] == "KILLED":
            for task in job["mapTasks"] + job["reduceTasks"]:
                del task["attempts"][1:]
        flatten(job, job["jobID"] or "", lines)
    lines.extend(sorted(plain(topology.read_text(), cluster).split()))
    return sorted(plain("\n".join(lines), cluster).splitlines())


UNCERTAIN = re.compile(
    r"Time$|Finished$|Millis|Ms$|Usage|Bytes|cpu|memory|Memory|jvm|vmem|phys|progress|Splits|CDF|rankings|\.number$|"
    r"javaOpts|heap|Heap|spilledRecords|relativeTime|datum"
)


def flatten(value: object, name: str, lines: list[str]) -> None:
    """Appends each value with the path to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if "CDF" in key or key in ("jobProperties", "resourceUsageMetrics"):
                # Made of times; made of the configuration; of the machine.
                continue
            flatten(inner, f"{name}.{key}", lines)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            flatten(inner, f"{name}[{number}]", lines)
    else:
        last = name.rsplit(".", 1)[-1]
        if UNCERTAIN.search(last) and isinstance(value, (int, float)) and not isinstance(value, bool):
            value = "none" if value in (-1, 0) else "SOME"
        lines.append(f"{name} = {value}")


def names(path: Path, cluster: str) -> list[str]:
    """Files of the done folder: modes, folders, names."""
    text = plain(path.read_text(), cluster)
    text = re.sub(r"version-1/[^/]+_(MS|\d+)_/\d{4}/\d\d/\d\d/", "version-1/HOST_START_/DAY/", text)
    return re.sub(r"(job_START_\d+)_(MS|\d+)_", r"\1_MS_", text).splitlines()


def main() -> int:
    folder = Path(sys.argv[1])
    split = sys.argv.index("--")
    jobtrackers, jobs = sys.argv[2:split], sys.argv[split + 1 :]
    agree = differ = 0
    if len(jobtrackers) < 2:
        print("nothing to compare")
        return 0

    def compare(what: str, read) -> None:
        nonlocal agree, differ
        first, *others = [read(folder / name, (folder / name / "cluster").read_text().strip()) for name in jobtrackers]
        for name, other in zip(jobtrackers[1:], others):
            difference = list(difflib.unified_diff(first, other, jobtrackers[0], name, lineterm="", n=0))
            if difference:
                differ += 1
                print(f"{what} differs:", *difference[:60], sep="\n    ")
            else:
                agree += 1
                print(f"{what} ... ok ({len(first)} lines)")

    compare("names and modes in the done folder", lambda at, cluster: names(at / "files", cluster))
    for job in jobs:
        compare(f"names of the copies of {job}", lambda at, cluster: names(at / f"{job}.copies", cluster))
        for suffix in ("history", "historyall"):
            compare(f"job -{suffix} of {job}", lambda at, cluster: history(at / f"{job}.{suffix}", cluster, job == "killed"))
    compare("the trace", lambda at, cluster: trace(at / "trace.json", at / "topology.json", cluster))
    print(f"{agree} agree, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
