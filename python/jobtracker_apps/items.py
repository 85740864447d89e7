"""Sets of item numbers as the API writes them: `1-1000`, `3,7-20:2`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

MAX_ITEM = 2**31 - 1
MAX_PARTS = 10_000
MAX_ITEMS = 10_000_000


class Items:
    """Items in the order in which they are granted."""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._numbers: dict[int, None] = dict.fromkeys(numbers)

    @classmethod
    def parse(cls, text: str) -> Items:
        """From `N`, `N-M` and `N-M:STEP`, separated by commas."""
        parts = text.split(",")
        if len(parts) > MAX_PARTS:
            raise ValueError(f"{len(parts)} parts: at most {MAX_PARTS}")
        items = cls()
        for part in parts:
            numbers = _range_of(part)
            if len(items) + len(numbers) > MAX_ITEMS:
                raise ValueError(f"more than {MAX_ITEMS} items")
            for number in numbers:
                if number in items._numbers:
                    raise ValueError(f"{part}: {number} stands there twice")
                items._numbers[number] = None
        return items

    def add(self, number: int) -> None:
        """Behind the others."""
        self._numbers[number] = None

    def discard(self, number: int) -> None:
        """It is not wanted any more."""
        self._numbers.pop(number, None)

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __contains__(self, number: object) -> bool:
        return number in self._numbers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Items) and list(self) == list(other)

    def __str__(self) -> str:
        parts = []
        first = last = None
        for number in self._numbers:
            if last is not None and number == last + 1:
                last = number
                continue
            if first is not None:
                parts.append(f"{first}" if first == last else f"{first}-{last}")
            first = last = number
        if first is not None:
            parts.append(f"{first}" if first == last else f"{first}-{last}")
        return ",".join(parts)


def _range_of(part: str) -> range:
    bounds, colon, step_text = part.partition(":")
    first_text, dash, last_text = bounds.partition("-")
    texts = [first_text] + ([last_text] if dash else []) + ([step_text] if colon else [])
    if not all(text.isascii() and text.isdigit() for text in texts) or (colon and not dash):
        raise ValueError(f"{part!r}: expected N, N-M or N-M:STEP")
    first, step = int(first_text), int(step_text) if colon else 1
    last = int(last_text) if dash else first
    if step < 1 or not first <= last <= MAX_ITEM:
        raise ValueError(f"{part!r}: expected 0 <= N <= M <= {MAX_ITEM} and a step from 1")
    return range(first, last + 1, step)
