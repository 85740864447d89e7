"""The client against a JobTracker that loses, delays and refuses."""

import unittest

from fake_jobtracker import BASE, FakeJobTracker, Node

from jobtracker_apps import (
    ApplicationExists,
    Client,
    Forbidden,
    InvalidRequest,
    NoSuchApplication,
    Problem,
    SignatureRefused,
    Signed,
    Submission,
    TimestampRefused,
    Unavailable,
    Unreachable,
    Unsigned,
)
from jobtracker_apps.problems import problem_of

KEYS = {"alice": "alicekey-abc", "bob": "bobkey-def"}


class Case(unittest.TestCase):
    def start(self, **options):
        jobtracker = FakeJobTracker(**options)
        self.addCleanup(jobtracker.stop)
        return jobtracker

    def client(self, jobtracker, user="alice", **options):
        key = (jobtracker.keys or {}).get(user)
        credentials = Signed(user, key) if key else Unsigned(user)
        return Client(jobtracker.address, credentials, sleep=lambda _: None, **options)


class Calls(Case):
    def test_signed(self):
        jobtracker = self.start(keys=KEYS)
        client = self.client(jobtracker)
        application_id = client.new_application()["application-id"]
        submitted = client.submit(Submission(application_id, "näme", expiry_ms=10_000))
        self.assertEqual(submitted["state"], "ACCEPTED")
        self.assertEqual(client.application(application_id)["id"], application_id)
        self.assertEqual(client.state(application_id), "ACCEPTED")
        self.assertEqual(client.kill(application_id), "KILLED")
        self.assertEqual(client.info()["version"], "0.1.0")
        with self.assertRaises(SignatureRefused):
            Client(jobtracker.address, Signed("alice", "wrong")).new_application()

    def test_unsigned(self):
        client = self.client(self.start())
        application_id = client.new_application()["application-id"]
        secret = client.submit(Submission(application_id))["secret"]
        self.assertEqual(client.as_application(application_id, secret).state(application_id), "ACCEPTED")

    def test_a_key_that_the_server_does_not_know_gives_way_to_the_name(self):
        jobtracker = self.start()
        with self.assertRaises(SignatureRefused):
            Client(jobtracker.address, Signed("alice", "key")).new_application()
        client = Client(jobtracker.address, Signed("alice", "key"), may_be_believed=True)
        client.new_application()
        self.assertEqual(client.credentials, Unsigned("alice"))
        signed = self.start(keys=KEYS)
        with self.assertRaises(SignatureRefused):
            Client(signed.address, Signed("alice", "key"), may_be_believed=True).new_application()

    def test_the_clock_follows_the_server(self):
        for ahead_ms in (3_600_000, -3_600_000):
            jobtracker = self.start(keys=KEYS)
            jobtracker.clock_ahead_ms = ahead_ms
            client = self.client(jobtracker)
            for _ in range(3):
                client.new_application()
            # One refusal: the first timestamp.
            self.assertEqual(len(jobtracker.requests), 4)

    def test_another_program_of_the_user_signs_in_the_same_moment(self):
        jobtracker = self.start(keys=KEYS)
        now_ms = jobtracker.now_ms()
        one, other = (self.client(jobtracker, now_ms=lambda: now_ms) for _ in range(2))
        jobtracker.now_ms = lambda: now_ms + len(jobtracker.requests)
        for _ in range(5):
            one.new_application()
            other.new_application()
        self.assertEqual(len(jobtracker.given_ids), 10)

    def test_a_clock_that_is_refused_for_ever_is_an_error(self):
        jobtracker = self.start(keys=KEYS)
        jobtracker._stamps["alice"] = jobtracker.now_ms() + 250_000
        with self.assertRaises(TimestampRefused) as raised:
            self.client(jobtracker).new_application()
        self.assertGreater(raised.exception.server_time_ms, 0)

    def test_lost_calls_are_repeated(self):
        jobtracker = self.start(keys=KEYS)
        client = self.client(jobtracker)
        application_id = client.new_application()["application-id"]
        jobtracker.fail("lose request", "unavailable", "lose answer", at="/apps")
        secret = client.submit(Submission(application_id))["secret"]
        self.assertEqual(jobtracker.only.secret, secret)
        self.assertEqual([path for _, path, _ in jobtracker.requests].count(f"{BASE}/apps"), 4)

    def test_patience_ends(self):
        jobtracker = self.start()
        client = self.client(jobtracker, patience_s=0.0)
        client.new_application()
        jobtracker.fail("unavailable", at="/new-application")
        with self.assertRaises(Unavailable) as raised:
            client.new_application()
        self.assertIn("starting", str(raised.exception))
        jobtracker.fail("lose answer", at="/new-application")
        with self.assertRaises(Unreachable):
            client.new_application()

    def test_a_wrong_address_is_an_error_soon(self):
        with self.assertRaises(Unreachable) as raised:
            Client("127.0.0.1:1", Unsigned("alice"), first_patience_s=0.0).info()
        self.assertIn("127.0.0.1:1", str(raised.exception))


class Refusals(Case):
    def test_refusals_are_typed(self):
        jobtracker = self.start(keys=KEYS)
        client = self.client(jobtracker)
        application_id = client.new_application()["application-id"]
        client.submit(Submission(application_id, "one"))
        with self.assertRaises(ApplicationExists):
            client.submit(Submission(application_id, "two"))
        with self.assertRaises(Forbidden) as forbidden:
            self.client(jobtracker, "bob").application(application_id)
        self.assertEqual(forbidden.exception.instance, f"{BASE}/apps/{application_id}")
        with self.assertRaises(NoSuchApplication):
            client.application("application_1_0001")

    def test_they_name_the_member(self):
        client = self.client(self.start())
        application_id = client.new_application()["application-id"]
        with self.assertRaises(InvalidRequest) as raised:
            client.submit_json({"application-id": application_id, "nmae": "x"})
        (error,) = raised.exception.errors
        self.assertEqual((error.pointer, error.detail), ("#/nmae", "unknown member"))
        self.assertIn("#/nmae: unknown member", str(raised.exception))

    def test_answers_that_are_no_problems(self):
        self.assertIs(type(problem_of(502, b"<html>")), Unavailable)
        for body in (b"", b"[]", b"\xff", b'"text"'):
            problem = problem_of(418, body)
            self.assertIs(type(problem), Problem)
            self.assertTrue(str(problem).startswith("418: "), str(problem))
            self.assertEqual(problem.status, 418)
        self.assertIs(type(problem_of(401, b'{"type": "/problems/timestamp-refused"}')), Problem)
        parameter = problem_of(
            400, b'{"type": "/problems/invalid-request", "errors": [{"parameter": "limit", "detail": "d"}]}'
        )
        self.assertEqual(parameter.errors[0].parameter, "limit")


class Reports(Case):
    def test_lists_are_read_page_by_page(self):
        jobtracker = self.start()
        client = self.client(jobtracker)
        ids = [client.new_application()["application-id"] for _ in range(5)]
        for application_id in ids:
            client.submit(Submission(application_id))
        from jobtracker_apps import client as module

        page, module.PAGE = module.PAGE, 2
        self.addCleanup(setattr, module, "PAGE", page)
        self.assertEqual([report["id"] for report in client.applications()], ids[::-1])

    def test_lists_are_of_one_user(self):
        for keys in (KEYS, None):
            jobtracker = self.start(keys=keys)
            ids = {}
            for user in ("alice", "bob"):
                client = self.client(jobtracker, user)
                ids[user] = client.new_application()["application-id"]
                client.submit(Submission(ids[user]))
            client = self.client(jobtracker, "alice")
            self.assertEqual([report["id"] for report in client.applications(user="bob")], [ids["bob"]])
            self.assertEqual(len(list(client.applications())), 2)

    def test_nodes(self):
        client = self.client(self.start(nodes=(Node("h1", "/r1"), Node("h2", "/r2"))))
        self.assertEqual([node["rack"] for node in client.nodes()], ["/r1", "/r2"])


if __name__ == "__main__":
    unittest.main()
