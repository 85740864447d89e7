"""The conversation of one application with the server: registration, response ids, and calls that are repeated."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

from .client import Client, encode
from .model import Capability, Submission
from .problems import NoSuchApplication
from .reports import Allocated, Registered
from .signing import Signed

#: How often another id is asked for when the server has forgotten the one that it gave.
MAX_FORGOTTEN = 5
#: The longest wait that the server takes, ms.
MAX_WAIT_MS = 30_000


class Session:
    """Any process that has the id and the secret of an application may hold it; the last to register does."""

    def __init__(self, client: Client, application_id: str, secret: str) -> None:
        self.application_id = application_id
        self.secret = secret
        self.client = client.as_application(application_id, secret)
        self.attempt = 0
        #: Of the last answer.
        self.response_id = 0
        #: What sizes are rounded up to, as the last registration said.
        self.minimum = Capability(1)

    @classmethod
    def submit(cls, client: Client, name: str | None = None, **members: Any) -> Session:
        """A new application; `members` are those of `Submission`."""
        for is_last in [False] * MAX_FORGOTTEN + [True]:
            application_id = client.new_application()["application-id"]
            try:
                submitted = client.submit(Submission(application_id, name, **members))
            except NoSuchApplication:
                # A server that was started again since then has forgotten the id: nothing was submitted under it.
                if is_last:
                    raise
                continue
            return cls(client, application_id, submitted["secret"])
        raise AssertionError("the last id is submitted or refused")

    @classmethod
    def of_container(cls) -> Session:
        """In a master that runs in a container: by its environment."""
        application_id = os.environ["JOBTRACKER_APPLICATION_ID"]
        with open(os.environ["JOBTRACKER_SECRET_FILE"], encoding="utf-8") as file:
            secret = file.read().strip()
        client = Client(os.environ["JOBTRACKER_SERVER"], Signed(application_id, secret))
        return cls(client, application_id, secret)

    def register(self, tracking_url: str | None = None) -> Registered:
        """Begins an attempt: tables are empty, live containers are listed, earlier attempts are superseded."""
        members = {} if tracking_url is None else {"tracking-url": tracking_url}
        answer = cast(Registered, self._post("register", members))
        self.attempt = answer["attempt"]
        self.response_id = answer["response-id"]
        self.minimum = Capability.from_json(answer["minimum-resource-capability"])
        return answer

    def allocate(self, members: Mapping[str, Any], wait_ms: int = 0) -> Allocated:
        """One call with these members, such as `ask` and `release`; done once however often it must be sent.

        `Resync`: register again and send everything. `Superseded`: another process has registered.
        """
        body: dict[str, Any] = {"attempt": self.attempt, "response-id": self.response_id, **members}
        if wait_ms:
            body["wait-ms"] = min(wait_ms, MAX_WAIT_MS)
        answer = cast(Allocated, self._post("allocate", body, wait_ms))
        self.response_id = answer["response-id"]
        return answer

    def unregister(self, final_status: str = "SUCCEEDED", diagnostics: str = "") -> str:
        """Ends the application (SUCCEEDED, FAILED or KILLED) and kills what still runs; returns its state."""
        body = {"attempt": self.attempt, "final-status": final_status, "diagnostics": diagnostics}
        return str(self._post("unregister", body)["state"])

    def _post(self, verb: str, members: Mapping[str, Any], wait_ms: int = 0) -> dict[str, Any]:
        path = f"/apps/{self.application_id}/{verb}"
        return self.client.call("POST", path, body=encode(members), wait_ms=wait_ms)
