"""A streaming reducer: adds the counts of equal words, which arrive one after the other."""

import itertools
import sys

rows = (line.rstrip("\n").split("\t") for line in sys.stdin)
for word, group in itertools.groupby(rows, key=lambda row: row[0]):
    print(f"{word}\t{sum(int(count) for _, count in group)}")
