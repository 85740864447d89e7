"""Masters: grants, ends, retries, registrations in between, and clean ends."""

import os
import tempfile
import unittest
from unittest import mock

from fake_jobtracker import Node
from test_client import Case

from jobtracker_apps import (
    ANY,
    ApplicationOver,
    Capability,
    Client,
    ContainerState,
    Items,
    LaunchContext,
    LaunchOnGrant,
    Master,
    RequestType,
    Session,
    Signed,
    Superseded,
    Task,
    TaskMaster,
    TaskState,
    racks_by_host,
    states_of,
)

ONE = RequestType(1, Capability(512))
ECHO = LaunchContext(["echo", "hello"])
KEYS = {"alice": "alicekey-abc"}


class Recording(Master):
    """Runs so many containers and records what happens."""

    def __init__(self, session, wanted=1, wait_ms=10_000):
        super().__init__(session, wait_ms=wait_ms)
        self.left = wanted
        self.events = []

    def on_start(self, recovered):
        self.events.append(("start", [container.id for container in recovered]))
        self.want(ONE, ANY, self.left - len(recovered))

    def on_grant(self, container):
        self.events.append(("grant", container.id))
        self.launch(container, ECHO)

    def on_complete(self, container):
        self.events.append(("complete", container.id, container.exit_status))
        self.left -= 1

    def on_launch_refused(self, container_id, reason):
        self.events.append(("refused", container_id, reason))

    def is_done(self):
        return self.left == 0


class MasterCase(Case):
    def session(self, jobtracker, **submission):
        return Session.submit(self.client(jobtracker), "test", **submission)


class Masters(MasterCase):
    def test_containers_run_to_their_end(self):
        for keys in (KEYS, None):
            jobtracker = self.start(keys=keys, works=True)
            master = Recording(self.session(jobtracker), wanted=5)
            self.assertEqual(master.run(), "SUCCEEDED")
            self.assertEqual(len([event for event in master.events if event[0] == "complete" and event[2] == 0]), 5)
            self.assertEqual((jobtracker.only.state, jobtracker.only.final_status), ("FINISHED", "SUCCEEDED"))
            self.assertEqual(master.containers, {})
            self.assertEqual(master.cluster_nodes, 1)

    def test_lost_messages_change_nothing(self):
        jobtracker = self.start(keys=KEYS, works=True)
        for _ in range(3):
            jobtracker.fail("lose answer", "lose request", "unavailable", at="/allocate")
        jobtracker.fail("lose answer", at="/register")
        jobtracker.fail("lose answer", at="/unregister")
        master = Recording(self.session(jobtracker), wanted=9)
        self.assertEqual(master.run(), "SUCCEEDED")
        self.assertEqual(len({event[1] for event in master.events if event[0] == "complete"}), 9)
        self.assertEqual(len(jobtracker.only.containers), 9)

    def test_resync_registers_again_and_sends_everything(self):
        jobtracker = self.start()
        master = Recording(self.session(jobtracker), wanted=2, wait_ms=0)
        master.store_spec("spare", ECHO)
        master.avoid("h9")
        master._start()
        master.step()
        first = jobtracker.grant("h1")
        # The server loses the conversation: the launch of this call does not arrive.
        master.step()
        jobtracker.only.response_id += 5
        jobtracker.only.specs.clear()
        jobtracker.only.blacklist.clear()
        master.step()
        master.step()
        self.assertEqual(first.state, "LAUNCHING")
        self.assertEqual(jobtracker.only.tables[(1, 512, 1, 0)].rows, {"*": 1})
        self.assertEqual((jobtracker.only.specs, jobtracker.only.blacklist), ({"spare": ECHO.to_json()}, {"h9"}))
        self.assertEqual([event for event in master.events if event[0] == "grant"], [("grant", first.id)])

    def test_a_grant_that_only_a_registration_reports_counts(self):
        jobtracker = self.start()
        master = Recording(self.session(jobtracker), wanted=3, wait_ms=0)
        master._start()
        master.step()
        granted = jobtracker.grant("h1")
        jobtracker.only.response_id += 5
        master.step()
        self.assertEqual(master.events[-1], ("grant", granted.id))
        master.step()
        self.assertEqual(granted.state, "LAUNCHING")
        self.assertEqual(jobtracker.only.tables[(1, 512, 1, 0)].rows, {"*": 2})

    def test_a_launch_that_the_server_has_lost_is_sent_again(self):
        jobtracker = self.start()
        master = Recording(self.session(jobtracker), wait_ms=0)
        master._start()
        master.step()
        granted = jobtracker.grant("h1")
        master.step()
        master.step()
        self.assertEqual(granted.state, "LAUNCHING")
        granted.state, granted.launch = "ACQUIRED", None
        jobtracker.only.response_id += 5
        master.step()
        master.step()
        self.assertEqual((granted.state, granted.launch), ("LAUNCHING", ECHO.to_json()))

    def test_a_container_that_the_server_does_not_know_any_more_has_ended(self):
        jobtracker = self.start()
        master = Recording(self.session(jobtracker), wanted=1, wait_ms=0)
        master._start()
        master.step()
        lost = jobtracker.grant("h1")
        master.step()
        del jobtracker.only.containers[lost.id]
        jobtracker.only.response_id += 5
        master.step()
        master.step()
        self.assertIn(("complete", lost.id, -100), master.events)

    def test_a_refused_launch_is_reported(self):
        jobtracker = self.start()
        master = Recording(self.session(jobtracker), wait_ms=0)
        master._start()
        master.step()
        granted = jobtracker.grant("h1")
        master.step()
        jobtracker.complete(granted, -100, "node h1:50060 was lost")
        master.step()
        self.assertEqual(
            master.events[-2:], [("refused", granted.id, "it is complete"), ("complete", granted.id, -100)]
        )

    def test_containers_may_start_at_their_grant(self):
        jobtracker = self.start(works=True)

        class Sweep(Master):
            def on_start(self, recovered):
                self.store_spec("sim", LaunchContext(["echo", "{}"]))
                self.want_items(ONE, LaunchOnGrant("sim", Items.parse("1-20")))
                self.ended = []

            def on_grant(self, container):
                assert container.state is ContainerState.LAUNCHING

            def on_complete(self, container):
                self.ended.append((container.item, self.session.client.log(container.id)))

            def is_done(self):
                return len(self.ended) == 20

        sweep = Sweep(self.session(jobtracker))
        sweep.run()
        self.assertEqual(sorted(sweep.ended), [(item, f"{item}\n".encode()) for item in range(1, 21)])
        self.assertEqual(len(jobtracker.only.asked[0]), 1)
        self.assertEqual(sum(map(len, jobtracker.only.asked)), 1)

    def test_more_than_one_answer_holds(self):
        jobtracker = self.start(works=True, most_told=2)
        jobtracker.slots_of_node = 50
        master = Recording(self.session(jobtracker), wanted=15)
        self.assertEqual(master.run(), "SUCCEEDED")
        self.assertEqual(len(jobtracker.only.containers), 15)


class Ends(MasterCase):
    def test_an_error_ends_the_application(self):
        for error, final_status in ((RuntimeError("broken"), "FAILED"), (KeyboardInterrupt(), "KILLED")):
            jobtracker = self.start(works=True)
            master = Recording(self.session(jobtracker))
            master.on_grant = mock.Mock(side_effect=error)
            with self.assertRaises(type(error)):
                master.run()
            self.assertEqual(jobtracker.only.final_status, final_status)
            self.assertIn(type(error).__name__, jobtracker.only.diagnostics)

    def test_one_that_resumes_leaves_it(self):
        jobtracker = self.start(works=True)
        master = Recording(self.session(jobtracker))
        master.ends_on_error = False
        master.on_grant = mock.Mock(side_effect=KeyboardInterrupt)
        with self.assertRaises(KeyboardInterrupt):
            master.run()
        self.assertEqual(jobtracker.only.state, "RUNNING")
        successor = Recording(Session(self.client(jobtracker), master.session.application_id, master.session.secret))
        self.assertEqual(successor.run(), "SUCCEEDED")
        self.assertEqual(len(jobtracker.only.containers), 1)

    def test_it_may_end_itself(self):
        jobtracker = self.start(works=True)
        master = Recording(self.session(jobtracker))
        master.on_grant = lambda container: master.stop("FAILED", "no use")
        self.assertEqual(master.run(), "FAILED")
        self.assertEqual((jobtracker.only.final_status, jobtracker.only.diagnostics), ("FAILED", "no use"))

    def test_it_may_be_ended_from_outside(self):
        jobtracker = self.start()
        session = self.session(jobtracker)
        master = Recording(session, wait_ms=0)
        master._start()
        self.client(jobtracker).kill(session.application_id)
        with self.assertRaises(ApplicationOver) as raised:
            master.step()
        self.assertEqual(raised.exception.state, "KILLED")

    def test_a_successor_takes_over(self):
        jobtracker = self.start()
        session = self.session(jobtracker)
        master = Recording(session, wait_ms=0)
        master._start()
        Session(self.client(jobtracker), session.application_id, session.secret).register()
        with self.assertRaises(Superseded):
            master.step()
        self.assertEqual(jobtracker.only.state, "RUNNING")

    def test_a_master_in_a_container_finds_its_application(self):
        jobtracker = self.start(keys=KEYS, works=True)
        session = self.session(jobtracker)
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(session.secret + "\n")
            file.flush()
            environment = {
                "JOBTRACKER_APPLICATION_ID": session.application_id,
                "JOBTRACKER_SECRET_FILE": file.name,
                "JOBTRACKER_SERVER": jobtracker.address,
            }
            with mock.patch.dict(os.environ, environment):
                self.assertEqual(Recording(Session.of_container()).run(), "SUCCEEDED")


class Tasks(MasterCase):
    def tasks(self, *commands, **options):
        return [Task(number, LaunchContext(command), **options) for number, command in enumerate(commands, start=1)]

    def test_failures_are_tried_again(self):
        jobtracker = self.start(works=True)
        with tempfile.TemporaryDirectory() as folder:
            once = ["sh", "-c", f"mkdir {folder}/there 2>/dev/null && exit 3; exit 0"]
            tasks = self.tasks(once, ["false"], ["true"], ["no-such-program"], max_attempts=3)
            master = TaskMaster(self.session(jobtracker), tasks)
            self.assertEqual(master.run(), "SUCCEEDED")
        self.assertEqual([task.state.value for task in tasks], ["SUCCEEDED", "FAILED", "SUCCEEDED", "FAILED"])
        self.assertEqual([task.failures for task in tasks], [1, 3, 0, 3])
        self.assertEqual([task.exit_status for task in tasks], [0, 1, 0, -1000])
        self.assertEqual(master.failed, [tasks[1], tasks[3]])
        self.assertEqual(states_of(tasks)[TaskState.FAILED], 2)

    def test_an_end_without_own_fault_does_not_count(self):
        jobtracker = self.start()
        (task,) = tasks = self.tasks(["true"])
        master = TaskMaster(self.session(jobtracker), tasks, wait_ms=0)
        master._start()
        for exit_status in (-100, -102, -105):
            master.step()
            jobtracker.complete(self.granted(jobtracker, master), exit_status)
            master.step()
            self.assertEqual((task.state, task.failures), (TaskState.WAITING, 0))
        master.step()
        jobtracker.complete(self.granted(jobtracker, master), 1)
        master.step()
        self.assertEqual((task.state, task.failures, task.returns), (TaskState.FAILED, 1, 3))

    def granted(self, jobtracker, master):
        container = jobtracker.grant("h1")
        master.step()
        master.step()
        self.assertEqual(container.state, "LAUNCHING")
        return container

    def test_tasks_run_near_their_hosts(self):
        racks = {"h1": "/r1", "h2": "/r1", "h3": "/r2"}
        jobtracker = self.start(works=True, nodes=tuple(Node(host, rack) for host, rack in racks.items()))
        tasks = [Task(number, ECHO, hosts=("h1", "h2", "h3")[number % 3 : number % 3 + 1]) for number in range(1, 10)]
        TaskMaster(self.session(jobtracker), tasks, rack_of=racks_by_host(racks)).run()
        for task in tasks:
            self.assertEqual(task.node_id, f"{task.hosts[0]}:50060")

    def test_what_is_not_needed_is_released(self):
        jobtracker = self.start()
        (task,) = tasks = self.tasks(["true"])
        master = TaskMaster(self.session(jobtracker), tasks, wait_ms=0)
        master._start()
        master.step()
        # More than was asked for: another table of the same type.
        jobtracker.only.tables[(1, 512, 1, 0)].rows["*"] = 2
        containers = [jobtracker.grant("h1") for _ in range(2)]
        master.step()
        master.step()
        self.assertEqual([container.state for container in containers], ["LAUNCHING", "COMPLETE"])
        self.assertEqual(task.container_id, containers[0].id)

    def test_a_successor_finds_what_runs_and_what_has_ended(self):
        jobtracker = self.start(keys=KEYS)
        jobtracker.slots_of_node = 10
        first = TaskMaster(self.session(jobtracker), self.tasks(*[["true"]] * 4), wait_ms=0)
        first._start()
        first.step()
        containers = [jobtracker.grant("h1") for _ in range(3)]
        first.step()
        first.step()
        saved = {number: task.to_json() for number, task in first.tasks.items()}
        # The first process is gone: one ends with success, one fails, one runs on; the fourth task waits.
        jobtracker.complete(containers[0], 0)
        jobtracker.complete(containers[1], 1)
        tasks = self.tasks(*[["true"]] * 4, max_attempts=2)
        for task in tasks:
            task.restore(saved[task.number])
        second = TaskMaster(
            Session(self.client(jobtracker), first.session.application_id, first.session.secret), tasks, wait_ms=0
        )
        second._start()
        states = [task.state.value for task in tasks]
        self.assertEqual(states, ["SUCCEEDED", "WAITING", "RUNNING", "WAITING"])
        self.assertEqual(tasks[1].failures, 1)
        second.step()
        self.assertEqual(jobtracker.only.tables[(1, 512, 1, 0)].rows, {"*": 2})
        # An end that is reported again counts once.
        jobtracker.only.pending.append(containers[1])
        second.step()
        self.assertEqual(tasks[1].failures, 1)

    def test_a_granted_container_that_was_not_launched_is_used(self):
        jobtracker = self.start()
        first = TaskMaster(self.session(jobtracker), self.tasks(["true"]), wait_ms=0)
        first._start()
        first.step()
        container = jobtracker.grant("h1")
        tasks = self.tasks(["true"])
        second = TaskMaster(
            Session(self.client(jobtracker), first.session.application_id, first.session.secret), tasks, wait_ms=0
        )
        second._start()
        second.step()
        self.assertEqual((container.state, container.item, tasks[0].container_id), ("LAUNCHING", 1, container.id))
        self.assertEqual(jobtracker.only.tables, {})

    def test_numbers_are_given_once(self):
        with self.assertRaises(ValueError):
            TaskMaster(
                Session(Client("a:1", Signed("a", "b")), "application_1_0001", ""), [Task(1, ECHO), Task(1, ECHO)]
            )


if __name__ == "__main__":
    unittest.main()
