"""Signatures and timestamps."""

import os
import tempfile
import unittest
from unittest import mock

from jobtracker_apps import Signed, Unsigned, find_credentials, find_server, sign, sign_request
from jobtracker_apps.request_clock import RequestClock
from jobtracker_apps.signing import sha256_hex

KEY = "alicekey-abc"
ALLOCATE = "/ws/v1/cluster/apps/application_1700000000000_0001/allocate?user=alice&timestamp=1700000000001&sha256="


class Signatures(unittest.TestCase):
    def test_vectors(self):
        digest = sha256_hex(b'{"attempt":1,"response-id":0}')
        vectors = [
            ("GET", "/ws/v1/cluster/apps?user=alice&timestamp=1700000000000", "X%2BFsVfeHCWe7xoaAOfvzy4v7g7A%3D"),
            (
                "POST",
                "/ws/v1/cluster/apps/new-application?user=alice&timestamp=1700000000002",
                "bbSjRzl1kljzt0x0q8TqeSOa7%2BQ%3D",
            ),
            ("POST", ALLOCATE + digest, "oN0QlXr2ZID%2FukWI0%2FhKlgngigg%3D"),
        ]
        for method, target, signature in vectors:
            self.assertEqual(sign_request(method, target, KEY), signature)
        self.assertEqual(digest, "4c3830bf09dfb3f0f263cf78d7f4322e4193b36166da52033c820beb30ffd83f")

    def test_the_text_is_that_of_the_scheduler_too(self):
        self.assertEqual(sign("info=alice&user=alice&timestamp=1700000000000", KEY), "JVa0yXYFKIhmBKTdmYzPdNt4IaE%3D")

    def test_a_key_does_not_print(self):
        self.assertNotIn(KEY, repr(Signed("alice", KEY)))


class Places(unittest.TestCase):
    def test_server(self):
        with mock.patch.dict(os.environ, {"JOBTRACKER_SERVER": "a:1"}):
            self.assertEqual(find_server(), "a:1")
            self.assertEqual(find_server("http://b:2/"), "b:2")

    def test_key(self):
        with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, {"HOME": home, "HADOOP_KEY": ""}):
            self.assertEqual(find_credentials("alice"), Unsigned("alice"))
            os.mkdir(f"{home}/.ssh")
            for name, text in (("hadoop_key", "from-home\n"), ("other", "from-file\n"), ("empty", "\n")):
                with open(f"{home}/.ssh/{name}", "w", encoding="utf-8") as file:
                    file.write(text)
                os.chmod(f"{home}/.ssh/{name}", 0o600)
            self.assertEqual(find_credentials("alice"), Signed("alice", "from-home"))
            self.assertEqual(find_credentials("alice", f"{home}/.ssh/other"), Signed("alice", "from-file"))
            with self.assertRaises(ValueError):
                find_credentials("alice", f"{home}/.ssh/empty")
            with self.assertRaises(OSError):
                find_credentials("alice", f"{home}/.ssh/missing")
            for text in ("\ufeffkey\n", "# of alice\nkey\n", "alice user key\n"):
                with open(f"{home}/.ssh/other", "w", encoding="utf-8") as file:
                    file.write(text)
                with self.assertRaisesRegex(ValueError, "key"):
                    find_credentials("alice", f"{home}/.ssh/other")
            os.environ["HADOOP_KEY"] = "from-environment"
            self.assertEqual(find_credentials("alice"), Signed("alice", "from-environment"))


class Clock(unittest.TestCase):
    def test_timestamps_rise_within_a_millisecond(self):
        clock = RequestClock(lambda: 1000)
        self.assertEqual([clock.next_ms() for _ in range(3)], [1000, 1001, 1002])

    def test_a_correction_goes_back_to_what_was_used(self):
        clock = RequestClock(lambda: 900_000)
        self.assertEqual(clock.next_ms(), 900_000)
        clock.correct(500)
        self.assertEqual(clock.next_ms(), 500)
        clock.mark_used(500)
        clock.correct(400)
        self.assertEqual(clock.next_ms(), 501)
