"""Pieces of work with places: counts for hosts, racks and any node that always agree, and which piece suits a node."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Callable, Generic, TypeVar

from .model import ANY
from .reports import NodeReport

DEFAULT_RACK = "/default-rack"
#: Host to rack.
RackOf = Callable[[str], str]
Key = TypeVar("Key", bound=Hashable)


def racks_of_nodes(nodes: Iterable[NodeReport]) -> RackOf:
    """The racks that the server knows; hosts without a node are in the default rack."""
    return racks_by_host({node["nodeHostName"]: node["rack"] for node in nodes})


def racks_by_host(racks: Mapping[str, str]) -> RackOf:
    """Racks from a table."""
    known = dict(racks)
    return lambda host: known.get(host, DEFAULT_RACK)


class PlacedQueue(Generic[Key]):
    """Pieces of work that wait for containers of one type.

    A piece counts in each of its distinct hosts, in each distinct rack of these, and in `*`: the three levels describe
    the same containers. Without `rack_of` there are no rack rows, and all racks are open.
    """

    def __init__(self, rack_of: RackOf | None = None) -> None:
        self._rack_of = rack_of
        #: Pieces in order, with the names at which they count. Ordered dictionaries find their first key at once.
        self._names: OrderedDict[Key, list[str]] = OrderedDict()
        #: The same by host and rack.
        self._at: dict[str, OrderedDict[Key, None]] = {}
        self._counts: Counter[str] = Counter()

    def add(self, key: Key, hosts: Iterable[str] = ()) -> None:
        """Behind the others. Without hosts: anywhere."""
        if key in self._names:
            raise ValueError(f"{key!r} waits already")
        distinct = list(dict.fromkeys(hosts))
        names = distinct + (list(dict.fromkeys(map(self._rack_of, distinct))) if self._rack_of else [])
        self._names[key] = names
        for name in names:
            self._at.setdefault(name, OrderedDict())[key] = None
        self._counts.update([*names, ANY])

    def remove(self, key: Key) -> bool:
        """Whether it did wait."""
        names = self._names.pop(key, None)
        if names is None:
            return False
        for name in names:
            del self._at[name][key]
        self._counts.subtract([*names, ANY])
        return True

    def take(self, host: str, rack: str) -> Key | None:
        """Removes and returns the first piece that suits a node: one with data on the host, in the rack, or any."""
        keys: list[Iterable[Key]] = [self._at.get(host, ()), self._at.get(rack, ()), self._names]
        for key in (next(iter(waiting), None) for waiting in keys):
            if key is not None:
                self.remove(key)
                return key
        return None

    def rows(self) -> dict[str, int]:
        """The table that the server should have; names at which nothing waits any more are left out."""
        return {name: number for name, number in self._counts.items() if number > 0}

    def __len__(self) -> int:
        return len(self._names)
