"""Claims on named resources: what can be asked for, and how it is put to the library."""

from ctypes import c_uint32
from typing import Any, Iterable, List, TypedDict, Union

from ._c import constants as c
from ._c import structs
from ._c.calls import encoded, signed, whole
from ._enums import Status
from ._errors import InvalidArgument
from ._lease import LeaseLike, lease_id
from ._time import Clock, Span

# One resource, or several to choose from, the preferred ones first: by name, or by the numbers of declare().
Resources = Union[str, Iterable[str], Iterable[int]]


class ClaimOptions(TypedDict, total=False):
    """What a claim on named resources may ask for. What is not said is as usual."""

    count: int
    """How many of the resources: all or nothing. One."""
    slots: int
    """Slots of each. One, unless memory is asked for."""
    memory_mib: int
    """Memory of each."""
    exclusive: bool
    """Take each resource whole, alone."""
    shared: bool
    """Take each together with any number of other shared leases, and nobody else."""
    priority: int
    """Higher goes first; from -32768 to 32767. 0."""
    spare: bool
    """Take only what nobody else waits for, and give it back when somebody does."""
    preemptible: bool
    """A claim of higher priority that asks to preempt may take the lease."""
    preempt: bool
    """Take preemptible leases of lower priority rather than wait for their end."""
    notice: Span
    """With `spare` or `preemptible`: the notice that the lease gets when it is taken back. None."""
    parent: LeaseLike
    """The lease ends with this one, and never later."""


FLAGS = {
    "exclusive": c.CLAIM_EXCLUSIVE,
    "shared": c.CLAIM_SHARED,
    "spare": c.CLAIM_SPARE,
    "preemptible": c.CLAIM_PREEMPTIBLE,
    "preempt": c.CLAIM_PREEMPT,
}


def texts(name: str, values: List[str]) -> Any:
    """An array of texts."""
    return (structs.Text * len(values))(*[structs.Text(*encoded(name, value)) for value in values])


def claim_struct(clock: Clock, holder: str, resources: Resources, ttl: Any, wait: Any, options: Any) -> Any:
    """A claim, as the library takes it."""
    claim = structs.Claim(ttl=clock.span("ttl", ttl), wait=clock.span("timeout", wait))
    claim.holder, claim.holder_len = encoded("holder", holder)
    wanted: List[Any] = [resources] if isinstance(resources, str) else list(resources)
    if wanted and not isinstance(wanted[0], str):
        numbers = [whole("resources", number, 32) for number in wanted]
        claim.resource_ids = (c_uint32 * len(numbers))(*numbers)
        claim.resource_id_count = len(numbers)
    else:
        claim.resources = texts("resources", wanted)
        claim.resource_count = len(wanted)
    fill(claim, clock, FLAGS, options)
    return claim


def claim_count(value: int) -> int:
    """How many a claim asks for. To the library zero means that nothing was said, which is one."""
    count = whole("count", value, 32)
    if count == 0:
        raise InvalidArgument(Status.ERR_BAD_VALUE, message="the claim asks for none; count must be at least 1")
    return count


def fill(claim: Any, clock: Clock, flags: Any, options: Any) -> None:
    """Sets what was asked for, of those things that claims of both kinds have."""
    for name, value in options.items():
        if name in flags:
            claim.flags |= flags[name] if value else 0
        elif name == "count":
            claim.count = claim_count(value)
        elif name in ("slots", "memory_mib", "min_memory_mib"):
            setattr(claim, name, whole(name, value, 32))
        elif name == "priority":
            claim.priority = signed(name, value, 32)
        elif name == "notice":
            claim.notice = clock.span(name, value)
        elif name == "parent":
            claim.parent = lease_id(name, value)
        else:
            raise TypeError(f"a claim has no option {name!r}")
