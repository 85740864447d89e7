#!/usr/bin/env python3
"""Asks a JobTracker what the stock client has no command for, in version 4 of Hadoop's IPC.

ask_jobtracker.py PORT status                   prints three numbers: TaskTrackers that live, maps and reduces they run
ask_jobtracker.py PORT diagnostics ATTEMPT...   prints what each of these attempts said that went wrong
ask_jobtracker.py PORT pace SECONDS             asks for the status again and again for so long, on one connection; prints two numbers: how many
                                                answers came, and after how many ms the latest of them
ask_jobtracker.py PORT refusal STAGING          submits a job that is not there in that folder; prints the exception's class and text
"""

import socket
import struct
import sys
import time

PROTOCOL = b"org.apache.hadoop.mapred.JobSubmissionProtocol"
STATUS = b"org.apache.hadoop.mapred.ClusterStatus"
JOB_ID = b"org.apache.hadoop.mapred.JobID"
CREDENTIALS = b"org.apache.hadoop.security.Credentials"
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


class Refused(Exception):
    """An answer that is an exception: its class and text."""


def ask(connection, method, *parameters):
    """Calls the method; the answer stands behind its status."""
    head = struct.pack(">i", 0) + utf(method) + struct.pack(">i", len(parameters))
    connection.sendall(with_length(head + b"".join(parameters)))
    answer = Answer(connection.makefile("rb"))
    answer.read(">i")
    if answer.read(">i") != 0:
        raise Refused(*[answer.stream.read(answer.read(">i")).decode() for _ in range(2)])
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


def refusal(connection, staging):
    answer = ask(connection, b"getNewJobId")
    answer.expect(JOB_ID)
    answer.expect(JOB_ID)
    # A number and the start's name, of which the length stands before it.
    number = answer.stream.read(4)
    start = answer.stream.read(answer.read(">b"))
    folder = f"{staging}/job_{start.decode()}_{int.from_bytes(number):04}"
    no_credentials = utf(CREDENTIALS) * 2 + bytes([0, 0])
    try:
        ask(connection, b"submitJob", utf(JOB_ID) * 2 + number + text(start), utf(b"java.lang.String") + utf(folder.encode()), no_credentials)
    except Refused as refused:
        return ": ".join(refused.args)
    sys.exit("ask_jobtracker: the submission was accepted")


def pace(connection, seconds):
    times_ms = []
    end = time.monotonic() + float(seconds)
    while (began := time.monotonic()) < end:
        status(connection)
        times_ms.append(round(1000 * (time.monotonic() - began)))
        time.sleep(0.05)
    return f"{len(times_ms)} {max(times_ms)}"


def main():
    port, question, *arguments = sys.argv[1:]
    with socket.create_connection(("127.0.0.1", int(port)), ANSWER_LIMIT_S) as connection:
        user = bytes([1]) + utf(b"alice") + bytes([0])
        connection.sendall(b"hrpc" + bytes([4, SIMPLE_AUTHENTICATION]) + with_length(text(PROTOCOL) + user))
        if question == "status":
            print(status(connection))
        elif question == "pace":
            print(pace(connection, *arguments))
        elif question == "refusal":
            print(refusal(connection, *arguments))
        else:
            print(*[diagnostics(connection, attempt) for attempt in arguments], sep="\n")


try:
    main()
except Refused as refused:
    sys.exit(f"ask_jobtracker: {': '.join(refused.args)}")
