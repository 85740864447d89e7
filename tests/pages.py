#!/usr/bin/env python3
"""pages.py PROGRAM [--whole] [--server HOST:PORT] [PAGE]...

Every command of docs/run-commands.md, docs/write-an-application.md and docs/applications-api.md, pasted line by line in the order of the page,
and compared with what the page says comes of it; and every body that they show, sent. Each page has a network of its own (a namespace) with a JobTracker and a worker that its own
lines start; with `--server` it has those of that address, and lines that start them are left out. Commands within lines of text are pasted
too. Arrays of a thousand have 20 items, with `--whole` a thousand. PAGE is one of them, without its ending. Ends with a line `N passed, N failed`; prints a line `SKIPPED what: reason`
for what cannot be tried here.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

from real_processes import counts, print_counts, verdict  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT_S = 300
PAGES = ["run-commands", "write-an-application", "applications-api"]
#: What lines of the pages name and a person has: programs, and files that they read.
FILES = {
    "simulate": '#!/bin/sh\ntest "$1" -ge 0 && echo "simulated $1"\n',
    "fetch": '#!/bin/sh\necho "fetched $1"\n',
    "train": '#!/bin/sh\necho "trained $*"\n',
    "job.sh": '#!/bin/sh\necho "item $JOBTRACKER_ITEM"\n',
    "command": "#!/bin/sh\necho commanded\n",
    "first": "#!/bin/sh\necho first\n",
    "second": "#!/bin/sh\necho second\n",
    "urls.txt": "one\ntwo\nthree\n",
}
#: What stands for an application that a page names.
AN_APPLICATION = "application_1700000000000_0001"
#: Before lines that look at an application, so that there is one with an item 17.
ARRAY = "APPLICATION=$(jobtracker run --detach --array 1-20 -- ./simulate {} | grep -o 'application_[0-9_]*' | head -n 1)\n"
#: A JobTracker with a worker that has declared its room.
READY = """for try in $(seq 600); do
    curl --silent "http://$SERVER_OF_PAGE/ws/v1/cluster/nodes?user.name=$(id -un)" | grep -q '"availMemoryMB":[1-9]' && break
    sleep 0.1
done
"""
#: What another machine or another run writes otherwise.
VARIES = [(r"localhost:\d+", "NODE"), (r"worker-\d:\d+", "NODE")]

arguments = argparse.ArgumentParser()
arguments.add_argument("program", type=pathlib.Path)
arguments.add_argument("pages", nargs="*", default=PAGES, metavar="PAGE")
arguments.add_argument("--whole", action="store_true")
arguments.add_argument("--server")
options = arguments.parse_intermixed_args()
program = options.program.resolve()
server = options.server or "127.0.0.1:50030"


class Block:
    """What is pasted, and what the page says comes of it."""

    def __init__(self, kind, name, code, output):
        self.kind = kind
        self.name = name
        self.code = code
        self.output = output


def page_of(name):
    return (ROOT / "docs" / f"{name}.md").read_text("utf-8")


def blocks_of(text):
    """The fenced commands of a page, each with the text that follows it directly, then the commands within its lines."""
    found = re.findall(r"^```(sh|python)(?: (\S+))?\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", text, re.DOTALL | re.MULTILINE)
    blocks = [Block(kind, name, code, output) for kind, name, code, output in found]
    lines = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for code in re.findall(r"`(jobtracker (?:run|app) [^`]*[^`.])`", lines):
        if not re.search(r"\[|…|^jobtracker app (list|status|logs|kill)$", code):
            blocks.append(Block("sh", "", code + "\n", ""))
    return blocks


def pasted(block):
    """A block as it is typed here."""
    code = block.code
    if not options.whole:
        code = code.replace("1-1000%50", "1-20%50").replace("1-1000", "1-20")
    if options.server:
        code = code.replace("SERVER=127.0.0.1:50030", f"SERVER={server}")
        code = re.sub(r"^jobtracker (serve|tasktracker).*&\n", "", code, flags=re.MULTILINE)
    elif "jobtracker serve &" in code and "jobtracker run" not in code:
        code += READY
    if block.kind == "python":
        code = f"python3 - <<'PYTHON'\n{code}PYTHON\n"
    if "--resume" in code:
        # Its state has the name of the application.
        return code.replace(AN_APPLICATION, "$(ls -t application_*.json | head -n 1 | sed 's/.json$//')")
    if AN_APPLICATION in code:
        return ARRAY + code.replace(AN_APPLICATION, "$APPLICATION")
    return code


def script_of(blocks):
    """All of them in one shell, each with a line before it, its status behind it, and a line for each command that fails."""
    parts = ["ip link set lo up 2>/dev/null\ntrap 'printf \"\\n== wrong %s\\n\" \"$BASH_COMMAND\"' ERR\n"]
    for number, block in enumerate(blocks):
        parts.append(f"echo '== {number}'\n{pasted(block)}printf '\\n== status %s\\n' $?\n")
    parts.append("trap - ERR\nkill $(jobs -p) 2>/dev/null\nwait")
    return "".join(parts)


def requests_of(text):
    """The bodies that a page shows, each sent by an application of its own."""
    for body in re.findall(r"^```json\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        submitted, call = "", ""
        if body.startswith('"ask"'):
            call = f'{{"attempt":1,"response-id":0,{body.strip()}}}'
        elif body.startswith('"master"'):
            submitted = f",{body.strip()}"
        elif re.search('"ask"|"launch"', body) and "has-more" not in body:
            call = re.sub(r'"response-id": ?\d+', '"response-id": 0', body.strip())
        else:
            continue
        code = f"""APP=$(call POST /apps/new-application | field application-id)
call POST /apps '{{"application-id":"'$APP'","application-name":"shown"{submitted}}}'
"""
        if call:
            code += f"call POST /apps/$APP/register '{{}}'\ncall POST /apps/$APP/allocate '{call}'\n"
        yield Block("sh", "", f"{code}call PUT /apps/$APP/state '{{\"state\":\"KILLED\"}}'\n", "")


def place_of(folder):
    """A home, a folder to work in that has what lines name, and a PATH with the program."""
    work = folder / "work"
    work.mkdir()
    (work / "out").mkdir()
    for name, text in FILES.items():
        (work / name).write_text(text)
        (work / name).chmod(0o755)
    # Examples write beside their plan.
    shutil.copytree(ROOT / "python", work / "python", ignore=shutil.ignore_patterns("__pycache__"))
    programs = folder / "bin"
    programs.mkdir()
    jobtracker = programs / "jobtracker"
    if options.server:
        jobtracker.write_text(
            f'#!/bin/sh\ncase $1 in\nrun) shift; exec {program} run --server {server} "$@" ;;\n'
            f'app) verb=$2; shift 2; exec {program} app "$verb" --server {server} "$@" ;;\nesac\nexec {program} "$@"\n'
        )
        jobtracker.chmod(0o755)
    else:
        jobtracker.symlink_to(program)
    for name in ("HADOOP_CONF_DIR", "HADOOP_HOME", "HADOOP_KEY", "PYTHONPATH", "RUST_LOG"):
        os.environ.pop(name, None)
    return work, {
        **os.environ,
        "HOME": str(folder),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "JOBTRACKER_SERVER": server,
        "SERVER_OF_PAGE": server,
    }


def network():
    """What runs a command in a network of its own, on which it may listen."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def refusal():
    """Why there can be none here, if so."""
    for tool in ("unshare", "ip", "bash", "curl", "openssl"):
        if shutil.which(tool) is None:
            return f"{tool} is missing"
    asked = subprocess.run([*network(), "ip", "link", "set", "lo", "up"], capture_output=True, text=True)
    return "" if asked.returncode == 0 else asked.stderr.strip()


def install(block, folder, environment):
    """A line that installs the package, into an environment of its own; it needs the network of the machine."""
    said = subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], capture_output=True, text=True)
    if said.returncode == 0:
        path = {**environment, "PATH": f"{folder}/venv/bin:{environment['PATH']}"}
        said = subprocess.run(["sh", "-c", block.code], cwd=folder / "work", env=path, capture_output=True, text=True)
    if said.returncode == 0:
        verdict(f"write-an-application: {block.code.strip()}", True)
        environment["PATH"] = path["PATH"]
        return
    reason = (said.stderr or said.stdout).strip().splitlines()[-1]
    print(f"SKIPPED {block.code.strip()}: {reason}", flush=True)
    environment["PYTHONPATH"] = str(ROOT / "python")


def without_what_varies(text):
    for pattern, name in VARIES:
        text = re.sub(pattern, name, text)
    return text.strip()


def look_at(page, block, said, status):
    text = f"{page}: {block.code.strip().splitlines()[0]}"
    # Where the page shows a status, a command is to fail.
    has_failed = "== wrong" in said and "echo $?" not in block.code
    good = status == "0" and not has_failed and "/problems/" not in said
    verdict(text, good, "" if good else f"status {status}\n{said}")
    if block.output:
        good = without_what_varies(said).endswith(without_what_varies(block.output))
        verdict(f"{text}: what comes", good, "" if good else said)


def run_page(page):
    blocks = blocks_of(page_of(page))
    with tempfile.TemporaryDirectory(prefix="jobtracker-pages.") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        work, environment = place_of(folder)
        for block in [block for block in blocks if block.code.startswith("pip ")]:
            blocks.remove(block)
            install(block, folder, environment)
        # Keys are another JobTracker's: python/live_tests.py pastes these lines.
        blocks = [block for block in blocks if block.name != "call-signed"]
        # Once what calls are made by is there.
        if any(block.name == "call" for block in blocks):
            blocks += [request for other in PAGES for request in requests_of(page_of(other))]
        command = [] if options.server else network()
        command += ["bash", "-c", script_of(blocks)]
        done = subprocess.run(
            command, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            stderr=(folder / "errors").open("w"), timeout=LIMIT_S,
        )
        errors = (folder / "errors").read_text()
        parts = re.findall(r"^== (\d+)\n(.*?)^== status (\d+)$", done.stdout, re.DOTALL | re.MULTILINE)
        good = len(parts) == len(blocks)
        verdict(f"{page}: all of its {len(blocks)} commands were pasted", good, "" if good else done.stdout + errors)
        before = counts[False]
        for number, said, status in parts:
            look_at(page, blocks[int(number)], said, status)
        if counts[False] > before:
            print(errors, flush=True)


why_not = "" if options.server else refusal()
if why_not:
    print(f"SKIPPED the commands of the pages: {why_not}", flush=True)
    sys.exit(1 if os.environ.get("CI") == "true" else 0)
for each in options.pages:
    run_page(each)
sys.exit(print_counts())
