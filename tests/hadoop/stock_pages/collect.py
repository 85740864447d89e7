#!/usr/bin/env python3
"""collect.py HOST:PORT JOB RECORD

A collector: reads jobtracker.jsp, /jmx, /metrics?format=json and jobdetails.jsp of a JobTracker once a second, by the patterns of public
ones, and appends each sample to RECORD, a line of JSON, until it is killed.

collect.py judge RECORD SWAPS

Says which samples were missed and which numbers fell. SWAPS has lines `TO STOPPED_MS LISTENING_MS`: the JobTracker TO took over then. A
sample may be missed in between. A number may fall at a swap only: one that counts since a start of the daemon, and one of the job, which runs
again under another JobTracker, as after a restart of 1.2.1 itself (mapred.jobtracker.restart.recover).
"""

import json
import re
import sys
import time
import urllib.error
import urllib.request

PERIOD_S = 1.0
LIMIT_S = 0.9
CAUSES = (
    (re.compile(r"^(jmx|metrics) |^page Total Submissions"), "counts since the start of the daemon"),
    (re.compile(r"^job "), "the job runs again under another JobTracker"),
)
# What goes up and down.
LEVELS = re.compile(r"running|waiting|occupied|reserved|trackers|slots|Capacity|preparing|Pending|page (Running|Occupied|Reserved|Nodes)|blacklisted|mem|threads|logs?_", re.I)


def of_page(body):
    lines = body.splitlines()
    place = next(at for at, line in enumerate(lines) if "<th>Running Map Tasks" in line)
    heads = re.findall(r"<th>([^<]*)</th>", lines[place])
    cells = [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td>(.*?)</td>", lines[place + 1])]
    return {f"page {head}": float(cell) for head, cell in zip(heads, cells) if re.fullmatch(r"[\d.]+", cell)}


def of_jmx(body):
    found = {}
    for bean in json.loads(body)["beans"]:
        for name, value in bean.items():
            if name == "SummaryJson":
                found["jmx jobs"] = json.loads(value)["jobs"]
            elif isinstance(value, (int, float)) and "JobTrackerMetrics" in bean["name"]:
                found[f"jmx {name}"] = value
    return found


def of_metrics(body):
    [[_, metrics]] = json.loads(body)["mapred"]["jobtracker"]
    return {f"metrics {name}": value for name, value in metrics.items() if isinstance(value, (int, float))}


def of_job(body):
    found = {}
    for kind in ("map", "reduce"):
        row = re.search(rf">{kind}</a></th>.*?(?=<tr><th>|\n</table>)", body, re.S).group(0)
        numbers = re.findall(r"<td[^>]*>(?:<a[^>]*>)?(\d+)(?:</a>)?</td>", row)
        found[f"job {kind}s complete"] = int(numbers[3])
        found[f"job {kind}s total"] = int(numbers[0])
    for name in ("Launched map tasks", "Map input records", "FILE_BYTES_WRITTEN"):
        row = re.search(rf"<td>{name}</td>(.*?)</tr>", body, re.S)
        if row:
            found[f"job {name}"] = int(re.findall(r">([\d,]+)</td>", row.group(1))[-1].replace(",", ""))
    return found


def sources(job):
    return (
        ("/jobtracker.jsp", of_page),
        ("/jmx?qry=Hadoop:service=JobTracker,*", of_jmx),
        ("/metrics?format=json", of_metrics),
        (f"/jobdetails.jsp?jobid={job}", of_job),
    )


def sample(address, job):
    values, missed = {}, {}
    for target, read in sources(job):
        try:
            with urllib.request.urlopen(f"http://{address}{target}", timeout=LIMIT_S) as answer:
                values.update(read(answer.read().decode()))
        except urllib.error.HTTPError as error:
            missed[target] = f"HTTP {error.code}"
        except (OSError, ValueError, KeyError, IndexError, StopIteration, AttributeError) as error:
            missed[target] = f"{type(error).__name__}: {error}"
    return values, missed


def collect(address, job, record):
    with open(record, "a", encoding="utf-8") as lines:
        due = time.time()
        while True:
            begun = int(time.time() * 1000)
            values, missed = sample(address, job)
            lines.write(json.dumps({"begun_ms": begun, "ended_ms": int(time.time() * 1000), "values": values, "missed": missed}) + "\n")
            lines.flush()
            due += PERIOD_S
            time.sleep(max(0, due - time.time()))


def judge(record, swaps):
    samples = [json.loads(line) for line in open(record, encoding="utf-8")]
    gaps = [(to, int(stopped), int(listening)) for to, stopped, listening in (line.split() for line in open(swaps, encoding="utf-8"))]
    for to, stopped, listening in gaps:
        print(f"{to} takes over: nobody listens for {listening - stopped} ms")
    missed_outside, missed_inside, latest, fallen, bad = 0, 0, {}, [], 0
    for taken in samples:
        over = [to for to, _, listening in gaps if taken["ended_ms"] > listening]
        now_ruling = over[-1] if over else "java"
        in_gap = any(taken["begun_ms"] <= listening and taken["ended_ms"] >= stopped for _, stopped, listening in gaps)
        for target, why in taken["missed"].items():
            # 1.2.1 has no such address.
            if target.startswith("/metrics") and why == "HTTP 404" and now_ruling == "java":
                continue
            if in_gap:
                missed_inside += 1
            else:
                missed_outside += 1
                print(f"missed under {now_ruling}: {target}: {why}")
        for name, value in taken["values"].items():
            before, by = latest.get(name, (value, now_ruling))
            if value < before and not LEVELS.search(name):
                at_swap = by != now_ruling
                causes = [why for pattern, why in CAUSES if at_swap and pattern.match(name)]
                bad += not causes
                fallen.append((name, before, value, by, now_ruling, causes[0] if causes else "WITHOUT CAUSE"))
            latest[name] = (value, now_ruling)
    for name, before, value, by, now_ruling, why in fallen:
        print(f"fell: {name}: {before:g} under {by}, {value:g} under {now_ruling}: {why}")
    print(f"{len(samples)} samples, {len(latest)} numbers; {missed_inside} answers missed while nobody listened")
    print(f"{missed_outside} missed, {bad} fell without cause")
    return missed_outside == 0 and bad == 0


def main():
    if sys.argv[1] == "judge":
        sys.exit(0 if judge(sys.argv[2], sys.argv[3]) else 1)
    collect(*sys.argv[1:4])


main()
