"""measure_tree.py PID BEGUN STOP: makes the file BEGUN and, until the file STOP is there, looks at the process PID and all its descendants. Then prints in one line how much CPU time they took
meanwhile (s, those that ended included), the most memory they had at a time (MB of proportional set size) and the most processes."""

import os
import sys
import time

INTERVAL_S = 0.25
TICKS = os.sysconf("SC_CLK_TCK")


def stats():
    """By process: its parent and its CPU time with that of the children it has waited for."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            found[int(name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    return found


def tree(root):
    """The stats of the root and of all its descendants."""
    all_stats = stats()
    children = {}
    for pid, (parent, _) in all_stats.items():
        children.setdefault(parent, []).append(pid)
    found, open_pids = {}, [root]
    while open_pids:
        pid = open_pids.pop()
        if pid in all_stats:
            found[pid] = all_stats[pid]
            open_pids += children.get(pid, [])
    return found


def memory_kb(pid):
    """What is its own, and its part of what it shares."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("Pss:")), 0)
    except OSError:
        return 0


def main():
    root, begun, stop = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    before = sum(ticks for _, ticks in tree(root).values())
    with open(begun, "x", encoding="utf-8"):
        pass
    most_kb = most_processes = 0
    is_over = False
    while not is_over:
        is_over = os.path.exists(stop)
        pids = tree(root)
        most_kb = max(most_kb, sum(map(memory_kb, pids)))
        most_processes = max(most_processes, len(pids))
        time.sleep(0 if is_over else INTERVAL_S)
    after = sum(ticks for _, ticks in tree(root).values())
    print((after - before) / TICKS, most_kb // 1024, most_processes)


main()
