"""Steps about pools and their devices."""

from typing import TYPE_CHECKING, Any, Dict, Optional

from answers import Nonsense, listed, or_dash, trit
from words import Words

import ternlease

if TYPE_CHECKING:
    from driver import Driver


class Pools:
    """A method `do_VERB` for each verb."""

    def __init__(self, driver: "Driver") -> None:
        self._driver = driver
        self._pool: Optional[ternlease.GpuPool] = None

    def close(self) -> None:
        """Closes the pool, if there is one."""
        if self._pool is not None:
            self._pool.close()
        self._pool = None

    @property
    def pool(self) -> ternlease.GpuPool:
        if self._pool is None:
            raise Nonsense
        return self._pool

    def do_pool(self, words: Words) -> str:
        opened = ternlease.GpuPool.on(
            self._driver.manager, devices=words.option("devices") or "", slots=words.option_number("slots") or 0
        )
        self.close()
        self._pool = opened
        return "OK"

    def do_capacity(self, words: Words) -> str:
        return f"OK {self.pool.capacity}"

    def do_pending(self, words: Words) -> str:
        return f"OK {self.pool.pending_claimers()}"

    def do_try(self, words: Words) -> str:
        label = words.next()
        lease = self.pool.try_claim()
        if lease is None:
            return "BUSY" if self.pool.capacity else "EMPTY"
        self._driver.labels.give_lease(label, lease)
        return "OK"

    def gpu_options(self, words: Words) -> Dict[str, Any]:
        options = self._driver.options(words)
        for name, option in (("count", "count"), ("min-memory", "min_memory_mib")):
            number = words.option_number(name)
            if number is not None:
                options[option] = number
        if words.option("ttl") is not None:
            options["ttl"] = self._driver.span(words.option("ttl"))
        devices = words.option("devices")
        if devices is not None:
            options["devices"] = devices.split(",")
        vendor = words.option("vendor")
        if vendor is not None:
            if vendor.upper() not in ternlease.Vendor.__members__:
                raise Nonsense
            options["vendor"] = ternlease.Vendor[vendor.upper()]
        holder = words.option("holder")
        if holder is not None:
            options["holder"] = holder
        return options

    def do_gpu(self, words: Words) -> str:
        label = words.next()
        self._driver.labels.give_lease(label, self.pool.claim(**self.gpu_options(words)))
        return "OK"

    def do_gpu_enqueue(self, words: Words) -> str:
        label = words.next()
        return self._driver.enqueued(label, self.pool.enqueue(**self.gpu_options(words)))

    def do_expected(self, words: Words) -> str:
        options = self.gpu_options(words)
        del options["timeout"]
        wait = self.pool.expected_wait(**options)
        kind = wait.kind.name.lower().replace("_", "-")
        return f"OK about {wait.nanoseconds}" if wait.kind == ternlease.WaitKind.ABOUT else f"OK {kind}"

    def do_gpu_release(self, words: Words) -> str:
        self.gpu_lease(words.next()).release()
        return "OK"

    def gpu_lease(self, label: str) -> ternlease.GpuLease:
        return self.pool.lease(self._driver.lease(label).id)

    def do_devices(self, words: Words) -> str:
        return listed(str(device.place) for device in self.gpu_lease(words.next()).devices)

    def do_env(self, words: Words) -> str:
        changes = self.gpu_lease(words.next()).env_changes(by_uuid=words.has("uuid"))
        return listed(name if value is None else f"{name}={value}" for name, value in changes.items())

    def do_device(self, words: Words) -> str:
        device = self.pool.device(words.number())
        memory = "-" if device.memory_mib is None else device.memory_mib
        return (
            f"OK key={device.key} vendor={device.vendor.name.lower()} index={device.index} memory={memory}"
            f" uuid={or_dash(device.uuid)} pci={or_dash(device.pci)}"
        )

    def do_snapshot(self, words: Words) -> str:
        return listed(
            f"{place}:{trit(status.health)}:{self._driver.labels.of_lease(status.lease)}"
            for place, status in enumerate(self.pool.snapshot())
        )
