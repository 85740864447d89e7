#!/usr/bin/env python3
"""Sends requests to the market of the Dynamic Priority Scheduler, signed with the user's secret key.

  scheduler.py 'info=alice'                        send one query; print status, reason and body
  scheduler.py 'setSpending=0.5&queue=alice'
  scheduler.py --job                               print the three -D parameters of a signed job submission

Signed with the server's clock, or with that of this machine if the server does not answer.
Default user: your login name (`id -un`). Key: from --key-file, else $HADOOP_KEY, else ~/.ssh/hadoop_key. Server: from
--server, else $JOBTRACKER_SERVER, else the file /etc/hadoop_server, else 127.0.0.1:50030.

Exit codes: 0 success, 2 wrong usage or refused, 3 access denied, 4 the server cannot be reached or does not answer.
"""

import argparse
import base64
import hashlib
import hmac
import http.client
import os
import re
import stat
import subprocess
import sys
import time
import urllib.parse

DONE, USAGE, DENIED, UNREACHABLE = 0, 2, 3, 4
PATH = "/scheduler"
KEY_FILE = "~/.ssh/hadoop_key"
SERVER_FILE = "/etc/hadoop_server"
SERVER = "127.0.0.1:50030"
TIMEOUT_S = 30
# Signatures for one query, each a millisecond later: so many programs of a user may sign the same at one time
MOST_SIGNATURES = 100
TIME_TIMEOUT_S = 2


class UsageError(Exception):
    """A mistake of the caller: only its message is shown."""


def sign(text, key):
    """The URL-encoded HMAC-SHA1 of a text, as the Authorization header and the job property carry it."""
    digest = hmac.new(key.encode(), text.encode(), hashlib.sha1).digest()
    return urllib.parse.quote(base64.b64encode(digest).decode(), safe="")


def signed_query(query, user, timestamp_ms):
    """The query as sent and signed; for a job, the operation is empty."""
    return f"{query}&user={user}&timestamp={timestamp_ms}"


def job_parameters(user, key, timestamp_ms):
    """The properties of a signed submission; the queue is the submitter's own."""
    signature = sign(signed_query("", user, timestamp_ms), key)
    return [
        f"-Dmapred.job.timestamp={timestamp_ms}",
        f"-Dmapred.job.signature={signature}",
        f"-Dmapreduce.job.queue.name={user}",
    ]


def current_user():
    return subprocess.run(["id", "-un"], check=True, capture_output=True, text=True).stdout.strip()


def first_line_of(path):
    """The only line of a file, trimmed."""
    with open(os.path.expanduser(path), encoding="utf-8") as file:
        return file.read().strip()


def warn_of_others(path):
    """Warns if other users of this machine can read or write a key file."""
    mode = os.stat(os.path.expanduser(path)).st_mode
    if stat.S_ISREG(mode) and mode & (stat.S_IROTH | stat.S_IWOTH):
        print(f"scheduler.py: warning: others can read or write {path} and sign with its key: run chmod 600 {path}", file=sys.stderr)


def read_key(key_file):
    """The secret key, from the first of its three sources."""
    if key_file is None and os.environ.get("HADOOP_KEY"):
        return os.environ["HADOOP_KEY"].strip()
    path = key_file or KEY_FILE
    try:
        key = first_line_of(path)
        warn_of_others(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"no key: {error} (give --key-file or set HADOOP_KEY)") from error
    if not key:
        raise UsageError(f"no key: {path} is empty")
    if key.startswith("\ufeff"):
        raise UsageError(f"the key in {path} begins with a byte order mark: save the file as UTF-8 without one")
    if len(key.split()) > 1:
        raise UsageError(f"there is more than a key in {path}: write the key alone, no comment and no line of the ACL file")
    return key


def read_server(server):
    """The address HOST:PORT, from the first of its four sources."""
    if server is None:
        server = os.environ.get("JOBTRACKER_SERVER") or None
    if server is None:
        try:
            server = first_line_of(SERVER_FILE)
        except (OSError, UnicodeDecodeError):
            server = SERVER
    server = server.removeprefix("http://").rstrip("/")
    if not server:
        raise UsageError("no server: give --server HOST:PORT")
    return server


def send(server, query, user, key, timestamp_ms):
    """Sends one signed query; returns the response and its body."""
    query = signed_query(query, user, timestamp_ms)
    try:
        connection = http.client.HTTPConnection(server, timeout=TIMEOUT_S)
        connection.request("GET", f"{PATH}?{query}", headers={"Authorization": sign(query, key)})
        response = connection.getresponse()
        return response, response.read().decode("utf-8", "replace")
    except (http.client.InvalidURL, UnicodeError) as error:
        raise UsageError(f"bad query or server: {error}") from error


def ask(server, query, user, key, timestamp_ms):
    """Sends one signed query and prints the answer; returns the exit code."""
    try:
        for later_ms in range(MOST_SIGNATURES):
            response, body = send(server, query, user, key, timestamp_ms + later_ms)
            # Another program of the user has signed the same in the same millisecond, and the server has changed nothing.
            if response.status == 200 or "was used before" not in body:
                break
    except (OSError, http.client.HTTPException) as error:
        print(f"scheduler.py: {server} cannot be reached: {error}", file=sys.stderr)
        return UNREACHABLE
    print(response.status, response.reason)
    print(body, end="" if body.endswith("\n") else "\n")
    if response.status == 200:
        return DONE
    if "ACCESS DENIED" in response.reason + body:
        return DENIED
    return USAGE if response.status < 500 else UNREACHABLE


def server_time_ms(server):
    """The clock of the server, which every query is compared with; None if it does not answer."""
    try:
        connection = http.client.HTTPConnection(server, timeout=TIME_TIMEOUT_S)
        connection.request("GET", f"{PATH}?time")
        response = connection.getresponse()
        found = re.search(r"<time>\s*(\d+)\s*</time>", response.read().decode("utf-8", "replace"))
        return int(found.group(1)) if response.status == 200 and found else None
    except (OSError, ValueError, http.client.HTTPException):
        return None


def timestamp(server):
    """The time to sign at: the server's, else that of this machine, with a note."""
    timestamp_ms = server_time_ms(server)
    if timestamp_ms is None:
        print(f"scheduler.py: note: {server} gives no time: signed with the clock of this machine", file=sys.stderr)
        return time.time_ns() // 1_000_000
    return timestamp_ms


def arguments():
    about, _, details = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="scheduler.py", description=about, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("query", nargs="?", help="query to send, such as price, time, info=QUEUE, infos, addBudget=N&queue=QUEUE")
    parser.add_argument("--job", action="store_true", help="print the parameters of a signed job submission")
    parser.add_argument("--user", help="sign as this user")
    parser.add_argument("--key-file", help="file with the secret key")
    parser.add_argument("--server", help="HOST:PORT of the JobTracker's web server")
    parsed = parser.parse_args()
    if parsed.job == (parsed.query is not None):
        parser.error("give either a query or --job")
    return parsed


def main():
    parsed = arguments()
    try:
        user = parsed.user or current_user()
        key = read_key(parsed.key_file)
        server = read_server(parsed.server)
        if parsed.job:
            print(*job_parameters(user, key, timestamp(server)))
            return DONE
        return ask(server, parsed.query, user, key, timestamp(server))
    except UsageError as error:
        print(f"scheduler.py: {error}", file=sys.stderr)
        return USAGE


if __name__ == "__main__":
    sys.exit(main())
