"""What Tilewright raises. The text is that of the command line: file, line, column and a caret where
the input has a place, actual against allowed numbers, and one next step."""

from __future__ import annotations

__all__ = [
    "BudgetSpentError",
    "InputError",
    "InternalError",
    "TilewrightError",
    "UnsupportedError",
]


class TilewrightError(Exception):
    """Anything that Tilewright refuses."""


class InputError(TilewrightError, ValueError):
    """The file, the name or the number is wrong."""


class UnsupportedError(TilewrightError):
    """A valid input that this version can't take."""


class BudgetSpentError(TilewrightError):
    """A search ended without an answer."""


class InternalError(TilewrightError):
    """A bug of Tilewright."""


_BY_STATUS: dict[int, type[Exception]] = {
    2: InputError,
    3: UnsupportedError,
    4: BudgetSpentError,
    7: MemoryError,
}


def exception_of(status: int, text: str) -> Exception:
    """The exception of a status of the C interface."""
    return _BY_STATUS.get(status, InternalError)(text.removeprefix("error: "))
