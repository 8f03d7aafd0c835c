"""Costs: bit-equal with those of every other language."""

import csv
import math
import pickle
import re
from pathlib import Path
from typing import Any, Iterator, List, Tuple

import pytest

from ternlease import NEVER, FnCost, Learned, nanoseconds

VECTORS = Path(__file__).parents[3] / "tests" / "vectors" / "fncost.csv"
LARGEST = 2**64 - 1


def evaluate(words: Iterator[str]) -> FnCost:
    """Reads one expression after its opening bracket: `sort 3 8 24 )`."""
    name = next(words)
    arguments: List[Any] = []
    for word in words:
        if word == ")":
            break
        arguments.append(evaluate(words) if word == "(" else int(word))
    made = FnCost(*arguments) if name == "new" else getattr(FnCost, name)(*arguments)
    if name == "then":
        assert made == arguments[0] + arguments[1]
    assert isinstance(made, FnCost)
    return made


def vectors() -> List[Tuple[str, str, FnCost]]:
    with VECTORS.open() as lines:
        return [
            (row["name"], row["expr"], FnCost(*[int(row[field]) for field in FnCost.__dataclass_fields__]))
            for row in csv.DictReader(lines)
        ]


def test_all_vectors() -> None:
    found = vectors()
    assert len(found) >= 94
    for name, expression, expected in found:
        words = iter(re.findall(r"[()]|[^\s()]+", expression))
        assert next(words) == "("
        assert evaluate(words) == expected, name
        assert next(words, None) is None


def test_a_cost_is_a_value() -> None:
    cost = FnCost.sort(1_000_000, 64, 64_000_000)
    assert cost == FnCost(200_000_000, 1_280_000_000, 64_000_000, 64_000_000)
    assert {cost: 1}[FnCost.sort(1_000_000, 64, 64_000_000)] == 1
    assert pickle.loads(pickle.dumps(cost)) == cost
    assert cost.to_bytes()[:8] == (200_000_000).to_bytes(8, "little")
    assert len(cost.to_bytes()) == 32
    assert cost.intensity == 200 / 1280
    assert FnCost().intensity == math.inf
    with pytest.raises(AttributeError):
        cost.flops = 1  # type: ignore[misc]


def test_what_is_not_a_number_of_64_bits() -> None:
    for wrong in (-1, 2**64):
        with pytest.raises(OverflowError):
            FnCost(flops=wrong)
        with pytest.raises(OverflowError):
            FnCost.hash(wrong)
        with pytest.raises(OverflowError):
            FnCost().repeat(wrong)
    for other in (1.0, True, "1", None):
        with pytest.raises(TypeError):
            FnCost(flops=other)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            FnCost.copy(other)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        FnCost() + 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        FnCost().par(1)  # type: ignore[arg-type]


def test_nanoseconds() -> None:
    for work, rate, expected in (
        (0, 0, 0),
        (1, 0, NEVER),
        (1, 10**9, 1),
        (2 * 10**9, 178_740_000_000, 11_189_438),
        (LARGEST, 1, NEVER),
        (LARGEST - 1, LARGEST, 10**9),
        (LARGEST - 1, 10**9, LARGEST - 1),
        (18_446_744_073, 1, 18_446_744_073_000_000_000),
        (18_446_744_074, 1, NEVER),
    ):
        assert nanoseconds(work, rate) == expected


def test_learning() -> None:
    learned = Learned().record(1000, 2000)
    assert learned == Learned(1, 2000)
    assert learned.record(1000, 1000) == Learned(2, 1414)
    assert learned.record(0, 1000) == learned
    assert learned.record(NEVER, 1000) == learned
    with pytest.raises(TypeError):
        learned.record(0.5, 1000)
