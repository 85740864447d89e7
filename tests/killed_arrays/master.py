"""A master in a container: it wants each item once, and notes what it was answered of their ends. The first one dies in the middle."""

import os

from jobtracker_apps import Session

folder, items = os.environ["OUT"], int(os.environ["ITEMS"])
book = os.path.join(folder, "statuses")
session = Session.of_container()
registered = session.register()
done = set()
if os.path.exists(book):
    with open(book, encoding="utf-8") as file:
        done = {int(line.split()[1]) for line in file}
live = {container["item"] for container in registered["containers"]}


def note(answer):
    with open(book, "a", encoding="utf-8") as file:
        for status in answer["completed-container-statuses"]:
            done.add(status["item"])
            file.write(f"{session.attempt} {status['item']} {status['container-id']} {status['exit-status']} {session.response_id}\n")


# Ends of which no answer has come yet: what is neither live nor noted must not run again for them.
note(session.allocate({}))
left = [item for item in range(1, items + 1) if item not in done | live]
environment = {"OUT": folder, "PAUSE": os.environ["PAUSE"]}
members = {"specs": {"item": {"command": [os.environ["ITEM"], "{}"], "environment": environment}}}
if left:
    launch = {"spec": "item", "items": ",".join(map(str, left))}
    row = {"priority": 1, "resource-name": "*", "capability": {"memory": 1024, "vCores": 1}, "launch": launch}
    members["ask"] = [row]
while len(done) < items:
    answer = session.allocate(members, wait_ms=5_000)
    members = {}
    note(answer)
    if session.attempt == 1 and len(done) >= items // 3:
        os._exit(1)
session.unregister()
