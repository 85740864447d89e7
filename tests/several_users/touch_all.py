"""touch_all.py OPEN_FOLDER...: tries to read, write, list and signal what standard input names, one `file PATH`, `folder PATH`, `closed PATH` (a
folder that only its owner lists) or `process ID` a line, all of other users. Prints what was possible, and ends with 1 when anything was;
prints how often it was refused. In the folders of the arguments everybody may create files.
"""

import collections
import os
import sys

OPEN = sys.argv[1:]
refused = collections.Counter()
possible = []


def attempt(what, action, *arguments):
    """One thing that must be refused."""
    try:
        action(*arguments)
    except PermissionError:
        refused[what.split()[0]] += 1
    except (FileNotFoundError, ProcessLookupError):
        # It has ended since.
        refused["gone"] += 1
    else:
        possible.append(what)


def opened(path, flags):
    """Opens a file and closes it; a pipe does not hold it up."""
    os.close(os.open(path, flags | os.O_NONBLOCK))


def created(folder):
    """Makes a file in a folder and removes it."""
    path = os.path.join(folder, "planted")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    os.unlink(path)


for line in sys.stdin:
    kind, name = line.rstrip("\n").split(" ", 1)
    if kind == "file":
        attempt(f"reads {name}", opened, name, os.O_RDONLY)
        attempt(f"writes {name}", opened, name, os.O_WRONLY)
    elif kind == "folder":
        if name not in OPEN:
            attempt(f"creates in {name}", created, name)
        # Only its owner may rename or remove an entry of a folder with the sticky bit.
        attempt(f"moves {name}", os.rename, name, name + ".moved")
    elif kind == "closed":
        attempt(f"lists {name}", os.listdir, name)
    else:
        attempt(f"signals {name}", os.kill, int(name), 0)
        attempt(f"looks into {name}", opened, f"/proc/{name}/environ", os.O_RDONLY)

for what in possible:
    print(what)
print("  refused:", ", ".join(f"{count} {what}" for what, count in sorted(refused.items())))
sys.exit(1 if possible else 0)
