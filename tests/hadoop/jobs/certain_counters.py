"""certain_counters.py FILE PATH_LENGTH VAGUE [CERTAIN]: of the counters of a job, as `jobtracker job counters --json` prints them, those that the
job alone decides. The others, and those that match VAGUE, are left out; those that match CERTAIN, and not VAGUE, are kept; tests/hadoop/README.md says
why. PATH_LENGTH is that of the folder of the cluster: it is taken out of the size of the splits, which hold their paths; all of that size is taken out of
what is read of HDFS where it is vague."""

import json
import re
import sys

UNCERTAIN = re.compile("CPU time|Physical memory|Virtual memory|Total committed heap|SLOTS_MILLIS|waiting|local map tasks|FILE_BYTES_")

file, path_length, vague = sys.argv[1:4]
certain = sys.argv[4] if len(sys.argv) > 4 else ""
with open(file, encoding="utf-8") as opened:
    counters = json.load(opened)
maps = next(counter["value"] for counter in counters if counter["name"] == "Launched map tasks")
split_bytes = sum(counter["value"] for counter in counters if counter["name"] == "SPLIT_RAW_BYTES")
for counter in sorted(counters, key=lambda counter: (counter["group"], counter["name"])):
    group, name, value = counter["group"].strip(), counter["name"], counter["value"]
    if vague and re.search(vague, name):
        continue
    if UNCERTAIN.search(name) and not (certain and re.search(certain, name)):
        continue
    if name == "SPLIT_RAW_BYTES":
        value -= maps * int(path_length)
    if name == "HDFS_BYTES_READ" and vague and re.search(vague, "SPLIT_RAW_BYTES"):
        value -= split_bytes
    print(f"{group}: {name} = {value}")
