"""Leases on devices."""

import os
from ctypes import c_size_t, c_uint64
from typing import TYPE_CHECKING, Dict, Mapping, Optional, Tuple

from ._c.calls import call, items, text
from ._c.constants import ENV_BY_UUID
from ._c.library import lib
from ._device import Device
from ._lease import Lease

if TYPE_CHECKING:
    from ._pool import GpuPool


class GpuLease(Lease):
    """The right to use some devices of a pool for a while."""

    __slots__ = ("_pool",)

    def __init__(self, pool: "GpuPool", number: c_uint64, owned: bool) -> None:
        self._pool = pool
        self._manager = pool._manager
        self._number = number
        self._owned = owned

    @property
    def pool(self) -> "GpuPool":
        """The pool that the devices belong to."""
        return self._pool

    @property
    def devices(self) -> Tuple[Device, ...]:
        """Its devices, in the pool's order; also of a lease that is over, while it is remembered."""
        places = items(c_size_t, lib.tern_gpu_lease_devices, self._pool._handle, self._number)
        return tuple(self._pool.device(place) for place in places)

    def env(self, base: Optional[Mapping[str, str]] = None, *, by_uuid: bool = False) -> Dict[str, str]:
        """An environment in which a program sees these devices and no others: `subprocess.run(..., env=lease.env())`.

        It is `base`, or the environment of this process, with `env_changes()` made.
        """
        made = dict(os.environ if base is None else base)
        for name, value in self.env_changes(by_uuid=by_uuid).items():
            if value is None:
                made.pop(name, None)
            else:
                made[name] = value
        return made

    def env_changes(self, *, by_uuid: bool = False) -> Dict[str, Optional[str]]:
        """What a program needs in its environment to see these devices and no others; None: it must not be set.

        NVIDIA's devices go by number in the order of PCI addresses, or by UUID; parts of devices always by UUID.
        """
        lines = text(lib.tern_gpu_lease_env, self._pool._handle, self._number, ENV_BY_UUID if by_uuid else 0)
        changes: Dict[str, Optional[str]] = {}
        for line in lines.splitlines():
            name, equals, value = line.partition("=")
            changes[name] = value if equals else None
        return changes

    def keep_alive(self) -> None:
        """A thread of the library renews it from now on, in time, while it is held and the pool is open."""
        call(lib.tern_gpu_lease_keep_alive, self._pool._handle, self._number)
