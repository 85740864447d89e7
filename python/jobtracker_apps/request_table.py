"""The table of what is wanted, and which of its rows the server does not have yet.

The server lowers rows when it grants; for each grant in an answer the table lowers the same rows. So its numbers are
those of the server, and only what the application changes itself is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .items import Items
from .model import ANY, Json, RequestType, Row


class _Cell(NamedTuple):
    number: int
    relax_locality: bool = True


class LaunchOnGrant:
    """Starts each container of a type as soon as it is granted, with the next item."""

    def __init__(self, spec: str, items: Items | None = None, max_running: int | None = None) -> None:
        self.spec = spec
        self.items = items
        self.max_running = max_running

    def to_json(self) -> Json:
        members: Json = {"spec": self.spec}
        if self.items is not None:
            members["items"] = str(self.items)
        if self.max_running is not None:
            members["max-running"] = self.max_running
        return members


class _Table:
    """Rows of one type."""

    def __init__(self) -> None:
        self.wanted: dict[str, _Cell] = {}
        #: As the server has them, less the grants that it has not reported yet.
        self.sent: dict[str, _Cell] = {}
        self.launch: LaunchOnGrant | None = None
        self.launch_changed = False

    def wanted_at(self, name: str) -> _Cell:
        return self.wanted.get(name, _Cell(0))

    def changed_names(self, whole: bool) -> list[str]:
        sent_any = self.sent.get(ANY, _Cell(0)).number
        if self.wanted_at(ANY).number == 0:
            # One row of a type that asks for nothing makes the server drop all its rows. A single 0 may stay.
            return [] if self.sent.keys() <= {ANY} and sent_any == 0 else [ANY]
        names = self.wanted.keys() | self.sent.keys()
        # At 0 the server may have dropped the type, with rows that it was sent before.
        if not whole and sent_any > 0:
            names = {name for name in names if self.sent.get(name, _Cell(0)) != self.wanted_at(name)}
            if self.launch_changed:
                names.add(ANY)
        return sorted(names, key=_place_order)


def _place_order(name: str) -> tuple[int, str]:
    """Hosts, racks, any."""
    return (2 if name == ANY else 1 if name.startswith("/") else 0), name


def _lower(cells: dict[str, _Cell], name: str) -> None:
    cell = cells.get(name)
    if cell is not None and cell.number > 0:
        cells[name] = cell._replace(number=cell.number - 1)


class RequestTable:
    """What is wanted, by type and name."""

    def __init__(self) -> None:
        self._tables: dict[RequestType, _Table] = {}
        self._is_behind = False

    def want(self, type_: RequestType, name: str, number: int, *, relax_locality: bool = True) -> None:
        """So many containers at a host, a rack or `ANY`, from now on. 0 at a host or a rack closes it."""
        self._table(type_).wanted[name] = _Cell(number, relax_locality)

    def want_rows(self, type_: RequestType, rows: Mapping[str, int]) -> None:
        """The whole table of a type: what is not in `rows` is 0."""
        self._table(type_).wanted = {name: _Cell(number) for name, number in rows.items()}

    def want_items(self, type_: RequestType, launch: LaunchOnGrant, number: int | None = None) -> None:
        """Containers anywhere that start at their grant: one for each item, or `number` without items."""
        table = self._table(type_)
        table.launch, table.launch_changed = launch, True
        count = len(launch.items) if launch.items is not None else number
        if count is None:
            raise ValueError("a launch on grant without items needs a number")
        table.wanted[ANY] = _Cell(count)

    def wanted(self, type_: RequestType) -> dict[str, int]:
        """The rows of a type as they stand."""
        table = self._tables.get(type_)
        return {} if table is None else {name: cell.number for name, cell in table.wanted.items()}

    def launches_on_grant(self, type_: RequestType) -> bool:
        """Whether containers of the type start by themselves."""
        table = self._tables.get(type_)
        return table is not None and table.launch is not None

    def outstanding(self) -> int:
        """Containers that are wanted and not granted, of all types."""
        return sum(table.wanted_at(ANY).number for table in self._tables.values())

    def changes(self) -> list[Row]:
        """The rows to send: those that differ from what the server has."""
        rows = []
        for type_, table in sorted(self._tables.items()):
            changed = table.changed_names(whole=False)
            if changed and self._is_behind:
                # Grants are on their way, by which the server may have dropped rows.
                changed = table.changed_names(whole=True)
            for name in changed:
                cell = table.wanted_at(name)
                launch = table.launch.to_json() if table.launch and name == ANY and cell.number else None
                rows.append(Row(type_, name, cell.number, cell.relax_locality, launch))
        return rows

    def mark_sent(self, rows: list[Row]) -> None:
        """The server has answered a call with these rows. To be followed by `lower` for each grant of the answer."""
        for row in rows:
            if row.resource_name == ANY and row.num_containers == 0:
                del self._tables[row.type]
                continue
            table = self._table(row.type)
            table.sent[row.resource_name] = _Cell(row.num_containers, row.relax_locality)
            if row.resource_name == ANY:
                table.launch_changed = False

    def set_behind(self, is_behind: bool) -> None:
        """Whether the server has more grants than one answer holds."""
        self._is_behind = is_behind

    def lower(self, type_: RequestType, locality: str, resource_name: str, rack: str, item: int | None) -> None:
        """A grant: lowers the rows on which the server has counted it."""
        table = self._tables.get(type_)
        if table is None:
            return
        names = [ANY]
        if locality != "OFF_SWITCH":
            names.append(rack)
        if locality == "NODE_LOCAL":
            names.append(resource_name)
        for name in names:
            _lower(table.wanted, name)
            _lower(table.sent, name)
        if table.launch and table.launch.items is not None and item is not None:
            table.launch.items.discard(item)

    def forget_sent(self) -> None:
        """The server has emptied its tables: everything is to be sent."""
        for table in self._tables.values():
            table.sent = {}
        self._is_behind = False

    def _table(self, type_: RequestType) -> _Table:
        return self._tables.setdefault(type_, _Table())
