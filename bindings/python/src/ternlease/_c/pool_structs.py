"""Structs of pools and their devices."""

from ctypes import POINTER, c_char, c_char_p, c_int8, c_int32, c_size_t, c_uint8, c_uint32, c_uint64

from .lease_structs import Text
from .sized import Sized


class PoolOptions(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("devices", c_char_p),
        ("devices_len", c_size_t),
        ("flags", c_uint64),
        ("poll_us", c_uint64),
        ("drain_limit_us", c_uint64),
        ("recovery_us", c_uint64),
        ("slots", c_uint32),
        ("clean_memory_mib", c_uint32),
    )


class Device(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("vendor", c_int32),
        ("index", c_uint32),
        ("known", c_uint32),
        ("memory_mib", c_uint32),
        ("compute_major", c_uint32),
        ("compute_minor", c_uint32),
        ("numa", c_uint32),
        ("island", c_uint32),
        ("gpu_instance", c_uint32),
        ("compute_instance", c_uint32),
        ("pci", c_char * 32),
        ("mig_profile", c_char * 32),
        ("key", c_char * 256),
        ("name", c_char * 256),
        ("uuid", c_char * 128),
        ("mig_parent", c_char * 128),
    )


class DeviceStatus(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("lease", c_uint64),
        ("idle_us", c_uint64),
        ("seen_us", c_uint64),
        ("known", c_uint32),
        ("slots", c_uint32),
        ("leased_slots", c_uint32),
        ("leased_memory_mib", c_uint32),
        ("used_memory_mib", c_uint32),
        ("busy_percent", c_uint32),
        ("lease_count", c_uint32),
        ("squatter_count", c_uint32),
        ("health", c_int8),
        ("reserved", c_uint8 * 7),
        ("trouble", c_char * 512),
    )


class Process(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("pid", c_uint32),
        ("known", c_uint32),
        ("memory_mib", c_uint32),
        ("reserved", c_uint32),
        ("user", c_char * 256),
        ("command", c_char * 256),
    )


class GpuClaim(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("holder", c_char_p),
        ("holder_len", c_size_t),
        ("devices", POINTER(Text)),
        ("device_count", c_size_t),
        ("ttl", c_uint64),
        ("wait", c_uint64),
        ("notice", c_uint64),
        ("parent", c_uint64),
        ("flags", c_uint64),
        ("count", c_uint32),
        ("slots", c_uint32),
        ("memory_mib", c_uint32),
        ("min_memory_mib", c_uint32),
        ("min_compute_major", c_uint32),
        ("min_compute_minor", c_uint32),
        ("vendor", c_int32),
        ("priority", c_int32),
    )


class DeviceSpeed(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("flop64", c_uint64),
        ("flop32", c_uint64),
        ("flop16_matrix", c_uint64),
        ("memory", c_uint64),
        ("link", c_uint64),
        ("known", c_uint32),
        ("cores", c_uint32),
        ("multiprocessors", c_uint32),
        ("core_mhz", c_uint32),
        ("memory_mhz", c_uint32),
        ("memory_bits", c_uint32),
        ("pcie_generation", c_uint32),
        ("pcie_lanes", c_uint32),
    )
