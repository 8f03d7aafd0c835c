"""Structs of managers, leases, tickets, claims, events and shared tables."""

from ctypes import POINTER, Structure, c_char, c_char_p, c_int8, c_int32, c_size_t, c_uint8, c_uint32, c_uint64, sizeof

from .sized import Sized


class Error(Structure):
    """Made for every call, so without the help of Sized: Error(ERROR_SIZE)."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("status", c_int32),
        ("reason", c_int32),
        ("os_errno", c_int32),
        ("driver_code", c_int32),
        ("message", c_char * 256),
    )


ERROR_SIZE = sizeof(Error)


class Options(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("flags", c_uint64),
        ("leases", c_uint32),
        ("tickets", c_uint32),
        ("resources", c_uint32),
        ("history", c_uint32),
    )


class ResourceInfo(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("slots", c_uint32),
        ("memory_mib", c_uint32),
        ("used_slots", c_uint32),
        ("used_memory_mib", c_uint32),
        ("shared", c_uint32),
        ("health", c_int8),
        ("declared", c_uint8),
        ("reserved", c_uint8 * 2),
        ("name", c_char * 256),
    )


class LeaseInfo(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("lease", c_uint64),
        ("parent", c_uint64),
        ("ttl", c_uint64),
        ("granted_at", c_uint64),
        ("end", c_uint64),
        ("reason", c_int32),
        ("priority", c_int32),
        ("take_count", c_uint32),
        ("flags", c_uint32),
        ("state", c_int8),
        ("reserved", c_uint8 * 7),
        ("holder", c_char * 256),
        ("revoker", c_char * 256),
        ("ender_principal", c_uint32),
        ("ender_process", c_uint32),
    )


class Take(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("slots", c_uint32),
        ("memory_mib", c_uint32),
        ("resource", c_char * 256),
    )


class TicketInfo(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("ticket", c_uint64),
        ("queued_at", c_uint64),
        ("place", c_uint32),
        ("count", c_uint32),
        ("resource_count", c_uint32),
        ("priority", c_int32),
        ("holder", c_char * 256),
    )


class Name(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("text", c_char * 256),
    )


class Text(Structure):
    _fields_ = (
        ("data", c_char_p),
        ("len", c_size_t),
    )


class Claim(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("holder", c_char_p),
        ("holder_len", c_size_t),
        ("resources", POINTER(Text)),
        ("resource_count", c_size_t),
        ("resource_ids", POINTER(c_uint32)),
        ("resource_id_count", c_size_t),
        ("ttl", c_uint64),
        ("wait", c_uint64),
        ("notice", c_uint64),
        ("parent", c_uint64),
        ("flags", c_uint64),
        ("count", c_uint32),
        ("slots", c_uint32),
        ("memory_mib", c_uint32),
        ("priority", c_int32),
    )


class Event(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("number", c_uint64),
        ("missed", c_uint64),
        ("at", c_uint64),
        ("lease", c_uint64),
        ("ticket", c_uint64),
        ("until", c_uint64),
        ("duration", c_uint64),
        ("kind", c_int32),
        ("reason", c_int32),
        ("health", c_int8),
        ("reserved", c_uint8 * 7),
        ("resource", c_char * 256),
        ("process", c_uint32),
        ("reserved2", c_uint32),
        ("actor_principal", c_uint32),
        ("actor_process", c_uint32),
        ("flags", c_uint64),
    )


class Wait(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("ticket", c_uint64),
        ("lease", c_uint64),
        ("worker", c_char * 256),
    )


class HostInfo(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("bytes", c_uint64),
        ("roll_backs", c_uint64),
        ("deaths", c_uint64),
        ("lock_since", c_uint64),
        ("lock_process", c_uint32),
        ("process_count", c_uint32),
        ("corrupt", c_uint8),
        ("reserved", c_uint8 * 7),
        ("path", c_char * 1024),
    )


class ProcessInfo(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("since", c_uint64),
        ("process", c_uint32),
        ("owner", c_uint32),
        ("life", c_int32),
        ("leases", c_uint32),
        ("tickets", c_uint32),
        ("reserved", c_uint32),
    )
