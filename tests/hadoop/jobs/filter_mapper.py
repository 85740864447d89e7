"""A streaming mapper: words that are not in stop_words.txt, which is shipped with it. Tells what it dropped by a counter."""

import sys

with open("stop_words.txt", encoding="utf-8") as file:
    stop_words = set(file.read().split())

kept = dropped = 0
for line in sys.stdin:
    for word in line.split():
        if word in stop_words:
            dropped += 1
        else:
            kept += 1
            print(f"{word}\t1")
print("reporter:status:filtered", file=sys.stderr)
print(f"reporter:counter:Filter,Words kept,{kept}", file=sys.stderr)
print(f"reporter:counter:Filter,Words dropped,{dropped}", file=sys.stderr)
