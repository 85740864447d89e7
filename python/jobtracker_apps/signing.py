"""Who calls, and the signature that shows it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import pwd
import stat
import sys
import urllib.parse
from dataclasses import dataclass, field
from typing import Union

KEY_FILE = "~/.ssh/hadoop_key"
SERVER_FILE = "/etc/hadoop_server"
SERVER = "127.0.0.1:50030"


@dataclass(frozen=True)
class Signed:
    """Signs as a user with a key of the ACL file, or as an application (its id) with its secret."""

    user: str
    key: str = field(repr=False)


@dataclass(frozen=True)
class Unsigned:
    """Names a user without a signature: for a JobTracker without a key file, from the machine that it runs on."""

    user: str


Credentials = Union[Signed, Unsigned]


def sign(text: str, key: str) -> str:
    """The HMAC-SHA1 of a text in base64, URL-encoded, as the header Authorization carries it."""
    digest = hmac.new(key.encode(), text.encode(), hashlib.sha1).digest()
    return urllib.parse.quote(base64.b64encode(digest).decode(), safe="")


def sign_request(method: str, target: str, key: str) -> str:
    """The signature of a request; `target` is `PATH?QUERY` exactly as it is sent."""
    return sign(f"{method} {target}", key)


def sha256_hex(body: bytes) -> str:
    """The value of the parameter sha256."""
    return hashlib.sha256(body).hexdigest()


def find_server(server: str | None = None) -> str:
    """HOST:PORT of the web address: as given, else $JOBTRACKER_SERVER, else /etc/hadoop_server, else this machine's."""
    found = server or os.environ.get("JOBTRACKER_SERVER")
    if not found:
        try:
            with open(SERVER_FILE, encoding="utf-8") as file:
                found = file.read().strip()
        except OSError:
            found = SERVER
    found = found.removeprefix("http://")
    return found.rstrip("/")


def find_credentials(user: str | None = None, key_file: str | None = None) -> Credentials:
    """Signs if there is a key: in `key_file`, else in $HADOOP_KEY, else in ~/.ssh/hadoop_key; else names the user.

    The user is the login name unless given. A `key_file` that cannot be read is an OSError; an empty one, and one that has
    more than the key, is a ValueError.
    """
    # Not by $USER: a JobTracker without keys holds the name to the uid.
    name = user or pwd.getpwuid(os.geteuid()).pw_name
    if key_file is None:
        key = os.environ.get("HADOOP_KEY", "").strip()
        if key:
            return Signed(name, key_alone(key, "$HADOOP_KEY"))
        if not os.path.exists(os.path.expanduser(KEY_FILE)):
            return Unsigned(name)
    path = os.path.expanduser(key_file or KEY_FILE)
    with open(path, encoding="utf-8") as file:
        key = file.read().strip()
        mode = os.fstat(file.fileno()).st_mode
    if not key:
        raise ValueError(f"no key: {path} is empty")
    if stat.S_ISREG(mode) and mode & (stat.S_IROTH | stat.S_IWOTH):
        print(f"warning: others can read or write {path} and sign with its key: run chmod 600 {path}", file=sys.stderr)
    return Signed(name, key_alone(key, path))


def key_alone(key: str, place: str) -> str:
    """The key, if nothing else stands there: every signature with a comment or a line of the ACL file is denied."""
    if key.startswith("\ufeff"):
        raise ValueError(f"the key in {place} begins with a byte order mark: save the file as UTF-8 without one")
    if len(key.split()) > 1:
        raise ValueError(f"there is more than a key in {place}: write the key alone, no comment and no line of the ACL file")
    return key
