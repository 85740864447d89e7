#!/usr/bin/env python3
"""Prints the size and shape of `src` in numbers, without its tests: `tests/tidy/numbers.py [--list WORD] [ROOT]`.

`--list` names what one line counts: `circles`, `methods`, `twins`, `names`, `policy`, `long` or `fields`.
"""

import argparse
import collections
import pathlib
import re

LONGEST_FUNCTION = 60
TWIN_FIELDS = 3
TYPE = re.compile(r"\b(?:struct|enum|trait|union)\s+([A-Z]\w*)|^\s*(?:pub(?:\([^)]*\))?\s+)?type\s+([A-Z]\w*)", re.M)
IMPL = re.compile(r"^impl(?:<[^{]*?>)?\s+([A-Z]\w*)(?:<[^{]*?>)?\s*(?:where[^{]*)?\{", re.M)
ITEM = r"(?:async |const |unsafe )*(?:fn|struct|enum|trait|type|const|static|mod|use)\b"
LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\b(?:br|cr|r)(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\.[^']*|[^'\\\n])'""", re.S
)


def blanked(text):
    """`text` with spaces for everything but its ends of lines."""
    return re.sub(r"[^\n]", " ", text)


def closed_at(code, start):
    """Where the item at `start` ends: behind its semicolon, or the brace that closes its first one."""
    depth = 0
    for at in range(start, len(code)):
        character = code[at]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if character == "}" and depth == 0:
                return at + 1
        elif character == ";" and depth == 0:
            return at + 1
    return len(code)


def without_tests(code):
    """`code` with the items under `#[cfg(test)]` blanked."""
    at = code.find("#[cfg(test)]")
    while at >= 0:
        end = closed_at(code, at + len("#[cfg(test)]"))
        code = code[:at] + blanked(code[at:end]) + code[end:]
        at = code.find("#[cfg(test)]", end)
    return code


class File:
    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.text = path.read_text()
        self.code = without_tests(LITERAL.sub(lambda found: blanked(found[0]), self.text))
        self.line_count = sum(1 for line in self.code.split("\n") if line.strip())

    def line_of(self, at):
        return self.code.count("\n", 0, at) + 1

    def types(self):
        """Names of the types that it defines, with their lines."""
        return [(found[1] or found[2], self.line_of(found.start())) for found in TYPE.finditer(self.code)
                if not self.is_inside_impl(found)]

    def is_inside_impl(self, found):
        """Whether a `type` is an associated one: those of impls and traits are indented."""
        return bool(found[2]) and found[0].lstrip("\n").startswith(" ")

    def implemented(self):
        """Names of the types that it has inherent methods for."""
        return {found[1] for found in IMPL.finditer(self.code)}

    def functions(self):
        """Name, line and number of lines of each function."""
        for found in re.finditer(r"\bfn\s+(\w+)", self.code):
            end = closed_at(self.code, found.start())
            lines = self.code[found.start():end].split("\n")
            yield found[1], self.line_of(found.start()), len(lines)

    def structs(self):
        """Name, line and fields of each struct with named fields."""
        for found in re.finditer(r"\bstruct\s+([A-Z]\w*)[^;({]*\{", self.code):
            body = self.code[found.end():closed_at(self.code, found.start()) - 1]
            fields = re.findall(r"(?:^|[,{]|\n)\s*(?:pub(?:\([^)]*\))?\s+)?([a-z_]\w*)\s*:(?!:)", body)
            yield found[1], self.line_of(found.start()), frozenset(fields)

    def at_lines(self, pattern):
        return [f"{self.path}:{self.line_of(found.start())}" for found in re.finditer(pattern, self.code, re.M)]


def only_adds_methods(file):
    """Whether its code is nothing but methods of one type that another file defines, and what they need."""
    implemented = file.implemented()
    return len(implemented) == 1 and not implemented & {name for name, _ in file.types()} and not file.types()


def twins(files):
    """Pairs of structs that have three quarters of the larger one's fields in common."""
    structs = [(name, f"{file.path}:{line}", fields) for file in files for name, line, fields in file.structs()
               if len(fields) >= TWIN_FIELDS]
    found = []
    for place, (name, at, fields) in enumerate(structs):
        for other, other_at, other_fields in structs[place + 1:]:
            if 4 * len(fields & other_fields) >= 3 * max(len(fields), len(other_fields)):
                found.append(f"{at} {name}, {other_at} {other}")
    return found


def call_circles(files):
    """Circles of files by calls of methods of one type: files with methods of it whose methods call each other's by `self`."""
    homes, calls = collections.defaultdict(lambda: collections.defaultdict(set)), collections.defaultdict(list)
    for file in files:
        room = "/".join(file.path.split("/")[:2])
        for found in IMPL.finditer(file.code):
            body = file.code[found.end():closed_at(file.code, found.start())]
            kind = (room, found[1])
            for method in re.finditer(r"\bfn (\w+)", body):
                homes[kind][method[1]].add(file.path)
            calls[kind].append((file.path, set(re.findall(r"\bself\s*\.(\w+)\s*\(", body))))
    found = []
    for kind, bodies in sorted(calls.items()):
        reached = collections.defaultdict(set)
        for path, names in bodies:
            for name in names:
                reached[path] |= homes[kind][name] if len(homes[kind][name]) == 1 else set()
        found += [f"{kind[1]} in {kind[0]}: {', '.join(circle)}" for circle in strongly_connected(reached)]
    return found


def strongly_connected(reached):
    """Groups of two and more that reach each other."""
    def all_from(start):
        seen, left = set(), [start]
        while left:
            for other in reached.get(left.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    left.append(other)
        return seen
    closure = {node: all_from(node) for node in list(reached)}
    groups = {frozenset(other for other in closure[node] if node in closure.get(other, ()) and other != node) | {node}
              for node in closure}
    return [sorted(group) for group in groups if len(group) > 1]


def repeated_names(files):
    """Names that more than one type has."""
    places = collections.defaultdict(list)
    for file in files:
        for name, line in file.types():
            places[name].append(f"{file.path}:{line}")
    return [f"{name}: {', '.join(at)}" for name, at in sorted(places.items()) if len(at) > 1]


def is_policy(path):
    """Whether it is the policies' own, or their tests', or the type's own file."""
    return re.match(r"src/scheduler/(fifo|capacity|fair|constraint|dynamic|policy)|src/engine/core/(policy|group_claim)", path) is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", choices=["circles", "methods", "twins", "names", "policy", "long", "fields"])
    parser.add_argument("root", nargs="?", default=pathlib.Path(__file__).parents[2], type=pathlib.Path)
    options = parser.parse_args()
    every = [File(options.root, path) for path in sorted((options.root / "src").rglob("*.rs"))]
    files = [file for file in every if not re.search(r"/tests(/|\.rs$)|_laws\.rs$", file.path)]
    comments = sum(len(re.findall(r"^\s*//", file.text, re.M)) for file in every)
    found = {
        "circles": call_circles(files),
        "methods": [file.path for file in files if only_adds_methods(file)],
        "twins": twins(files),
        "names": repeated_names(files),
        "long": [f"{file.path}:{line} {name}: {count} lines" for file in files
                 for name, line, count in file.functions() if count > LONGEST_FUNCTION],
        "fields": [at for file in files for at in file.at_lines(r"^ +pub\(in [^)]*\) \w+:(?!:)")],
        "policy": [at for file in files if not is_policy(file.path)
                   for at in sorted(set(file.at_lines(r"\bPolicyConfig::[A-Z]")))],
    }
    if options.list:
        print("\n".join(found[options.list]))
        return
    public = sum(len(file.at_lines(r"^ *pub (?:" + ITEM + r"|\w+:(?!:))")) for file in files)
    rows = [
        ("code lines, without comments, tests and blanks", sum(file.line_count for file in files)),
        ("comment lines, with those of tests", comments),
        ("files, with those of tests", len(every)),
        ("files that only add methods to a type defined elsewhere", len(found["methods"])),
        ("circles of files by calls of methods of one type", len(found["circles"])),
        (f"pairs of structs of {TWIN_FIELDS} fields and more that share 3/4 of the larger's", len(found["twins"])),
        ("type names given twice or more", len(found["names"])),
        ("lines with `PolicyConfig::X` outside the policies", len(found["policy"])),
        (f"functions above {LONGEST_FUNCTION} lines", len(found["long"])),
        ("public items and fields", public),
        ("fields `pub(in …)`", len(found["fields"])),
    ]
    for what, number in rows:
        print(f"{number:8,}  {what}")


if __name__ == "__main__":
    main()
