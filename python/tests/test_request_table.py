"""The table of what is wanted, against the server's rules."""

import random
import unittest

from fake_applications import FakeApplication, Node

from jobtracker_apps import ANY, Capability, Items, LaunchOnGrant, PlacedQueue, RequestTable, RequestType, racks_by_host
from jobtracker_apps.model import rows_to_json

MAP = RequestType(1, Capability(1024))
REDUCE = RequestType(2, Capability(2048))
RACKS = {"h1001": "/r11", "h1010": "/r11", "h2121": "/r22", "h3118": "/r31", "h4123": "/r45"}
NODES = {host: Node(host, rack) for host, rack in RACKS.items()}
PLACES = {"map0": ["h1001", "h2121", "h3118"], "map1": ["h1010", "h2121", "h4123"]}


class Server:
    """The rules of the server without HTTP."""

    def __init__(self, most_told=1000, **submission):
        self.application = FakeApplication("application_1_0001", "alice", "", submission, most_told)
        self.application.register()

    def call(self, table):
        rows = table.changes()
        application = self.application
        application.take_in({"attempt": 1, "response-id": application.response_id, "ask": rows_to_json(rows)})
        untold = application.untold[: application.most_told]
        application.answer_call(5)
        table.mark_sent(rows)
        table.set_behind(application.has_news())
        for one in untold:
            priority, memory, vcores, request = one.type
            type_ = RequestType(priority, Capability(memory, vcores), request)
            table.lower(type_, one.locality, one.resource_name, one.node.rack, one.item)
        return [(row.resource_name, row.num_containers) for row in rows], untold

    def grant(self, host):
        for type_ in sorted(self.application.tables):
            container = self.application.grant(type_, NODES[host])
            if container is not None:
                return container
        return None

    def rows(self, type_=MAP):
        table = self.application.tables.get((type_.priority, *type_.capability, type_.allocation_request_id))
        return {} if table is None else dict(table.rows)


class Delta(unittest.TestCase):
    def test_the_documents_example(self):
        server, table, queue = Server(), RequestTable(), PlacedQueue(racks_by_host(RACKS))
        for name, hosts in PLACES.items():
            queue.add(name, hosts)
        table.want_rows(MAP, queue.rows())
        table.want(REDUCE, ANY, 1)
        sent, _ = server.call(table)
        initial = {
            "h1001": 1,
            "h1010": 1,
            "h2121": 2,
            "h3118": 1,
            "h4123": 1,
            "/r11": 2,
            "/r22": 2,
            "/r31": 1,
            "/r45": 1,
            "*": 2,
        }
        self.assertEqual(server.rows(), initial)
        self.assertEqual(len(sent), 11)
        self.assertEqual(server.call(table)[0], [])

        granted = server.grant("h2121")
        self.assertEqual(server.rows(), {**initial, "h2121": 1, "/r22": 1, "*": 1})
        self.assertEqual(server.call(table), ([], [granted]))
        self.assertEqual(queue.take("h2121", "/r22"), "map0")
        table.want_rows(MAP, queue.rows())
        self.assertEqual(server.call(table)[0], [("h1001", 0), ("h3118", 0), ("/r11", 1), ("/r31", 0)])
        second = {
            "h1001": 0,
            "h1010": 1,
            "h2121": 1,
            "h3118": 0,
            "h4123": 1,
            "/r11": 1,
            "/r22": 1,
            "/r31": 0,
            "/r45": 1,
            "*": 1,
        }
        self.assertEqual(server.rows(), second)

        granted = server.grant("h1010")
        self.assertEqual(server.rows(), {**second, "h1010": 0, "/r11": 0, "*": 0})
        self.assertIsNone(server.application.level((1, 1024, 1, 0), NODES["h2121"]))
        self.assertEqual(server.call(table), ([], [granted]))
        self.assertEqual(queue.take("h1010", "/r11"), "map1")
        table.want_rows(MAP, queue.rows())
        # One row makes the server drop the others.
        self.assertEqual(server.call(table)[0], [("*", 0)])
        self.assertEqual((server.rows(), server.rows(REDUCE)), ({}, {"*": 1}))

    def test_a_type_that_asks_again_is_sent_as_a_whole(self):
        server, table = Server(), RequestTable()
        table.want_rows(MAP, {"h1001": 1, "/r11": 1, "h2121": 1, "/r22": 1, ANY: 1})
        server.call(table)
        server.grant("h1001")
        server.call(table)
        table.want_rows(MAP, {"h3118": 1, "/r31": 1, ANY: 1})
        server.call(table)
        self.assertEqual({name for name, number in server.rows().items() if number}, {"h3118", "/r31", "*"})

    def test_grants_on_their_way_are_not_asked_for_again(self):
        server, table = Server(), RequestTable()
        table.want(MAP, ANY, 2)
        server.call(table)
        server.grant("h1001")
        table.want(MAP, ANY, 3)
        _, told = server.call(table)
        self.assertEqual((len(told), server.rows(), table.wanted(MAP)), (1, {"*": 2}, {"*": 2}))

    def test_rows_that_the_server_has_dropped_are_sent_again(self):
        server, table = Server(), RequestTable()
        table.want_rows(MAP, {"h1001": 1, ANY: 1})
        server.call(table)
        server.grant("h4123")
        # Another piece of work in the place of the first; but that was granted, so that the type asks for nothing.
        table.want_rows(MAP, {"h2121": 1, ANY: 1})
        self.assertEqual(server.call(table)[0], [("h1001", 0), ("h2121", 1)])
        self.assertEqual(server.rows(), {})
        table.want_rows(MAP, {"h2121": 1, ANY: 1})
        server.call(table)
        self.assertEqual(server.rows()["h2121"], 1)

    def test_they_are_sent_again_while_grants_are_on_their_way(self):
        server, table = Server(most_told=1), RequestTable()
        table.want_rows(MAP, {"h1001": 2, "/r11": 2, ANY: 2})
        server.call(table)
        server.grant("h3118")
        server.grant("h4123")
        table.want_rows(MAP, {"h1001": 2, "/r11": 2, "h2121": 1, ANY: 2})
        server.call(table)
        self.assertEqual(server.rows(), {})
        table.want_rows(MAP, {"h1001": 2, "/r11": 2, "h2121": 1, ANY: 2})
        server.call(table)
        self.assertEqual(server.rows(), {"h1001": 2, "/r11": 2, "h2121": 1, "*": 1})

    def test_after_a_registration_everything_is_sent(self):
        server, table = Server(), RequestTable()
        table.want_rows(MAP, {"h1001": 1, "/r11": 1, ANY: 1})
        server.call(table)
        table.want(REDUCE, ANY, 0)
        server.application.register()
        table.forget_sent()
        server.call(table)
        self.assertEqual((server.rows(), server.rows(REDUCE)), ({"h1001": 1, "/r11": 1, "*": 1}, {}))

    def test_items_are_those_that_were_not_granted(self):
        server, table = Server(), RequestTable()
        server.application.specs["sim"] = {"command": ["true"]}
        table.want_items(MAP, LaunchOnGrant("sim", Items.parse("1-5"), max_running=3))
        server.call(table)
        self.assertTrue(table.launches_on_grant(MAP))
        self.assertEqual([server.grant("h1001").item for _ in range(2)], [1, 2])
        server.call(table)
        items = Items.parse("3-5")
        items.add(1)
        table.want_items(MAP, LaunchOnGrant("sim", items))
        server.call(table)
        self.assertEqual([server.grant("h1001").item for _ in range(4)], [3, 4, 5, 1])
        self.assertIsNone(server.grant("h1001"))

    def test_the_server_has_what_is_wanted_whatever_happens(self):
        for seed in range(40):
            chance = random.Random(seed)
            server = Server(most_told=chance.choice([1, 2, 1000]))
            table, queue, number = RequestTable(), PlacedQueue(racks_by_host(RACKS)), 0
            for _ in range(40):
                for _ in range(chance.choice([0, 0, 0, 1, 4])):
                    number += 1
                    queue.add(number, chance.sample(sorted(RACKS), chance.randint(0, 3)))
                for _ in range(chance.choice([0, 1, 3])):
                    server.grant(chance.choice(sorted(RACKS)))
                table.want_rows(MAP, queue.rows())
                _, told = server.call(table)
                for container in told:
                    self.assertIsNotNone(queue.take(container.node.host, container.node.rack), f"seed {seed}: too many")
            while queue or server.application.untold:
                table.want_rows(MAP, queue.rows())
                _, told = server.call(table)
                for container in told:
                    self.assertIsNotNone(queue.take(container.node.host, container.node.rack), f"seed {seed}: too many")
                if not server.application.untold:
                    table.want_rows(MAP, queue.rows())
                    server.call(table)
                    wanted = queue.rows()
                    have = {name: count for name, count in server.rows().items() if count}
                    self.assertEqual(have, wanted, f"seed {seed}")
                    self.assertTrue(not queue or server.grant(chance.choice(sorted(RACKS))), f"seed {seed}: starved")
            table.want_rows(MAP, queue.rows())
            server.call(table)
            # Nothing is left of the table; a single row of 0 asks for nothing.
            self.assertIn(server.rows(), ({}, {"*": 0}), f"seed {seed}")


class Places(unittest.TestCase):
    def test_levels_agree(self):
        chance = random.Random(7)
        queue, waiting = PlacedQueue(racks_by_host(RACKS)), {}
        for number in range(500):
            hosts = chance.choices(sorted(RACKS), k=chance.randint(0, 4))
            queue.add(number, hosts)
            waiting[number] = set(hosts)
            if chance.random() < 0.6:
                host = chance.choice(sorted(RACKS))
                taken = queue.take(host, RACKS[host])
                there = waiting.pop(taken)
                if host not in there:
                    self.assertFalse(any(host in hosts for hosts in waiting.values()))
            expected = {ANY: len(waiting)} if waiting else {}
            for hosts in waiting.values():
                for name in hosts | {RACKS[host] for host in hosts}:
                    expected[name] = expected.get(name, 0) + 1
            self.assertEqual(queue.rows(), expected)
        self.assertEqual(len(queue), len(waiting))

    def test_misuse(self):
        queue = PlacedQueue()
        queue.add("a", ["h1"])
        self.assertEqual(queue.rows(), {"h1": 1, "*": 1})
        with self.assertRaises(ValueError):
            queue.add("a")
        self.assertFalse(queue.remove("b"))


class ItemTexts(unittest.TestCase):
    def test_texts(self):
        for text, shown in (("1-3", "1-3"), ("5,1-2", "5,1-2"), ("0-8:4", "0,4,8"), ("7-7", "7"), ("3,4,5", "3-5")):
            self.assertEqual(str(Items.parse(text)), shown)
        self.assertEqual(str(Items()), "")

    def test_bad_texts(self):
        for text in ("", "a", "3-1", "1-5:0", "1:2", "-1", "1,1", "1-3,2", "2147483648", "1,,2", " 1", "1-5:"):
            with self.assertRaises(ValueError, msg=text):
                Items.parse(text)


if __name__ == "__main__":
    unittest.main()
