"""A streaming mapper: one line WORD<tab>1 for each word."""

import sys

for line in sys.stdin:
    for word in line.split():
        print(f"{word}\t1")
