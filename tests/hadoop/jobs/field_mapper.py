"""A streaming mapper: one line INITIAL<tab>LENGTH<tab>1 for each word, of which the first two fields are the key."""

import sys

for line in sys.stdin:
    for word in line.split():
        print(f"{word[0]}\t{len(word)}\t1")
