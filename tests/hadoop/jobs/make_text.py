"""make_text.py MB FILE: writes lines of ten words, few of which are frequent and many rare, as in a language. After 16 MB it begins again."""

import itertools
import random
import sys

BLOCK_BYTES = 16 << 20
LETTERS = "etaoinshrdlcumwfgypbvk"


def block():
    chance = random.Random(1)
    words = ["".join(chance.choice(LETTERS) for _ in range(chance.randint(2, 9))) for _ in range(50_000)]
    weights = list(itertools.accumulate(1 / (rank + 2) for rank in range(len(words))))
    lines, size = [], 0
    while size < BLOCK_BYTES:
        line = " ".join(chance.choices(words, cum_weights=weights, k=10)) + "\n"
        lines.append(line)
        size += len(line)
    return "".join(lines).encode()


left, text = int(sys.argv[1]) * 1_000_000, block() if sys.argv[1] != "0" else b""
with open(sys.argv[2], "wb") as file:
    while left > 0:
        file.write(text[:left])
        left -= len(text)
