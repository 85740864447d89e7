#!/usr/bin/env python3
"""fifty_containers.py --server HOST:PORT --folder FOLDER [--user NAME] [--local FOLDER] [--groups FOLDER] [--at-once N]

Fifty containers of one application, each with an end of its own: files written, every kind of exit status, files brought with checksums
right and wrong, floods of output, kills, releases, and processes that leave their session. What each wrote, how it ended and what is left is
compared with what must be.

FOLDER is where the containers write; their user must own it. `--user` is who asks, in place of who runs this. `--local` is the worker's
folder of containers, `--groups` the control group that was delegated to the worker: what is left there is looked at where they are given.
`--at-once` is for slow machines: so many start at a time. The worker has `jobtracker.containers.log.limit.kb` 16, and room for fifty of the
smallest containers. Who runs it sees all processes of the machine. Ends with a line `N passed, N failed`.
"""

import argparse
import hashlib
import io
import pathlib
import sys
import tarfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from jobtracker_apps import Capability, Client, Content, LaunchContext, LocalFile, Session  # noqa: E402
from real_processes import expect, is_alive, print_counts, processes_of, wait_for  # noqa: E402

LIMIT_S = 100
LOG_LIMIT = 16 << 10
CUT = b"\n[cut at the limit of a log, jobtracker.containers.log.limit.kb = 16]\n"
# Takes this much more than the container may have.
OVER_MB = 64
# A process that nothing but KILL ends, in a session of its own; its number is in the file that follows.
LEFT = "sh -c 'trap \"\" TERM HUP INT; echo $$ >\"$0.part\"; mv \"$0.part\" \"$0\"; while :; do sleep 0.05; done' "

arguments = argparse.ArgumentParser()
arguments.add_argument("--server", required=True)
arguments.add_argument("--folder", required=True, type=pathlib.Path)
arguments.add_argument("--user")
arguments.add_argument("--local", type=pathlib.Path)
arguments.add_argument("--groups", type=pathlib.Path)
arguments.add_argument("--at-once", type=int, default=50)
options = arguments.parse_args()
folder = options.folder.resolve()

def text_of(number):
    """What container `number` writes, and anybody can work out."""
    return "".join(f"{line * number}\n" for line in range(1, 1001))


def writes(number, place):
    return f"i=1; while [ $i -le 1000 ]; do echo $((i * {number})); i=$((i + 1)); done{place}"


def shell(script, **members):
    return LaunchContext(["sh", "-c", script], **members)


def file_of(name, content, mode=0o644):
    path = folder / name
    path.write_bytes(content)
    path.chmod(mode)
    return path


def archive_of(name, *entries):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for entry, content in entries:
            about = tarfile.TarInfo(entry)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return LocalFile.of(file_of(name, packed.getvalue()), archive=True)


def changed(file, **members):
    return LocalFile(**{**vars(file), **members})


class Case:
    """What a container runs, and how it must end."""

    def __init__(self, context, status, says="", stdout=None, written=None, **how):
        self.context = context
        self.status = status
        #: Part of its diagnostics.
        self.says = says
        #: Its whole log.
        self.stdout = stdout
        #: A file and its content.
        self.written = written
        #: `kill`: GRACEFUL or FORCEFUL once this file is there; `release` likewise; `item`; `left`: files with numbers of processes.
        self.how = how
        self.id = ""


def cases():
    memory_mb = capability.memory
    # 1 to 18 write files: by a path, as their output, and in a folder that they enter.
    for number in range(1, 7):
        path = folder / f"out-{number}"
        yield Case(shell(writes(number, f" >{path}")), 0, written=(path, text_of(number)), stdout="")
    for number in range(7, 13):
        path = folder / f"out-{number}"
        yield Case(shell(writes(number, ""), stdout=str(path)), 0, written=(path, text_of(number)))
    for number in range(13, 17):
        path = folder / f"out-{number}"
        context = shell(writes(number, ""), working_directory=str(folder), stdout=path.name)
        yield Case(context, 0, written=(path, text_of(number)))
    yield Case(shell(writes(17, "")), 0, stdout=text_of(17))
    yield Case(shell("echo lost; echo seen >&2", stdout=None), 0, stdout="", stderr="seen\n")
    # 19 to 30: exit codes, and signals that nobody here sent.
    for code in (1, 2, 3, 42, 126, 127, 137, 255):
        yield Case(shell(f"exit {code}"), code, says=f"exit code {code}")
    for name, number in (("TERM", 15), ("KILL", 9), ("SEGV", 11), ("ABRT", 6)):
        yield Case(shell(f"kill -{name} $$"), 128 + number, says=f"died of signal {number} {name}")
    # Over its time: what obeys TERM, and what does not.
    yield Case(shell("exec sleep 1000", time_limit_ms=200), -200, says="time-limit-ms of 200")
    stubborn = shell("trap '' TERM; while :; do sleep 0.05; done", time_limit_ms=200, kill_grace_ms=100)
    yield Case(stubborn, -200, says="time-limit-ms of 200")
    # Over its memory: itself, and by a process in a session of its own.
    dd = f"dd if=/dev/zero of=/dev/null bs={memory_mb + OVER_MB}M count=1000000"
    yield Case(shell(f"exec {dd}"), -104, says=f"more than its {memory_mb} MB")
    yield Case(shell(f"setsid {dd} & wait; exec sleep 1000"), -104, says=f"more than its {memory_mb} MB")
    # Floods of output.
    flood = "dd if=/dev/zero bs=1024 count=1024 2>/dev/null | tr '\\0' x"
    yield Case(shell(flood), 0, stdout="x" * (LOG_LIMIT - len(CUT)) + CUT.decode())
    yield Case(shell(f"{flood}; exec sleep 1000", kill_on_log_overflow=True), -109, says="more than 16 kB into a log")
    # Files that are the ones meant.
    program = LocalFile.of(file_of("program", b"#!/bin/sh\ncat data sub/data; test ! -w data || id -u\n", 0o755))
    given = {"program": program, "data": Content(b"data\n"), "sub/data": Content(b"below\n")}
    yield Case(LaunchContext(["./program"], local_resources=given), 0, starts="data\nbelow\n")
    packed = archive_of("good.tar.gz", ("a/b", b"packed\n"))
    yield Case(shell("cat all.tar.gz/a/b", local_resources={"all.tar.gz": packed}), 0, stdout="packed\n")
    lines = {"lines": Content("one\ntwo three\n".encode())}
    context = LaunchContext(["echo", "<{}>"], local_resources=lines, values_from="lines")
    yield Case(context, 0, stdout="<two three>\n", item=2)
    # Those that are not: nothing starts.
    for bad, says in (
        (changed(program, sha256="0" * 64), program.sha256),
        (changed(program, size=program.size + 1), f"has {program.size} bytes"),
        (changed(program, resource=(folder / "missing").as_uri()), "missing"),
    ):
        context = shell(f"touch {folder}/started", local_resources={"program": bad})
        yield Case(context, -1000, says=says)
    leading_out = archive_of("bad.tar.gz", ("../escaped", b"out\n"))
    yield Case(shell("true", local_resources={"all.tgz": leading_out}), -1000, says="escaped")
    yield Case(LaunchContext(["./no-such-program"]), -1000, says="no-such-program")
    yield Case(shell("true", working_directory=f"{folder}/no-such-folder"), -1000, says="no-such-folder")
    # Killed by their owner, released; each leaves a process in a session of its own.
    stays = f"setsid {LEFT} {folder}/left-%s & trap 'exit 9' TERM; while :; do sleep 0.05; done"
    yield Case(shell(stays % "a"), -105, kill="GRACEFUL", left=["left-a"])
    yield Case(shell(stays % "b", kill_grace_ms=600_000), -105, kill="FORCEFUL", left=["left-b"])
    yield Case(shell(stays % "c"), -100, says="released", release=True, left=["left-c"])
    # Ends by itself, and leaves two behind: one has forgotten even its environment.
    until = "while [ ! -e %s ]; do sleep 0.01; done; " * 2 % (folder / "left-d", folder / "left-e")
    leaves = f"setsid {LEFT} {folder}/left-d & setsid env -i PATH=$PATH {LEFT} {folder}/left-e & {until}"
    yield Case(shell(f"{leaves} exit 4"), 4, left=["left-d", "left-e"])
    yield Case(shell("exec env"), 0, contains=f"JOBTRACKER_MEMORY_MB={memory_mb}\n", lacks="HADOOP_KEY")


class Run:
    """The conversation of the application."""

    def __init__(self):
        self.session = Session.submit(client, "fifty")
        self.session.register()
        self.granted = []
        self.ended = {}

    def call(self, **members):
        answer = self.session.allocate(members, wait_ms=10_000)
        self.granted += [container["container-id"] for container in answer["allocated-containers"]]
        for status in answer["completed-container-statuses"]:
            first = self.ended.setdefault(status["container-id"], status) is status
            expect("each end is reported once", first, status)
        expect("nothing is unknown", not answer["unknown-launches"] + answer["unknown-releases"], answer)

    def call_until(self, holds):
        end = time.monotonic() + LIMIT_S
        while not holds():
            if time.monotonic() > end:
                sys.exit(f"not within {LIMIT_S} s; ended: {self.ended}")
            self.call()


def is_there(name):
    return lambda: (folder / name).exists()


def left_in(place):
    return [path.name for path in place.glob("container_*")]


def look_at_group(case):
    """What the kernel keeps a container to."""
    group = options.groups / case.id
    for name, expected in (
        ("memory.max", str(capability.memory << 20)),
        ("memory.oom.group", "1"),
        ("pids.max", "4096"),
        ("cpu.weight", "100"),
    ):
        found = (group / name).read_text().strip() if (group / name).exists() else "missing"
        expect(f"{name} of a container", found == expected, found)
    swap = group / "memory.swap.max"
    expect("memory.swap.max of a container", not swap.exists() or swap.read_text().strip() == "0")
    processes = (group / "cgroup.procs").read_text().split()
    expect("its processes are in its group", (folder / "left-a").read_text().strip() in processes, processes)


def look_at(case, client, run):
    report = client.container(case.id)
    text = f"container {case.id} ({case.context.command})"
    status = run.ended[case.id]
    expect(text, (status["exit-status"], report["exitStatus"]) == (case.status, case.status), status)
    expect(f"{text}: state", report["state"] == "COMPLETE", report)
    expect(f"{text}: says", case.says in status["diagnostics"], status)
    expect(f"{text}: both say the same", status["diagnostics"] == report["diagnostics"], report)
    expect(f"{text}: ran", (report["startedTime"] > 0) == (case.status != -1000), report)
    if case.written:
        path, content = case.written
        digests = [hashlib.sha256(found).hexdigest() for found in (path.read_bytes(), content.encode())]
        expect(f"{text}: writes {path.name}", digests[0] == digests[1])
    log = client.log(case.id).decode()
    expected = case.stdout
    expect(f"{text}: its log", expected is None or log == expected, f"{len(log)}: {log[:200]}")
    expect(f"{text}: its log", log.startswith(case.how.get("starts", "")), log)
    expect(f"{text}: its log", case.how.get("contains", "") in log and (case.how.get("lacks") or "\0") not in log, log)
    if "stderr" in case.how:
        expect(f"{text}: its errors", client.log(case.id, "stderr").decode() == case.how["stderr"])
    for name in case.how.get("left", []):
        expect(f"{text}: {name} is gone", not is_alive((folder / name).read_text().strip()))


began = time.monotonic()
client = Client.find(options.server, options.user)
capability = Capability.from_json(client.info()["minimum"])
wanted = list(cases())
expect("fifty containers", len(wanted) == 50, len(wanted))
run = Run()
row = {"priority": 1, "resource-name": "*", "capability": capability.to_json()}
# One more, which is given back unused.
run.call(ask=[{**row, "num-containers": len(wanted) + 1}])
run.call_until(lambda: len(run.granted) > len(wanted))
expect("as many as were asked for", len(run.granted) == len(wanted) + 1)
unused = run.granted[-1]
for case, container in zip(wanted, run.granted):
    case.id = container
of_item = next(case for case in wanted if "item" in case.how)
launches = [
    {"container-id": case.id, "context": case.context.to_json()} if case is not of_item else
    {"container-id": case.id, "spec": "item", "item": case.how["item"]}
    for case in wanted
]
run.call(release=[unused], specs={"item": of_item.context.to_json()})
for first in range(0, len(wanted), options.at_once):
    run.call(launch=launches[first : first + options.at_once])
    started = [case for case in wanted[first : first + options.at_once] if not case.how.keys() & {"kill", "release"}]
    if len(launches) > options.at_once:
        run.call_until(lambda started=started: all(case.id in run.ended for case in started))
for case in wanted:
    if "kill" in case.how or "release" in case.how:
        wait_for(f"begin of {case.how}", is_there(case.how["left"][0]), LIMIT_S)
        if options.groups and case.how.get("kill") == "GRACEFUL":
            look_at_group(case)
        if "release" in case.how:
            run.call(release=[case.id])
        else:
            client.shut_down_container(case.id, forceful=case.how["kill"] == "FORCEFUL")
run.call_until(lambda: len(run.ended) > len(wanted))
ran_s = time.monotonic() - began
expect("one that is given back unused", run.ended[unused]["exit-status"] == -100, run.ended[unused])
for case in wanted:
    look_at(case, client, run)
expect("nothing that was refused has started", not (folder / "started").exists() and not list(folder.glob("**/escaped")))
application = run.session.application_id
expect("all are listed", len(list(client.containers(application, states=["COMPLETE"]))) == len(wanted) + 1)
report = client.application(application)
failed = sum(case.status not in (0, -100, -105) for case in wanted)
counted = [report[name] for name in ("completedContainers", "failedContainers", "runningContainers")]
expect("the application counts them", counted == [len(wanted) + 1, failed, 0], counted)
expect("it ends", run.session.unregister() == "FINISHED")
expect("no process of it is left", not processes_of(application), processes_of(application))
for place in filter(None, (options.local, options.groups)):
    expect(f"{place} is there", place.is_dir())
    wait_for(f"end of all in {place}", lambda place=place: not left_in(place), LIMIT_S)
print(f"fifty containers in {ran_s:.1f} s, {time.monotonic() - began:.1f} s with all looks")
sys.exit(print_counts())
