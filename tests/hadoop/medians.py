"""medians.py FIGURES: a table of figures, a line each: what, who, wall, CPU, load average, by tabs. Of lines about the same the numbers become their medians, and the load
averages a range."""

import re
import statistics
import sys

NUMBER = re.compile(r"\d+(?:\.\d+)?")


def median(texts):
    """The first text with the median of all in the place of each number."""
    columns = zip(*(NUMBER.findall(text) for text in texts))
    medians = []
    for column in columns:
        places = max(len(number.partition(".")[2]) for number in column)
        medians.append(f"{statistics.median(map(float, column)):.{places}f}")
    return NUMBER.sub(lambda _: medians.pop(0), texts[0])


def main():
    figures = {}
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file:
            what, who, *rest = line.rstrip("\n").split("\t")
            figures.setdefault((what, who), []).append(rest)
    print("| what | who | wall | CPU | of | load average |\n| --- | --- | --- | --- | --- | --- |")
    for (what, who), rows in figures.items():
        walls, cpus, loads = zip(*rows)
        loads = sorted(map(float, loads))
        print(f"| {what} | {who} | {median(walls)} | {median(cpus)} | {len(rows)} | {loads[0]} to {loads[-1]} |")


main()
