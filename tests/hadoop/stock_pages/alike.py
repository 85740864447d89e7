#!/usr/bin/env python3
"""alike.py FOLDER SCHEDULER...

Compares what fetch.py left of both JobTrackers in FOLDER/SCHEDULER/java and .../ours, answer by answer: status, type, Location and tokens
(tokens.py). What may differ is in tolerated.py. Prints a table of addresses with the number of answers compared, and for each rule how many
differences it explains; then every other difference. Ends with a line `N alike, N differ`, and 1 when any differs.
"""

import collections
import difflib
import itertools
import json
import pathlib
import sys

import tokens
import tolerated

# Differences of one answer that are shown.
SHOWN = 12


class Side:
    """What one JobTracker answered in one phase."""

    def __init__(self, folder, phase):
        self.place = folder / phase
        self.known = json.loads((folder / "known.json").read_text())
        self.answers = {answer["name"]: answer for answer in json.loads((self.place / "answers.json").read_text())}

    def body(self, name):
        text = (self.place / self.answers[name]["file"]).read_bytes().decode("utf-8", "replace")
        return self.known_texts(text)

    def known_texts(self, text):
        """The texts of one run by their names; longest first, since the one may stand in the other."""
        for name, value in sorted(self.known.items(), key=lambda pair: -len(pair[1])):
            text = text.replace(value, name)
        return text


class Comparison:
    def __init__(self):
        # By scheduler, address and rule.
        self.counts = collections.Counter()
        self.answers = collections.Counter()
        self.differing = collections.defaultdict(list)

    def of_answers(self, scheduler, phase, name, java, ours):
        page = name.split("?")[0].split()
        page = page[1] if page[0] in ("HEAD", "POST") else page[0]
        self.answers[scheduler, page] += 1
        found = []
        rules = collections.Counter()
        theirs, mine = java.answers.get(name), ours.answers.get(name)
        if theirs is None or mine is None:
            found.append(f"asked of {'ours' if theirs is None else 'Java'} alone: the other has no link to it")
        else:
            rule = tolerated.of_status(name, phase, theirs["status"], mine["status"])
            if theirs["status"] != mine["status"] and rule is None:
                found.append(f"status {theirs['status']}, ours {mine['status']}")
            if rule:
                rules[rule] += 1
            elif not found:
                found += self.heads(name, java, ours, rules)
                found += self.contents(scheduler, phase, name, java, ours, rules)
        for rule, count in rules.items():
            self.counts[page, rule] += count
        if found:
            self.differing[scheduler, phase, name] = found

    def heads(self, name, java, ours, rules):
        found = []
        # Words beside a status of their own are another text: a program reads the status.
        is_words = java.answers[name]["status"] >= 300 and "json" not in java.answers[name]["type"] or tolerated.is_of_its_own(name)
        for part in ("location",) if is_words else ("type", "location"):
            theirs, mine = (side.known_texts(side.answers[name][part]) for side in (java, ours))
            theirs, mine = theirs.replace("utf8", "utf-8"), mine.replace("utf8", "utf-8")
            if theirs.lower() != mine.lower():
                found += explained(name, [(part, theirs)], [(part, mine)], rules)
        return found

    def contents(self, scheduler, phase, name, java, ours, rules):
        if name.startswith("HEAD"):
            lengths = [side.answers[name]["length"] for side in (java, ours)]
            return [] if lengths == [0, 0] else [f"bytes after HEAD: {lengths}"]
        status = java.answers[name]["status"]
        kinds = [side.answers[name]["type"] for side in (java, ours)]
        # Of users the question is what they may.
        rule = "words of a page that a user may see" if phase == "access" else tolerated.of_body(scheduler, name, status, kinds)
        if rule:
            rules[rule] += 1
            return []
        read = []
        for side in (java, ours):
            try:
                read.append(tokens.of_answer(name, side.answers[name]["type"], side.body(name)))
            except (ValueError, SyntaxError) as error:
                read.append([("unreadable", str(error))])
        theirs, mine = read
        return explained(f"{scheduler} {name}", theirs, mine, rules)


def explained(name, theirs, mine, rules):
    """What no rule explains; counts in `rules` what one does."""
    applied = tolerated.rules_of(name)
    keys = [[context for context, _ in side] for side in (theirs, mine)]
    if all(len(set(side)) == len(side) and not any(key.startswith("@") for key in side) for side in keys):
        # Values by key: what one side has alone moves no other.
        pairs = {key: [None, None] for side in keys for key in side}
        for place, side in enumerate((theirs, mine)):
            for token in side:
                pairs[token[0]][place] = token
        return [line for left, right in pairs.values() for line in of_pair(name, applied, left, right, rules)]
    masked = [[tolerated.masked(applied, token) for token in side] for side in (theirs, mine)]
    found = []
    matcher = difflib.SequenceMatcher(None, *masked, autojunk=False)
    for what, start, end, of_ours, end_of_ours in matcher.get_opcodes():
        if what == "equal":
            for left, right in zip(theirs[start:end], mine[of_ours:end_of_ours]):
                if left[1] != right[1]:
                    of_pair(name, applied, left, right, rules)
            continue
        pairs = itertools.zip_longest(theirs[start:end], mine[of_ours:end_of_ours])
        for left, right in pairs:
            found += of_pair(name, applied, left, right, rules)
    return found


def of_pair(name, applied, left, right, rules):
    """The difference of two tokens, of which one may be missing; empty if there is none, or a rule explains it."""
    if left == right:
        return []
    if left and right and tolerated.masked(applied, left) == tolerated.masked(applied, right):
        for rule in needed(applied, left, right):
            rules[rule] += 1
        return []
    rule = tolerated.of_pair(name, left, right)
    if rule:
        rules[rule] += 1
        return []
    return [f"{left} | ours {right}"]


def needed(applied, left, right):
    """The rules without which the two differ."""
    names = []
    for rule in applied:
        others = [other for other in applied if other is not rule]
        if tolerated.masked(others, left) != tolerated.masked(others, right):
            names.append(rule.name)
    return names or ["two rules, each enough"]


def main():
    folder, *schedulers = sys.argv[1:]
    comparison = Comparison()
    for scheduler in schedulers:
        java, ours = (pathlib.Path(folder, scheduler, which) for which in ("java", "ours"))
        for phase in sorted(folder.name for folder in java.iterdir() if folder.is_dir()):
            sides = Side(java, phase), Side(ours, phase)
            for name in dict.fromkeys([*sides[0].answers, *sides[1].answers]):
                comparison.of_answers(scheduler, phase, name, *sides)
    pages = sorted({page for _, page in comparison.answers})
    print(f"{'address':34} " + " ".join(f"{scheduler:>9}" for scheduler in schedulers) + "   differ")
    for page in pages:
        differing = sum(1 for _, _, name in comparison.differing if page in name.split("?")[0].split())
        counts = " ".join(f"{comparison.answers[scheduler, page]:9}" for scheduler in schedulers)
        print(f"{page:34} {counts}   {differing or '-'}")
        for (of_page, rule), count in sorted(comparison.counts.items()):
            if of_page == page:
                print(f"{'':6}{count:6}  {rule}")
    for (scheduler, phase, name), found in comparison.differing.items():
        print(f"\n{scheduler}, {phase}: {name}")
        for line in found[:SHOWN]:
            print(f"    {line}")
        if len(found) > SHOWN:
            print(f"    and {len(found) - SHOWN} more")
    total = sum(comparison.answers.values())
    print(f"\n{total - len(comparison.differing)} alike, {len(comparison.differing)} differ")
    sys.exit(1 if comparison.differing else 0)


if __name__ == "__main__":
    main()
