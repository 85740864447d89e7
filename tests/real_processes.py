"""For scripts that try real processes: verdicts and their counts, ports, configuration files, waits, and processes that end with the script."""

import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import time

counts = {True: 0, False: 0}


def verdict(text, holds, detail=""):
    """Counts and prints one thing that must hold."""
    counts[bool(holds)] += 1
    print(f"{text} ... {'ok' if holds else 'FAILED'}{f' ({detail})' if detail else ''}", flush=True)


def expect(text, holds, detail=""):
    """Counts one thing that must hold, and prints it if it does not."""
    counts[bool(holds)] += 1
    if not holds:
        print(f"WRONG: {text} ({detail})", flush=True)


def print_counts():
    """Prints the last line of a script; the exit code that it ends with."""
    print(f"{counts[True]} passed, {counts[False]} failed", flush=True)
    return 1 if counts[False] else 0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def configuration(keys):
    """The text of a Hadoop configuration file."""
    values = "".join(f"<property><name>{key}</name><value>{value}</value></property>" for key, value in keys.items())
    return f"<configuration>{values}</configuration>"


def rows_of(state, sql, values=()):
    """Rows of the state.db in a folder, which a daemon may have open."""
    database = sqlite3.connect(f"file:{state}/state.db?mode=ro", uri=True)
    try:
        return database.execute(sql, values).fetchall()
    finally:
        database.close()


def wait_for(what, probe, seconds=90):
    """What the probe finds once it finds something; the script ends where that takes too long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = probe()
        if found:
            return found
        time.sleep(0.05)
    raise SystemExit(f"no {what} within {seconds} s")


def start_process(log, *words):
    """A process in a session of its own, which writes to the end of a log."""
    with open(log, "ab") as file:
        return subprocess.Popen(list(map(str, words)), stdout=file, stderr=file, start_new_session=True)


def end_processes(processes):
    """Ends those that still run, the last one first; one that is stopped, too."""
    for process in reversed(processes):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGCONT)
            os.killpg(process.pid, signal.SIGTERM)
    for process in processes:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def processes_of(application):
    """Number and command line of each process whose environment names the application."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"JOBTRACKER_APPLICATION_ID={application}".encode() in (path / "environ").read_bytes() and is_alive(path.name):
                found.append((int(path.name), (path / "cmdline").read_bytes()))
        except OSError:
            continue
    return found
