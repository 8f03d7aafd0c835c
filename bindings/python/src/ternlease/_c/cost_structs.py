"""Structs of costs, tasks and machines."""

from ctypes import (
    CFUNCTYPE,
    Structure,
    c_char,
    c_char_p,
    c_int8,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)

from .sized import Sized

ProgressFn = CFUNCTYPE(None, c_void_p, c_char_p, c_uint32, c_uint32)


class Cost(Structure):
    _fields_ = (
        ("flops", c_uint64),
        ("mem_bytes", c_uint64),
        ("peak_mem", c_uint64),
        ("result_bytes", c_uint64),
    )


class Estimate(Structure):
    _fields_ = (
        ("lo", c_uint64),
        ("mid", c_uint64),
        ("hi", c_uint64),
    )


class Task(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("cost", Cost),
        ("input_bytes", c_uint64),
        ("flags", c_uint64),
        ("kind", c_int32),
        ("threads", c_uint32),
        ("learned_runs", c_uint32),
        ("learned_permille", c_uint32),
    )


class MachineOptions(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("flags", c_uint64),
        ("budget_us", c_uint64),
        ("disk_budget_us", c_uint64),
        ("max_age_us", c_uint64),
        ("cache_file", c_char_p),
        ("cache_file_len", c_size_t),
        ("progress", ProgressFn),
        ("user", c_void_p),
    )


class MachineInfo(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("mem_total", c_uint64),
        ("mem_available", c_uint64),
        ("compute_budget", c_uint64),
        ("disk_total", c_uint64),
        ("disk_free", c_uint64),
        ("network_mbps", c_uint64),
        ("age_us", c_uint64),
        ("gpu_start", Estimate),
        ("ridge_permille", c_uint64),
        ("known", c_uint32),
        ("cores_physical", c_uint32),
        ("cores_logical", c_uint32),
        ("cores_usable", c_uint32),
        ("freq_mhz", c_uint32),
        ("network", c_int32),
        ("machine_class", c_int32),
        ("battery_percent", c_uint32),
        ("core_scaling_permille", c_uint32),
        ("mem_pressure_permille", c_uint32),
        ("disk_pressure_permille", c_uint32),
        ("reserved", c_uint32),
        ("processor", c_char * 128),
        ("store", c_char * 1024),
    )


class Rate(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("per_second", c_uint64),
        ("usual", c_uint64),
        ("spread_permille", c_uint32),
        ("source", c_int32),
    )


class Route(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("round_trip_ns", c_uint64),
        ("bytes_per_second", c_uint64),
        ("query_ns", c_uint64),
        ("hits_permille", c_uint32),
        ("known", c_int32),
    )


class Verdict(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("t_compute", Estimate),
        ("t_fetch", Estimate),
        ("t_store", Estimate),
        ("score_ns", c_int64),
        ("answer", c_int32),
        ("why_not_compute", c_int32),
        ("why_not_fetch", c_int32),
        ("bottleneck", c_int32),
        ("bias_permille", c_uint32),
        ("trit", c_int8),
        ("can_compute", c_uint8),
        ("can_store", c_uint8),
        ("can_fetch", c_uint8),
        ("decisive", c_uint8),
        ("reserved", c_uint8 * 7),
        ("words", c_char * 128),
    )


class Advice(Sized):
    _fields_ = (
        ("struct_size", c_size_t),
        ("cpu", Estimate),
        ("gpu", Estimate),
        ("gpu_now", Estimate),
        ("gpu_wait", Estimate),
        ("fetch", Estimate),
        ("wait_ns", c_uint64),
        ("choice", c_int32),
        ("wait", c_int32),
        ("why_not_cpu", c_int32),
        ("why_not_gpu", c_int32),
        ("why_not_fetch", c_int32),
        ("decisive", c_uint8),
        ("reserved", c_uint8 * 3),
        ("words", c_char * 512),
    )
