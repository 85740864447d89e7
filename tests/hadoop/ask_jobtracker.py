#!/usr/bin/env python3
"""Asks a JobTracker what the stock client has no command for, in version 4 of Hadoop's IPC.

ask_jobtracker.py PORT status                   prints three numbers: TaskTrackers that live, maps and reduces they run
ask_jobtracker.py PORT diagnostics ATTEMPT...   prints what each of these attempts said that went wrong
"""

import socket
import struct
import sys

PROTOCOL = b"org.apache.hadoop.mapred.JobSubmissionProtocol"
STATUS = b"org.apache.hadoop.mapred.ClusterStatus"
ATTEMPT_ID = b"org.apache.hadoop.mapred.TaskAttemptID"
STRINGS = b"[Ljava.lang.String;"
ANSWER_LIMIT_S = 20
SIMPLE_AUTHENTICATION = 80


def utf(text):
    """Java's writeUTF."""
    return struct.pack(">H", len(text)) + text


def text(value):
    """Hadoop's Text, below 128 bytes."""
    return bytes([len(value)]) + value


def with_length(body):
    return struct.pack(">i", len(body)) + body


class Answer:
    """Reads an answer from its start."""

    def __init__(self, stream):
        self.stream = stream

    def read(self, layout):
        size = struct.calcsize(layout)
        read = self.stream.read(size)
        if len(read) != size:
            sys.exit("cluster_status: the connection was closed in the middle of the answer")
        return struct.unpack(layout, read)[0]

    def utf(self):
        return self.stream.read(self.read(">H"))

    def expect(self, name):
        if (found := self.utf()) != name:
            sys.exit(f"ask_jobtracker: {found} in the answer where {name} was expected")


def ask(connection, method, parameters):
    """Calls the method; the answer stands behind its status."""
    head = struct.pack(">i", 0) + utf(method) + struct.pack(">i", 1)
    connection.sendall(with_length(head + parameters))
    answer = Answer(connection.makefile("rb"))
    answer.read(">i")
    if answer.read(">i") != 0:
        sys.exit(f"ask_jobtracker: {method} was answered with an error")
    return answer


def status(connection):
    answer = ask(connection, b"getClusterStatus", utf(b"boolean") + bytes([0]))
    answer.expect(STATUS)
    answer.expect(STATUS)
    counts = []
    for _ in ("active", "blacklisted", "graylisted"):
        counts.append(answer.read(">i"))
        if answer.read(">i") != 0:
            sys.exit("ask_jobtracker: names of trackers came unasked")
    answer.read(">i")
    answer.read(">q")
    return f"{counts[0]} {answer.read('>i')} {answer.read('>i')}"


def diagnostics(connection, attempt):
    _, start, job, kind, task, number = attempt.split("_")
    numbers = struct.pack(">iii", int(number), int(task), int(job))
    encoded = numbers + text(start.encode()) + bytes([kind == "m"])
    answer = ask(connection, b"getTaskDiagnostics", utf(ATTEMPT_ID) * 2 + encoded)
    answer.expect(STRINGS)
    texts = []
    for _ in range(answer.read(">i")):
        answer.expect(b"java.lang.String")
        texts.append(answer.utf().decode())
    return "\n".join(texts)


def main():
    port, question, *attempts = sys.argv[1:]
    with socket.create_connection(("127.0.0.1", int(port)), ANSWER_LIMIT_S) as connection:
        user = bytes([1]) + utf(b"alice") + bytes([0])
        connection.sendall(b"hrpc" + bytes([4, SIMPLE_AUTHENTICATION]) + with_length(text(PROTOCOL) + user))
        if question == "status":
            print(status(connection))
        else:
            print(*[diagnostics(connection, attempt) for attempt in attempts], sep="\n")


main()
