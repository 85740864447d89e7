"""make_input.py KIND DIR: writes the small inputs of the example jobs, the same on every machine and Python version."""

import os
import sys

WORDS = "budget share slot queue rate bid price tick heartbeat attempt map reduce tracker job split kill commit spend".split()


class Sequence:
    """Numbers of a fixed linear congruence: their order is the only thing asked of them."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound


def write(folder, name, lines):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


def text(folder):
    """Three files of words; some words carry a number, so that there are many different ones."""
    numbers = Sequence(1)
    for part in range(3):
        lines = []
        for _ in range(120):
            words = [WORDS[numbers.below(len(WORDS))] for _ in range(8)]
            words[0] += str(numbers.below(40))
            lines.append(" ".join(words))
        write(folder, f"part-{part}.txt", lines)


def pairs(folder):
    """Lines of two whole numbers, negative ones too."""
    numbers = Sequence(2)
    write(folder, "pairs.txt", [f"{numbers.below(21) - 10} {numbers.below(2001) - 1000}" for _ in range(300)])


def tables(folder):
    """Two tables sorted by key, with keys that are missing or repeated in either."""
    numbers = Sequence(3)
    for table in ("left", "right"):
        rows = sorted((f"key{numbers.below(60):02}", f"{table}{row}") for row in range(50))
        write(os.path.join(folder, table), "table.txt", ["\t".join(row) for row in rows])


if __name__ == "__main__":
    {"text": text, "pairs": pairs, "tables": tables}[sys.argv[1]](sys.argv[2])
