"""What may differ between the pages of the two JobTrackers: times, hosts, memory, and what docs/differences.md says of pages.

A rule replaces a part of a text on both sides, where its address and its context match; a difference is explained when the masked texts are
equal, and counts for the rules that were needed. Rules of status and body explain a whole answer, those of pairs one token that only one
side has.
"""

import re
from dataclasses import dataclass

MEMORY_AND_TIME = (
    r"CPU time spent|CPU_MILLISECONDS|snapshot|PHYSICAL_MEMORY_BYTES|VIRTUAL_MEMORY_BYTES|heap usage|COMMITTED_HEAP|SLOTS_MILLIS|waiting after|"
    r"FALLOW_SLOTS|FILE_BYTES_"
)


@dataclass(frozen=True)
class Rule:
    name: str
    text: str
    instead: str = "~"
    page: str = ""
    context: str = ""


RULES = [
    Rule("date", r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \w+ \d{4}", "DATE"),
    Rule("date", r"\b\d{1,2}-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d", "DATE"),
    Rule("date", r"\b\d{1,2}/\d{1,2} \d\d:\d\d:\d\d|[A-Z][a-z]{2} \d\d, \d{4},? \d\d:\d\d( [AP]M)?", "DATE"),
    Rule("span", r"\b((\d+hrs, )?\d+mins, )?\d+sec\b", "SPAN"),
    Rule("time in ms", r"\b1[0-9]{12}\b", "MS"),
    Rule("tracker's port", r"(tracker_worker-1:)[^ \"<]*", r"\1ADDRESS"),
    Rule("tracker's port", r"(worker-1:)\d+", r"\1PORT"),
    Rule("memory of the process", r"\(Heap Size is [^)]*\)", "(Heap Size is ~)"),
    Rule("memory of the process", r"^\d+$", "N", "jobtracker", r"HeapMemoryBytes$"),
    Rule("counter of time or memory", r"^\"?-?[\d,]+\"?$", "N", "", MEMORY_AND_TIME),
    Rule("counter of time or memory", rf"\((({MEMORY_AND_TIME})[A-Z_]*)\)\(([^)]*)\)\(\d+\)", r"(\1)(\3)(N)", "historyfile", "COUNTERS"),
    Rule("span", r"^-?\d+$", "N", "format=json", r"(durationSecs|DurationSecs)$"),
]

# An address, what Java answers, what ours answers, and why.
STATUSES = [
    (r"", 500, 400, "a malformed or missing parameter: 500, ours 400"),
]

BODIES = [
    (r"^/(stacks|logs/|static/\S+|favicon.ico|index.html)", "content of its own"),
]

PAIRS = []


def rules_of(name):
    return [rule for rule in RULES if re.search(rule.page, name)]


def masked(rules, token):
    context, text = token
    for rule in rules:
        if re.search(rule.context, context):
            text = re.sub(rule.text, rule.instead, text)
    # What stands around a text of a page is another token; a key is a part of its value.
    return text if context.startswith("@") else f"{context} = {text}"


def of_status(name, theirs, ours):
    if theirs == ours:
        return None
    for page, java, mine, why in STATUSES:
        if re.search(page, name) and (theirs, ours) == (java, mine):
            return why
    return None


def of_body(name, status, kinds):
    for page, why in BODIES:
        if re.search(page, name):
            return why
    if status >= 300 and not any("json" in kind for kind in kinds):
        return "words of a refusal"
    return None


def of_pair(name, theirs, ours):
    for page, java, mine, why in PAIRS:
        fits = [side is None if pattern is None else side is not None and re.search(pattern, "\t".join(side)) for pattern, side in ((java, theirs), (mine, ours))]
        if re.search(page, name) and all(fits):
            return why
    return None


def arranged(name, which, found, rules):
    return found
