"""certain_counters.py FILE PATH_LENGTH VAGUE: of the counters of a job, as `jobtracker job counters --json` prints them, those that the job alone
decides. The others, and those that match VAGUE, are left out; tests/hadoop/README.md tells why. PATH_LENGTH is that of the folder of the cluster: it is taken
out of the size of the splits, which hold their paths."""

import json
import re
import sys

UNCERTAIN = re.compile("CPU time|Physical memory|Virtual memory|Total committed heap|SLOTS_MILLIS|waiting|local map tasks|FILE_BYTES_")

file, path_length, vague = sys.argv[1:]
with open(file, encoding="utf-8") as opened:
    counters = json.load(opened)
maps = next(counter["value"] for counter in counters if counter["name"] == "Launched map tasks")
for counter in sorted(counters, key=lambda counter: (counter["group"], counter["name"])):
    group, name, value = counter["group"].strip(), counter["name"], counter["value"]
    if UNCERTAIN.search(name) or vague and re.search(vague, name):
        continue
    if name == "SPLIT_RAW_BYTES":
        value -= maps * int(path_length)
    print(f"{group}: {name} = {value}")
