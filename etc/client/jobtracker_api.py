#!/usr/bin/env python3
"""Reads what a JobTracker shows: jobs, applications, workers, queues, prices, reports.

As a program, it prints an answer as JSON, a row of a list a line:

  jobtracker_api.py get_cluster
  jobtracker_api.py list_jobs state=RUNNING user=alice
  jobtracker_api.py get_job job_202611211200_0001

As a module:

  tracker = JobTracker("master:50030")
  for job in tracker.list_jobs(state=["PREP", "RUNNING"]):
      print(job["name"], job["tasks"]["map"]["finished"])

There is a method for each operation of http://SERVER/api/v1/openapi.json, which says what each takes and answers. Lists are
walked to their ends. An answer that has not changed since it was read last is not sent again.

Server: from --server, else $JOBTRACKER_SERVER, else the file /etc/hadoop_server, else 127.0.0.1:50030. Exit codes: 0 success,
2 wrong usage or refused, 3 denied, 4 the server cannot be reached or does not answer.
"""

import argparse
import gzip
import http.client
import inspect
import json
import os
import sys
import urllib.parse
from collections import OrderedDict

DONE, USAGE, DENIED, UNREACHABLE = 0, 2, 3, 4
SERVER_FILE = "/etc/hadoop_server"
SERVER = "127.0.0.1:50030"
TIMEOUT_S = 30
# Answers that are kept to be asked for again
MOST_KEPT = 256


class Problem(Exception):
    """A refusal, by RFC 9457: `name` such as no-such-job, `errors` with the parameters that are wrong, `attempt` to try."""

    def __init__(self, status, problem):
        self.status = status
        self.name = problem.get("type", "").rpartition("/")[2]
        self.detail = problem.get("detail", "")
        self.errors = problem.get("errors", [])
        self.attempt = problem.get("try")
        text = f"{self.name or status}: {self.detail}"
        super().__init__(f"{text}; try: {self.attempt}" if self.attempt else text)


class Unreachable(Exception):
    """The server did not answer as a JobTracker does."""


class JobTracker:
    """A JobTracker, by the address of its web server."""

    def __init__(self, server=SERVER, token=None, timeout_s=TIMEOUT_S):
        self.server = server
        self.token = token
        self.timeout_s = timeout_s
        # By target: entity tag and answer.
        self._kept = OrderedDict()
        # Of the last answer.
        self.generation = None
        self.as_of_ms = None

    # Requests

    def read(self, target):
        """The answer at a path with its query, such as `/api/v1/jobs?limit=1`."""
        known = self._kept.get(target)
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip"}
        if known:
            headers["If-None-Match"] = known[0]
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        connection = http.client.HTTPConnection(self.server, timeout=self.timeout_s)
        try:
            connection.request("GET", target, headers=headers)
            response = connection.getresponse()
            body = response.read()
            if response.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if response.status != 304:
                answer = json.loads(body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"{self.server} does not answer as a JobTracker does: {error}") from error
        finally:
            connection.close()
        self.generation = response.headers.get("Jobtracker-Generation")
        self.as_of_ms = int(response.headers.get("Jobtracker-As-Of") or 0)
        if response.status == 304:
            self._kept.move_to_end(target)
            return known[1]
        if response.status != 200:
            raise Problem(response.status, answer)
        if response.headers.get("ETag"):
            self._kept[target] = (response.headers["ETag"], answer)
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return answer

    def _one(self, path, *parts, **parameters):
        return self.read(_target(path, parts, parameters))

    def _rows(self, path, *parts, **parameters):
        target = _target(path, parts, parameters)
        while target:
            answer = self.read(target)
            yield from answer["items"]
            target = answer.get("next")

    # Operations

    def get_description(self):
        """The description of this interface, OpenAPI 3.1."""
        return self._one("openapi.json")

    def get_cluster(self, **parameters):
        """The cluster at a glance."""
        return self._one("cluster", **parameters)

    def get_health(self, **parameters):
        """What is wrong."""
        return self._one("health", **parameters)

    def list_jobs(self, **parameters):
        """Jobs and applications, the newest first."""
        return self._rows("jobs", **parameters)

    def get_job(self, job, **parameters):
        """A job."""
        return self._one("jobs/{}", job, **parameters)

    def list_attempts(self, job, **parameters):
        """The attempts of a job."""
        return self._rows("jobs/{}/attempts", job, **parameters)

    def list_tasks(self, job, **parameters):
        """The tasks of a job."""
        return self._rows("jobs/{}/tasks", job, **parameters)

    def get_grid(self, job, **parameters):
        """How many tasks of a job are in which state."""
        return self._one("jobs/{}/grid", job, **parameters)

    def get_job_waits(self, job, **parameters):
        """Where the time of a job went."""
        return self._one("jobs/{}/waits", job, **parameters)

    def get_timeline(self, job, **parameters):
        """The attempts of a job over time, by worker."""
        return self._one("jobs/{}/timeline", job, **parameters)

    def get_explanation(self, job, **parameters):
        """Why a job has as many slots as it has and no more."""
        return self._one("jobs/{}/explain", job, **parameters)

    def list_counters(self, job, **parameters):
        """The counters of a job."""
        return self._rows("jobs/{}/counters", job, **parameters)

    def list_job_events(self, job, **parameters):
        """The completion events of a job."""
        return self._rows("jobs/{}/events", job, **parameters)

    def list_conf(self, job, **parameters):
        """The configuration of a job."""
        return self._rows("jobs/{}/conf", job, **parameters)

    def list_applications(self, **parameters):
        """Applications, the newest first."""
        return self._rows("applications", **parameters)

    def get_application(self, application, **parameters):
        """An application."""
        return self._one("applications/{}", application, **parameters)

    def list_containers(self, application, **parameters):
        """The containers of an application."""
        return self._rows("applications/{}/containers", application, **parameters)

    def list_items(self, application, **parameters):
        """The items of an application."""
        return self._rows("applications/{}/items", application, **parameters)

    def get_item_grid(self, application, **parameters):
        """How many items of an application are in which state."""
        return self._one("applications/{}/grid", application, **parameters)

    def list_workers(self, **parameters):
        """Workers."""
        return self._rows("workers", **parameters)

    def get_worker(self, worker, **parameters):
        """A worker, by its name or that of its tracker."""
        return self._one("workers/{}", worker, **parameters)

    def list_racks(self, **parameters):
        """Racks."""
        return self._rows("racks", **parameters)

    def list_slots(self, **parameters):
        """The slots of workers, with what holds them."""
        return self._rows("slots", **parameters)

    def list_queues(self, **parameters):
        """Queues."""
        return self._rows("queues", **parameters)

    def get_queue(self, queue, **parameters):
        """A queue."""
        return self._one("queues/{}", queue, **parameters)

    def list_statement(self, queue, **parameters):
        """The ledger rows of a queue."""
        return self._rows("queues/{}/statement", queue, **parameters)

    def get_spending(self, queue, **parameters):
        """What a queue has paid over time."""
        return self._one("queues/{}/spending", queue, **parameters)

    def get_market(self, **parameters):
        """The market."""
        return self._one("market", **parameters)

    def get_prices(self, **parameters):
        """The price over time."""
        return self._one("market/prices", **parameters)

    def get_shares(self, **parameters):
        """What queues were sold at the last ticks."""
        return self._one("market/shares", **parameters)

    def get_quotes(self, **parameters):
        """What rates would buy at the next tick."""
        return self._one("market/quotes", **parameters)

    def get_samples(self, **parameters):
        """Slots by queue over the last day."""
        return self._one("samples", **parameters)

    def get_policy(self, **parameters):
        """The ruling policy with its groups."""
        return self._one("policy", **parameters)

    def get_policy_plan(self, to, **parameters):
        """What a switch to another scheduler would do now; for administrators."""
        return self._one("policy/plan", to=to, **parameters)

    def list_deadlines(self, **parameters):
        """Deadlines that the ruling policy keeps."""
        return self._rows("deadlines", **parameters)

    def list_orders(self, **parameters):
        """Deadline orders that stand."""
        return self._rows("orders", **parameters)

    def list_decisions(self, **parameters):
        """What was decided by the scheduler and by callers, the newest first."""
        return self._rows("decisions", **parameters)

    def get_decision(self, decision, **parameters):
        """A decision, by its number."""
        return self._one("decisions/{}", decision, **parameters)

    def list_users(self, **parameters):
        """Users."""
        return self._rows("users", **parameters)

    def get_user(self, user, **parameters):
        """A user."""
        return self._one("users/{}", user, **parameters)

    def get_report(self, report, **parameters):
        """What was used, and what it cost: report is users, queues or jobs."""
        return self._one("reports/{}", report, **parameters)

    def list_events(self, **parameters):
        """What changes, as it changes: pairs of an event's name and its data, for as long as the server runs."""
        target = _target("events", (), parameters)
        connection = http.client.HTTPConnection(self.server, timeout=None)
        try:
            connection.request("GET", target, headers={"Accept": "text/event-stream"})
            response = connection.getresponse()
            if response.status != 200:
                raise Problem(response.status, json.loads(response.read()))
            name = None
            for line in response:
                field, _, value = line.decode().rstrip("\n").partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    yield name, json.loads(value)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unreachable(f"{self.server} does not answer as a JobTracker does: {error}") from error
        finally:
            connection.close()

    def list_history(self, **parameters):
        """Jobs and applications of the past."""
        return self._rows("history/jobs", **parameters)


def _target(path, parts, parameters):
    """The path and query of a request; `from_` stands for `from`, a list for a parameter that is repeated."""
    path = path.format(*(urllib.parse.quote(str(part), safe="") for part in parts))
    pairs = []
    for name, value in parameters.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            pairs.append((name.rstrip("_"), one))
    query = urllib.parse.urlencode(pairs)
    return f"/api/v1/{path}?{query}" if query else f"/api/v1/{path}"


def _operations():
    methods = inspect.getmembers(JobTracker, inspect.isfunction)
    return {name: method for name, method in methods if name.startswith(("get_", "list_"))}


def _server():
    named = os.environ.get("JOBTRACKER_SERVER")
    if named:
        return named.removeprefix("http://").rstrip("/")
    try:
        with open(SERVER_FILE, encoding="utf-8") as file:
            return file.read().strip() or SERVER
    except OSError:
        return SERVER


def main(arguments):
    """Prints the answer of an operation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", metavar="HOST:PORT", help="address of the web server")
    parser.add_argument("operation", choices=sorted(_operations()), metavar="OPERATION", help=", ".join(sorted(_operations())))
    parser.add_argument("values", nargs="*", metavar="VALUE", help="the names that the operation takes, then NAME=VALUE")
    given = parser.parse_args(arguments)
    names = [value for value in given.values if "=" not in value]
    parameters = {}
    for name, _, value in (value.partition("=") for value in given.values if "=" in value):
        parameters.setdefault(name, []).append(value)
    try:
        answer = getattr(JobTracker(given.server or _server()), given.operation)(*names, **parameters)
        if inspect.isgenerator(answer):
            for row in answer:
                print(json.dumps(row, ensure_ascii=False))
        else:
            print(json.dumps(answer, ensure_ascii=False, indent=2))
    except TypeError as error:
        print(f"{given.operation}: {error}", file=sys.stderr)
        return USAGE
    except Problem as problem:
        print(problem, file=sys.stderr)
        return DENIED if problem.status in (401, 403) else UNREACHABLE if problem.status >= 500 else USAGE
    except Unreachable as error:
        print(error, file=sys.stderr)
        return UNREACHABLE
    return DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
