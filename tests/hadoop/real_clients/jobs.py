#!/usr/bin/env python3
"""jobs.py HOST:PORT EARLIER

Prints what a JobTracker says of each ended job but for the ids in EARLIER, one a block: name, state, numbers of tasks and attempts, counters.
The blocks are in the order of their texts, since jobs that may run side by side get their ids by chance.
"""

import json
import sys
import urllib.request


def answer(server, path):
    with urllib.request.urlopen(f"http://{server}{path}", timeout=30) as response:
        return json.load(response)


def value_of(known, name):
    counters = [counter for group in known["jobCounterGroupsInfo"] or [] for counter in group["jobCountersInfo"]]
    return next((counter["totalValue"] for counter in counters if counter["name"] == name), None)


def of_job(server, job):
    known = answer(server, f"/jobdetails.jsp?format=json&jobid={job}")
    meta = known["metaInfo"]
    lines = [f"job {meta['jobName']}", *(f"  {name}: {meta[name]}" for name in ("userName", "jobStatus", "jobSetupStatus", "jobCleanupStatus"))]
    for kind in ("mapTaskSummary", "reduceTaskSummary"):
        stats = known[kind]["taskStats"]
        lines.append(f"  {kind}: " + ", ".join(f"{name} {stats[name]}" for name in sorted(stats)))
    split_bytes = value_of(known, "SPLIT_RAW_BYTES")
    for group in sorted(known["jobCounterGroupsInfo"] or [], key=lambda group: group["groupName"]):
        for counter in sorted(group["jobCountersInfo"], key=lambda counter: counter["name"]):
            name, value = counter["name"], counter["totalValue"]
            # Splits are read from HDFS too, and hold names, some of them random.
            if name == "HDFS_BYTES_READ" and split_bytes is not None:
                name, value = f"{name} but for splits", value - split_bytes
            lines.append(f"  counter {group['groupName']}: {name} = {value}")
    return "\n".join(lines)


def main(server, earlier):
    lists = answer(server, "/jobtracker.jsp?format=json")
    ended = {job["jobId"] for name in ("completed", "failed") for job in lists[f"{name}JobsSummaryInfo"] or []}
    blocks = sorted(of_job(server, job) for job in ended - set(earlier.split()))
    print("\n\n".join(blocks) if blocks else "no job")


main(*sys.argv[1:])
