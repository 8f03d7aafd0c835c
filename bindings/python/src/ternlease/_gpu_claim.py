"""Claims for devices: what can be asked for, and how it is put to the library."""

from typing import Any, Iterable, Tuple, TypedDict

from ._c import constants as c
from ._c import structs
from ._c.calls import encoded, signed, whole
from ._claim import claim_count, fill, texts
from ._enums import Status, Vendor
from ._errors import InvalidArgument
from ._lease import LeaseLike
from ._time import Clock, Span


class GpuClaimOptions(TypedDict, total=False):
    """What a claim for devices may ask for. What is not said is as usual."""

    holder: str
    """Who asks. Claims of one holder are one line of work; each has a name of its own if this is not said."""
    devices: Iterable[str]
    """Only these, the preferred ones first: by UUID (or how it begins), PCI address, "nvidia:0", or number."""
    ttl: Span
    """How long the lease lasts without renewal. Without end."""
    slots: int
    """Slots of each, together with others. All of each device, alone, unless this or memory is said."""
    memory_mib: int
    """Memory of each, together with others."""
    min_memory_mib: int
    """Only devices with at least so much memory in all."""
    min_compute: Tuple[int, int]
    """Only devices of at least this compute capability, as NVIDIA counts it: (8, 6)."""
    vendor: Vendor
    """Only devices of this one."""
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


FLAGS = {"spare": c.CLAIM_SPARE, "preemptible": c.CLAIM_PREEMPTIBLE, "preempt": c.CLAIM_PREEMPT}


def gpu_claim_struct(clock: Clock, count: int, wait: Any, options: Any) -> Any:
    """A claim for devices, as the library takes it."""
    claim = structs.GpuClaim(count=claim_count(count), wait=clock.span("timeout", wait))
    rest = dict(options)
    claim.holder, claim.holder_len = encoded("holder", rest.pop("holder", ""))
    devices = rest.pop("devices", ())
    names = [devices] if isinstance(devices, str) else list(devices)
    claim.devices = texts("devices", names)
    claim.device_count = len(names)
    if "ttl" in rest:
        # To the library no time is as usual; to whoever writes 0 it is a mistake that acquire() would tell of, too.
        claim.ttl = clock.span("ttl", rest.pop("ttl"))
        if claim.ttl == 0:
            raise InvalidArgument(
                Status.ERR_ZERO_TTL, message="a lease of no length was asked for: without end is None"
            )
    if "min_compute" in rest:
        major, minor = rest.pop("min_compute")
        claim.min_compute_major = whole("min_compute", major, 32)
        claim.min_compute_minor = whole("min_compute", minor, 32)
    claim.vendor = signed("vendor", rest.pop("vendor", Vendor.ANY))
    fill(claim, clock, FLAGS, rest)
    return claim
