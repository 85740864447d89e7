"""Repeats, resync and successors: each call counts once."""

import threading
import unittest

from test_client import Case

from jobtracker_apps import ANY, Capability, NoSuchApplication, RequestType, Resync, Row, Session, Superseded
from jobtracker_apps.model import rows_to_json
from jobtracker_apps.transport import send

ONE = RequestType(1, Capability(512))


class Sessions(Case):
    def session(self, jobtracker, **options):
        session = Session.submit(self.client(jobtracker, **options), "test")
        session.register()
        return session

    def test_a_lost_answer_is_given_again(self):
        for keys in ({"alice": "alicekey-abc"}, None):
            jobtracker = self.start(keys=keys)
            session = self.session(jobtracker)
            ask = {"ask": rows_to_json([Row(ONE, ANY, 1)])}
            jobtracker.fail("lose answer", "lose answer", "unavailable", "lose request", at="/allocate")
            self.assertEqual(session.allocate(ask)["response-id"], 1)
            self.assertEqual(len(jobtracker.only.asked), 1)
            bodies = {body for _, path, body in jobtracker.requests if path.endswith("/allocate")}
            self.assertEqual(len(bodies), 1)
            granted = jobtracker.grant("h1")
            jobtracker.fail("lose answer", at="/allocate")
            (container,) = session.allocate({})["allocated-containers"]
            self.assertEqual(container["container-id"], granted.id)
            self.assertEqual(session.allocate({})["allocated-containers"], [])

    def test_an_id_that_a_restart_has_forgotten_is_followed_by_another(self):
        jobtracker = self.start()
        client = self.client(jobtracker)
        given, forgotten = client.new_application, []

        def forgetful():
            answer = given()
            if len(forgotten) < most:
                forgotten.append(answer["application-id"])
                jobtracker.given_ids[answer["application-id"]] = "another user"
            return answer

        client.new_application = forgetful
        most = 2
        self.assertNotIn(Session.submit(client).application_id, forgotten)
        self.assertEqual(len(forgotten), 2)
        most = 100
        with self.assertRaises(NoSuchApplication):
            Session.submit(client)

    def test_a_repeated_call_takes_over_the_wait(self):
        jobtracker = self.start()
        answers = []

        def impatient(server, method, target, headers, body, timeout_s):
            if target.partition("?")[0].endswith("/allocate") and not answers:
                first = threading.Thread(
                    target=lambda: answers.append(send(server, method, target, headers, body, timeout_s)), daemon=True
                )
                first.start()
                with jobtracker.when(lambda: jobtracker.only.taken is not None):
                    self.addCleanup(first.join)
                    answers.append(None)
                raise TimeoutError("no answer in time")
            if target.partition("?")[0].endswith("/allocate"):
                threading.Timer(0.02, jobtracker.grant, ["h1"]).start()
            return send(server, method, target, headers, body, timeout_s)

        session = self.session(jobtracker, transport=impatient)
        answer = session.allocate({"ask": rows_to_json([Row(ONE, ANY, 1)])}, wait_ms=10_000)
        self.assertEqual(len(answer["allocated-containers"]), 1)
        self.assertEqual(len(jobtracker.only.asked), 1)

    def test_another_body_under_the_same_id_is_no_repeat(self):
        jobtracker = self.start()
        session = self.session(jobtracker)
        session.allocate({})
        session.response_id = 5
        with self.assertRaises(Resync):
            session.allocate({})
        self.assertEqual(session.register()["attempt"], 2)
        self.assertEqual(session.allocate({})["response-id"], 1)

    def test_a_successor_needs_id_and_secret_only(self):
        jobtracker = self.start(keys={"alice": "alicekey-abc"})
        session = self.session(jobtracker)
        session.allocate({"ask": rows_to_json([Row(ONE, ANY, 1)])})
        granted = jobtracker.grant("h1")
        successor = Session(self.client(jobtracker), session.application_id, session.secret)
        listed = successor.register()["containers"]
        self.assertEqual([(one["container-id"], one["state"]) for one in listed], [(granted.id, "ACQUIRED")])
        with self.assertRaises(Superseded):
            session.allocate({})
        self.assertEqual(successor.minimum, Capability(512, 1))
        self.assertEqual(successor.unregister(), "FINISHED")
        self.assertEqual(successor.unregister(), "FINISHED")


if __name__ == "__main__":
    unittest.main()
