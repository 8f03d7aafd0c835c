"""Machines: what they can do, verdicts and advice."""

import json
from pathlib import Path
from typing import List, Tuple

import pytest

from ternlease import (
    FOREVER,
    NEVER,
    Answer,
    Bottleneck,
    Choice,
    Closed,
    Decision,
    FnCost,
    GpuPool,
    InvalidArgument,
    Kind,
    Learned,
    MachCap,
    Obstacle,
    RateOf,
    Route,
    RouteKnown,
    Source,
    SystemFailure,
    Task,
)

HARD = FnCost(10**15, 1000, 1000, 8)
EASY = FnCost(1000, 1000, 1000, 8)
TOO_LARGE = FnCost(1000, 1000, 2**63, 8)
LINE = Route(round_trip_ns=1_000_000, bytes_per_second=10**9)


def estimated(store: str = ".") -> MachCap:
    """This machine, not measured."""
    return MachCap.read(store, benchmarks=False, network=False)


def test_a_verdict_is_true_if_it_says_fetch() -> None:
    with estimated() as machine:
        machine.route = LINE
        fetch = machine.verdict(HARD)
        assert fetch
        assert (fetch.answer, fetch.trit, str(fetch)) == (Answer.FETCH, Decision.FETCH, "fetch")
        assert fetch.score is not None
        assert fetch.score > 0
        assert fetch.should_fetch
        assert not fetch.should_compute
        assert fetch.bottleneck is Bottleneck.COMPUTE
        compute = machine.verdict(EASY)
        assert not compute
        assert (compute.answer, compute.trit) == (Answer.COMPUTE, Decision.COMPUTE)
        assert compute.should_compute
        must = machine.verdict(TOO_LARGE)
        assert must
        assert (must.score, must.why_not_compute, must.can_compute) == (float("inf"), Obstacle.MEMORY, False)
        machine.route = None
        impossible = machine.verdict(TOO_LARGE)
        assert not impossible
        assert (impossible.answer, impossible.trit, impossible.score) == (Answer.IMPOSSIBLE, None, None)
        assert not impossible.should_compute
        assert impossible.t_fetch.mid == NEVER


def test_a_verdict_as_plain_values() -> None:
    with estimated() as machine:
        machine.route = LINE
        verdict = machine.verdict(HARD)
        plain = verdict.as_dict()
        assert (plain["answer"], plain["bottleneck"], plain["why_not_fetch"]) == ("fetch", "compute", "none")
        assert plain["t_compute"]["mid"] == verdict.t_compute.mid
        assert json.loads(machine.verdict_json(HARD))["trit"] == 1
        assert json.loads(machine.to_json())


def test_a_route_is_set_and_taught() -> None:
    with estimated() as machine:
        assert machine.route is None
        assert not machine.record_fetch(10**6, 10**6)
        machine.route = LINE
        assert machine.route == LINE
        assert machine.record_fetch(12_500_000, 204_000_000)
        assert machine.route.known is RouteKnown.LEARNED
        assert machine.fetch_time(10**9).mid > 0
        with pytest.raises(InvalidArgument):
            machine.route = Route(1, 0)


def test_how_long_things_take() -> None:
    with estimated() as machine:
        task = Task(FnCost.etl(10**6, 256, 100), Kind.PARSE)
        predicted = machine.untaught_time(task)
        learned = Learned().record(predicted, 900_000_000)
        taught = machine.compute_time(Task(task.cost, task.kind, learned=learned))
        assert abs(taught.mid - 900_000_000) < 9_000_000
        assert taught.lo <= taught.mid <= taught.hi
        assert taught.seconds == taught.mid / 1e9
        assert machine.fetch_time(1).mid == NEVER
        assert machine.store_time(10**9).mid >= 0
        assert machine.can_store(0) in (True, None)
        assert machine.can_store(2**63) is False
        assert machine.suggest_ttl(task, 60) == 60_000
        assert machine.suggest_ttl(task, FOREVER) == FOREVER
        size = machine.etl_buffer_bytes(1000)
        assert size is not None
        assert size % 1000 == 0
        assert machine.etl_buffer_bytes(2**63) is None
        assert machine.normalize(10**9, 4, 5).result_bytes == 5
        assert machine.cache_value_ns(task) == float("-inf")


def test_what_it_is() -> None:
    with estimated("/tmp") as machine:
        info = machine.info()
        assert info.store == "/tmp"
        assert info.cores_usable >= 1
        assert 0 < info.mem_available <= info.mem_total
        assert info.age == FOREVER
        assert machine.rate(RateOf.HASH).source is Source.ESTIMATED
        machine.set_gpu_start(0, 0, 0)
        assert machine.info().gpu_start.mid == 0


def test_measured_with_progress(tmp_path: Path) -> None:
    told: List[Tuple[str, int, int]] = []
    kept = tmp_path / "rates"
    with MachCap.read(
        tmp_path, budget=0.02, network=False, keep=True, cache_file=kept, progress=lambda *step: told.append(step)
    ):
        assert told
        assert all(step and 0 <= done <= of for step, done, of in told)
        assert kept.exists()


def test_an_exception_in_progress_gets_out() -> None:
    def fail(step: str, done: int, of: int) -> None:
        raise KeyError(step)

    with pytest.raises(KeyError):
        MachCap.read(budget=0.01, network=False, progress=fail)


def test_advice_with_the_line_taken_into_account() -> None:
    task = Task(FnCost.matmul(20_000, 20_000, 20_000, 8), Kind.DENSE64, threads=2)
    with estimated() as machine, GpuPool("process:", devices="fake:2") as pool:
        advice = machine.advise(task, pool, 2)
        assert advice.choice is Choice.GPU_NOW
        assert advice.gpu_now == advice.gpu
        assert advice.why_not_fetch is Obstacle.NETWORK
        assert str(advice).startswith("gpu now")
        assert json.loads(machine.advise_json(task, pool, 2))["choice"]
        assert advice.as_dict()["choice"] == "gpu_now"
        with pool.claim(2):
            assert machine.advise(task, pool).choice is not Choice.GPU_NOW
    with estimated() as machine, GpuPool("process:", devices="none") as pool:
        assert machine.advise(task, pool).why_not_gpu is Obstacle.NO_DEVICE


def test_bad_input() -> None:
    with pytest.raises(SystemFailure) as missing:
        estimated("/nowhere/at/all")
    assert isinstance(missing.value, OSError)
    assert missing.value.errno == missing.value.os_errno != 0
    with pytest.raises(TypeError):
        MachCap()
    with estimated() as machine:
        with pytest.raises(TypeError):
            machine.verdict("sort")  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument):
            machine.verdict(Task(EASY, kind=99))  # type: ignore[arg-type]
        with pytest.raises(OverflowError):
            machine.fetch_time(-1)
    with pytest.raises(Closed):
        machine.verdict(EASY)
