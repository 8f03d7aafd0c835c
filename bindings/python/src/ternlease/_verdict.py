"""Verdicts and advice: compute a result here, on a device, or fetch it?"""

import math
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any, Dict, Optional

from ._c.calls import words
from ._cost import Estimate, estimate, told_ns
from ._device import ExpectedWait
from ._enums import Answer, Bottleneck, Choice, Decision, Obstacle, WaitKind


@dataclass(frozen=True)
class Verdict:
    """Compute a result here or fetch it: the answer, and all that it rests on.

    True if it says "fetch", and only then: `if machine.verdict(task): result = fetch()`.
    """

    answer: Answer
    trit: Optional[Decision]
    """FETCH, BREAK_EVEN or COMPUTE; None if neither can be done."""
    words: str
    """The answer in words: "fetch", "compute", "must fetch (insufficient RAM)"."""
    score_ns: Optional[float]
    """Whole nanoseconds that fetching saves; infinite if only one can be done, None if neither."""
    decisive: bool
    """The better way is better even if it goes badly. Otherwise begin with both, and take what comes first."""
    t_compute: Estimate
    t_fetch: Estimate
    t_store: Estimate
    why_not_compute: Obstacle
    why_not_fetch: Obstacle
    bottleneck: Bottleneck
    """What computing would wait for."""
    bias_permille: int
    """How much the owner of such a machine would rather not compute on it: no part of any of the times."""
    can_compute: bool
    can_fetch: bool
    can_store: bool

    def __bool__(self) -> bool:
        return self.should_fetch

    @property
    def should_fetch(self) -> bool:
        """Is fetching better?"""
        return self.answer == Answer.FETCH

    @property
    def should_compute(self) -> bool:
        """Is computing as good or better?"""
        return self.answer in (Answer.COMPUTE, Answer.BREAK_EVEN)

    @property
    def score(self) -> Optional[float]:
        """Seconds that fetching saves."""
        return None if self.score_ns is None else self.score_ns / 1e9

    def as_dict(self) -> Dict[str, Any]:
        """The same as a dictionary: words in lower case for enumerations, dictionaries for times."""
        return as_dict(self)

    def __str__(self) -> str:
        return self.words


def verdict(told: Any) -> Verdict:
    """A verdict, as the library tells of it."""
    answer = Answer(told.answer)
    impossible = answer == Answer.IMPOSSIBLE
    return Verdict(
        answer=answer,
        trit=None if impossible else Decision(told.trit),
        words=words(told.words),
        score_ns=None if impossible else saved_ns(told.score_ns),
        decisive=bool(told.decisive),
        t_compute=estimate(told.t_compute),
        t_fetch=estimate(told.t_fetch),
        t_store=estimate(told.t_store),
        why_not_compute=Obstacle(told.why_not_compute),
        why_not_fetch=Obstacle(told.why_not_fetch),
        bottleneck=Bottleneck(told.bottleneck),
        bias_permille=told.bias_permille,
        can_compute=bool(told.can_compute),
        can_fetch=bool(told.can_fetch),
        can_store=bool(told.can_store),
    )


def saved_ns(told: int) -> float:
    """What is saved: whole nanoseconds; infinite where the library says that there is but one way."""
    if told == 2**63 - 1:
        return math.inf
    return -math.inf if told == -(2**63) else told


@dataclass(frozen=True)
class Advice:
    """How long a task takes in each way, the best of them, and why. A way that there is not takes for ever."""

    choice: Choice
    words: str
    """All of it in words, a line for each way, the best first."""
    decisive: bool
    """The best is the best even if it goes badly. Otherwise begin with the second while the first is under way."""
    cpu: Estimate
    gpu: Estimate
    """On the devices of the claim once it has them."""
    gpu_now: Estimate
    gpu_wait: Estimate
    """The waiting included."""
    fetch: Estimate
    wait: ExpectedWait
    """How long the claim would wait."""
    why_not_cpu: Obstacle
    why_not_gpu: Obstacle
    why_not_fetch: Obstacle

    def as_dict(self) -> Dict[str, Any]:
        """The same as a dictionary: words in lower case for enumerations, dictionaries for times."""
        return as_dict(self)

    def __str__(self) -> str:
        return self.words


def advice(told: Any) -> Advice:
    """Advice, as the library tells of it."""
    wait = told_ns(told.wait_ns)
    return Advice(
        choice=Choice(told.choice),
        words=words(told.words),
        decisive=bool(told.decisive),
        cpu=estimate(told.cpu),
        gpu=estimate(told.gpu),
        gpu_now=estimate(told.gpu_now),
        gpu_wait=estimate(told.gpu_wait),
        fetch=estimate(told.fetch),
        wait=ExpectedWait(WaitKind(told.wait), None if wait == math.inf else told.wait_ns),
        why_not_cpu=Obstacle(told.why_not_cpu),
        why_not_gpu=Obstacle(told.why_not_gpu),
        why_not_fetch=Obstacle(told.why_not_fetch),
    )


def as_dict(value: Any) -> Dict[str, Any]:
    """A value of ours as a dictionary of plain ones."""
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _plain(value: Any) -> Any:
    if isinstance(value, IntEnum):
        return value.name.lower()
    if isinstance(value, (Estimate, ExpectedWait)):
        return as_dict(value)
    return value
