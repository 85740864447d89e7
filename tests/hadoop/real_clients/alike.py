#!/usr/bin/env python3
"""alike.py FOLDER FAILED JOBTRACKER... -- PROGRAM...

Counts the checks of each program (FOLDER/JOBTRACKER/PROGRAM/checks), and compares the files that it left under the first JobTracker with those
under the others. RULES name what may differ, and why. Prints a line a program, every check that failed and every other difference, and how many
lines each rule changed. The last line is `N passed, N failed`, FAILED counted in; 1 when any failed.
"""

import collections
import difflib
import fnmatch
import itertools
import pathlib
import re
import sys

# Not compared: for the reader.
NOT_COMPARED = {"checks", "seconds", "cluster"}
# Lines of a difference that are shown.
SHOWN = 30

COUNTERS_OF_TIME_AND_MEMORY = (
    r"CPU time spent \(ms\)|Physical memory \(bytes\) snapshot|Virtual memory \(bytes\) snapshot|Total committed heap usage \(bytes\)"
    r"|SLOTS_MILLIS_\w+|Total time spent by all (?:maps|reduces) waiting after reserving slots \(ms\)"
)
# A time as clients print it, or put it into a name.
TIME = r"(?<!\d)\d{4}-\d\d-\d\d[ _T]\d\d[:-]\d\d(?:[:-]\d\d(?:[,._]\d+)?)?(?!\d)"

# What may differ and why; the files PROGRAM/NAME; a pattern; what stands instead, or None: the line is left out.
RULES = [
    # Names and numbers of one run.
    ("the folder of the cluster", "*", r"/tmp/jobtracker-live\.\w+", "CLUSTER"),
    ("ids have the minute of the start, and jobs side by side get theirs by chance", "*", r"\b(job|task|attempt)_\d{12}_\d{4,}", r"\1_ID"),
    ("free ports", "*", r"\b(127\.0\.0\.1|localhost|worker-\d)(:|%3A)\d{4,5}\b", r"\1\2PORT"),
    ("times", "*", TIME, "TIME"),
    ("times", "*", r"(?<=job_ID_)\d{13}(?=_)", "TIME"),
    ("random names of files", "*", r"(?<![A-Za-z])(Job|streamjob|pig_|luigitemp|hadoop_job_|tmp)-?[0-9a-f]{5,}", r"\1RANDOM"),
    ("random names of files", "hive/*", r"_\d{15,}-1\b", "_RANDOM-1"),
    ("random names of files", "mrjob/*", r"\b(mrjob_\w+\.\w+)\.\d{8}\.\d{6}\.\d{6}", r"\1.TIME"),
    ("random names of files", "luigi/*", r"/tmp[a-z0-9_]{8}\b", "/RANDOM"),
    ("paths of Pig's own files have random names, some longer than others", "pig/jobs", r"SPLIT_RAW_BYTES = \d+", "SPLIT_RAW_BYTES = N"),
    ("ids of processes", "luigi/*", r"\b(salt|pid|host)[= ]\w+", r"\1=N"),
    ("luigi picks an attempt by random", "luigi/fails.stderr", r"(attempt_ID_m_000000)_[01]", r"\1_N"),
    ("a folder is removed when its object is collected", "luigi/*", r"^DEBUG: Removing directory ", None),
    ("packages are in the order of a set", "luigi/*", r"^DEBUG: adding to tar: ", None),
    ("which worker gets an attempt is chance", "*", r"\bworker-[12]\b", "worker-N"),
    ("mrjob reads the logs of one worker first", "mrjob/fails.stderr", r"^Looking for task syslogs in |^  Parsing task log: ", None),
    ("mrjob reads the logs of one worker first", "mrjob/fails.stderr", r"(attempt_ID_m_000000)_[01]", r"\1_N"),
    ("Hive's splits name one host of several, which tracker asks first is chance", "hive/jobs", r"(?:Data|Rack)-local map tasks = ", None),
    # Differences of the JobTrackers: docs/differences.md.
    ("Java's host of a job's page is that of mapred.job.tracker", "hive/*", r"http://(?:localhost|127\.0\.0\.1)(:PORT/jobdetails.jsp)", r"http://HOST\1"),
    ("errors carry a Java stack trace of the JobTracker", "hive/unknown_queue.stderr", r"^\tat |^\t\.\.\. \d+ more|^Caused by: |^$|^\)'$", None),
    ("errors carry a Java stack trace of the JobTracker", "hive/unknown_queue.stderr", r"(does not exist)\)'$", r"\1"),
    ("histories have lines of their own order, and job.xml as it was submitted", "*/files", r" +\d+( TIME \S+/_logs/history/)", r" N\1"),
    ("an apostrophe has two names", "nmap/*", "&apos;", "&#39;"),
    ("Java's list of histories has a name as it was cut for that of the file", "nmap/*", r"(User: \w+ \(.{40}).*", r"\1"),
    ("there is no Java class of the log", "daemonlog/*", r"^Log Class: .*", "Log Class: CLASS"),
    ("an unknown level is refused, not DEBUG", "daemonlog/unknown.*", r"^(?:Bad level : |Setting Level to )LOUD.*|^Effective level: \w+", "LOUD"),
    # Progress as often as the client happens to ask.
    ("progress", "*", r"\bmap \d+%  ?reduce \d+%|Stage-\d+ map = \d+%|MapReduceLauncher - \d+% complete", None),
    ("progress", "hive/waits.stderr", r"^Hadoop job information for ", None),
    # Time and memory of processes.
    ("Hive has counters of rows and of time under one kind of name", "hive/jobs", r"Operator\$ProgressCounter: C\d+ = ", None),
    ("counters of time and memory", "*", rf"(?:counter [^:]*: |JobClient:     |^\t+)(?:{COUNTERS_OF_TIME_AND_MEMORY})\s*=", None),
    (
        "FILE_BYTES_ hold the copy of job.xml that each task writes, with paths and a start time of its own",
        "*",
        r"(FILE_BYTES_(?:READ|WRITTEN) ?= ?)\d+",
        r"\1N",
    ),
    (
        "how long it took",
        "hive/*",
        r"(Time taken: |Time Taken: |Cumulative CPU: |CPU time: |CPU Time Spent: )[\d.]+ (?:seconds [\d.]+ msec|seconds|msec|sec)",
        r"\1T",
    ),
    ("how long it took", "hive/*", r"   Cumulative CPU: T", ""),
    ("how long it took", "pig/*.stderr", r"^(job_ID\t\d+\t\d+)(?:\t(?:\d+|n/a)){8}", r"\1\tTIMES"),
    ("times", "nmap/*", r"(scan initiated |Nmap done at |Started: )\w{3} \w{3} +\d+ [\d:]+ (?:UTC )?\d{4}|(Identifier: )\d{12}", r"\1\2TIME"),
    ("free ports", "nmap/*", r"-p \d{5}|^\d{5}/tcp", "PORT"),
    ("how long it took", "nmap/*", r"(Host is up \(|scanned in )[\d.]+ ?s(?:econds)?", r"\1T"),
]
# Files whose lines may come in any order: two jobs run side by side.
UNORDERED = {"pig/goes_on.stderr", "pig/stops.stderr"}
# Lines in the order of a hash table; which counter is in which group is compared by the files `jobs`.
UNORDERED_LINES = re.compile(r"^\tLoading partition |JobClient:   +\S")


def masked(name, text, needed):
    rules = [(why, re.compile(pattern), instead) for why, files, pattern, instead in RULES if fnmatch.fnmatch(name, files)]
    lines = []
    for line in text.splitlines():
        for why, pattern, instead in rules:
            changed = None if instead is None and pattern.search(line) else pattern.sub(instead or "", line) if instead is not None else line
            needed[why] += changed != line
            line = changed
            if line is None:
                break
        if line is not None:
            lines.append(line)
    if name in UNORDERED:
        return sorted(lines)
    runs = itertools.groupby(lines, lambda line: bool(UNORDERED_LINES.search(line)))
    lines = [line for is_unordered, run in runs for line in (sorted(run) if is_unordered else run)]
    # Jobs are in the order of their names, some of which are random.
    return [line for block in sorted("\n".join(lines).split("\n\n")) for line in [*block.split("\n"), ""]] if name.endswith("/jobs") else lines


def files_of(folder):
    return sorted(path.name for path in folder.iterdir() if path.name not in NOT_COMPARED)


def read(path):
    return path.read_text("utf-8", "replace")


def differences(first, other, needed):
    """Yields a name and the lines that differ, for each file of either."""
    names = sorted({*files_of(first), *files_of(other)})
    for name in names:
        if not (first / name).exists() or not (other / name).exists():
            yield name, [f"only under {(first if (first / name).exists() else other).parent.name}"]
            continue
        sides = [masked(f"{first.name}/{name}", read(folder / name), needed) for folder in (first, other)]
        yield name, [line for line in difflib.unified_diff(*sides, first.parent.name, other.parent.name, lineterm="", n=1)]


def main(arguments):
    folder, failed, *rest = arguments
    at = rest.index("--")
    jobtrackers, programs = rest[:at], rest[at + 1 :]
    passed, failed = 0, int(failed)
    needed = collections.Counter()
    for program in programs:
        places = [pathlib.Path(folder) / jobtracker / program for jobtracker in jobtrackers]
        said = []
        for place in places:
            checks = read(place / "checks").splitlines()
            bad = [check for check in checks if not check.startswith("ok ")]
            passed += len(checks) - len(bad)
            failed += len(bad)
            said.append(f"{place.parent.name} {len(checks) - len(bad)} of {len(checks)} checks in {read(place / 'seconds').strip()} s")
            for check in bad:
                print(f"{program}: under {place.parent.name}: {check}")
        alike = differing = 0
        for other in places[1:]:
            for name, lines in differences(places[0], other, needed):
                if lines:
                    differing += 1
                    print(f"{program}: {name} DIFFERS", *lines[:SHOWN], *(["..."] if len(lines) > SHOWN else []), sep="\n  ")
                else:
                    alike += 1
        passed += alike
        failed += differing
        print(f"{program} ... {', '.join(said)}; {alike} files alike, {differing} differ")
    for why in dict.fromkeys(rule[0] for rule in RULES):
        if needed[why]:
            print(f"  masked: {why}: {needed[why]} lines")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
