from __future__ import annotations

import json
from typing import Any


def _check_numbers(value: Any) -> None:
    """A larger integer would arrive as the nearest float."""
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ValueError(f"{value} has more than 64 bits")
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return
    for member in value:
        _check_numbers(member)


def dumps(value: Any) -> str:
    """JSON as every store keeps it, or TypeError or ValueError."""
    text = json.dumps(value, allow_nan=False)
    _check_numbers(value)
    return text
