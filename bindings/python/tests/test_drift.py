"""Does this package follow the header? Each struct, number and function is compared with it."""

import ctypes
import re
from pathlib import Path
from typing import Any, Dict, List, Tuple

import ternlease
from ternlease import _enums
from ternlease._c import constants, cost_structs, handles, lease_structs, library, pool_structs
from ternlease._c.functions import PROTOTYPES

CHECKOUT = Path(__file__).parents[3]
HEADER = (CHECKOUT / "include" / "ternlease.h").read_text()
LAYOUT = (CHECKOUT / "tests" / "abi" / "layout.def").read_text()
SYMBOLS = (CHECKOUT / "tests" / "abi" / "symbols.txt").read_text().split()

ENUMS = {
    "tern_status_t": (_enums.Status, "TERN_"),
    "tern_reason_t": (_enums.Reason, "TERN_REASON_"),
    "tern_reason_class_t": (_enums.ReasonClass, "TERN_CLASS_"),
    "tern_event_kind_t": (_enums.EventKind, "TERN_EVENT_"),
    "tern_life_t": (_enums.Life, "TERN_LIFE_"),
    "tern_vendor_t": (_enums.Vendor, "TERN_VENDOR_"),
    "tern_kind_t": (_enums.Kind, "TERN_KIND_"),
    "tern_machine_class_t": (_enums.MachineClass, "TERN_MACHINE_CLASS_"),
    "tern_network_t": (_enums.Network, "TERN_NETWORK_"),
    "tern_rate_of_t": (_enums.RateOf, "TERN_RATE_"),
    "tern_source_t": (_enums.Source, "TERN_SOURCE_"),
    "tern_route_known_t": (_enums.RouteKnown, "TERN_ROUTE_"),
    "tern_answer_t": (_enums.Answer, "TERN_ANSWER_"),
    "tern_obstacle_t": (_enums.Obstacle, "TERN_OBSTACLE_"),
    "tern_bottleneck_t": (_enums.Bottleneck, "TERN_BOTTLENECK_"),
    "tern_choice_t": (_enums.Choice, "TERN_CHOICE_"),
    "tern_expected_wait_t": (_enums.WaitKind, "TERN_EXPECTED_WAIT_"),
}
TRITS = (_enums.LeaseState, _enums.TicketState, _enums.Health, _enums.Decision)

# Units of the C programmer's, for whom times are numbers; here they are seconds.
NOT_NEEDED = {"TERN_MILLISECOND", "TERN_SECOND", "TERN_NAME_MAX", "TERN_CLAIM_KEEP_ALIVE"}

NOT_CALLED = {
    "tern_manager_claim": "blocks in C, where signals are not seen: enqueue and the ticket's descriptor instead",
    "tern_pool_claim": "the same",
    "tern_events_wait": "the same: the reader's descriptor instead",
    "tern_lease_watch": "calls from a foreign thread: the watch's descriptor instead",
    "tern_gpu_lease_release": "the same as tern_lease_release",
    "tern_status_name": "Status knows the names",
    "tern_reason_name": "Reason knows the names",
    "tern_reason_class": "Reason knows the classes",
}


def struct_named(c_name: str) -> Any:
    name = "".join(part.title() for part in c_name[len("tern_") : -len("_t")].split("_"))
    for module in (lease_structs, pool_structs, cost_structs):
        if hasattr(module, name):
            return getattr(module, name)
    raise AssertionError(f"there is no struct for {c_name}")


def described_structs() -> Dict[str, Tuple[int, int]]:
    """Size and alignment of each struct that the layout has fields of."""
    with_fields = set(re.findall(r"^FIELD\((\w+),", LAYOUT, re.M))
    types = re.findall(r"^TYPE\((\w+), (\d+), (\d+)\)", LAYOUT, re.M)
    return {name: (int(size), int(alignment)) for name, size, alignment in types if name in with_fields}


def test_structs_have_the_size_of_those_in_c() -> None:
    found = described_structs()
    assert len(found) >= 28
    for name, (size, alignment) in found.items():
        struct = struct_named(name)
        assert (ctypes.sizeof(struct), ctypes.alignment(struct)) == (size, alignment), name


def test_fields_are_where_they_are_in_c_and_none_is_missing() -> None:
    told: Dict[str, List[Tuple[str, int, int]]] = {}
    for name, field, offset, size in re.findall(r"^FIELD\((\w+), (\w+), (\d+), (\d+)\)", LAYOUT, re.M):
        told.setdefault(name, []).append((field, int(offset), int(size)))
    for c_name, fields in told.items():
        struct = struct_named(c_name)
        ours = [
            (field[0], getattr(struct, field[0]).offset, getattr(struct, field[0]).size) for field in struct._fields_
        ]
        assert ours == fields, c_name


def values() -> Tuple[Dict[str, Dict[str, int]], Dict[str, int]]:
    """The enumerators of each enumeration, and all other values."""
    enums: Dict[str, Dict[str, int]] = {}
    others: Dict[str, int] = {}
    current = ""
    for kind, name, value in re.findall(r"^(TYPE|VALUE)\((\w+), (-?\w+)", LAYOUT, re.M):
        if kind == "TYPE":
            current = name
        elif current in ENUMS and name.startswith(ENUMS[current][1]) and name != "TERN_OPTION_TICKS":
            enums.setdefault(current, {})[name] = int(value, 0)
        else:
            current = ""
            others[name] = int(value, 0)
    return enums, others


def test_enumerations_are_those_of_the_header() -> None:
    declared = set(re.findall(r"TERN_ENUM_BEGIN\((tern_\w+)\)", HEADER))
    assert declared == set(ENUMS)
    told, _ = values()
    for name, (ours, prefix) in ENUMS.items():
        assert {prefix + member.name: member.value for member in ours} == told[name], name


def test_other_numbers_are_those_of_the_header() -> None:
    _, told = values()
    ours = {f"TERN_{name}": value for name, value in vars(constants).items() if name.isupper()}
    for trits in TRITS:
        ours.update({f"TERN_{trit.name}": trit.value for trit in trits})
    assert {name: value for name, value in told.items() if name not in NOT_NEEDED} == {
        name: value for name, value in ours.items() if name not in NOT_NEEDED
    }


C_TYPES = {
    "size_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "int32_t": ctypes.c_int32,
    "int": ctypes.c_int,
    "tern_status_t": ctypes.c_int32,
    "tern_trit_t": ctypes.c_int8,
    "tern_lease_t": ctypes.c_uint64,
    "tern_ticket_t": ctypes.c_uint64,
    "tern_resource_t": ctypes.c_uint32,
}
HANDLES = {
    "tern_manager_t": handles.Manager,
    "tern_events_t": handles.Events,
    "tern_deadlocks_t": handles.Deadlocks,
    "tern_pool_t": handles.Pool,
    "tern_machine_t": handles.Machine,
}


def type_in_c(declared: str) -> Any:
    """What a type of the header is in ctypes."""
    match = re.fullmatch(r"(?:const )?(\w+) ?(\**)", declared.strip())
    assert match, declared
    name, stars = match.group(1), len(match.group(2))
    if name == "void" and not stars:
        return None
    if name == "char":
        return ctypes.c_char_p
    if name in HANDLES:
        return HANDLES[name] if stars == 1 else ctypes.POINTER(HANDLES[name])
    plain = C_TYPES.get(name) or struct_named(name)
    return ctypes.POINTER(plain) if stars else plain


def declared_functions() -> Dict[str, Tuple[str, List[str]]]:
    bare = re.sub(r"/\*.*?\*/|//[^\n]*|static inline.*?\n\}", "", HEADER, flags=re.S)
    found = {}
    for result, name, arguments in re.findall(r"^(const char \*|\w+ )(tern_\w+)\((.*?)\);", bare, re.S | re.M):
        split = [re.sub(r"\s+", " ", argument).strip() for argument in arguments.split(",")]
        # Without the names of the arguments.
        types = [re.sub(r"\w+$", "", argument) for argument in split if argument != "void"]
        found[name] = (result, types)
    return found


def test_functions_are_those_of_the_header() -> None:
    declared = declared_functions()
    assert set(declared) == set(SYMBOLS)
    assert set(PROTOTYPES) | set(NOT_CALLED) == set(declared)
    for name, (result, arguments) in PROTOTYPES.items():
        told, types = declared[name]
        assert result == type_in_c(told), name
        assert arguments == [type_in_c(argument) for argument in types], name


def test_the_version_is_that_of_the_header() -> None:
    defined = dict(re.findall(r"^#define TERN_VERSION_(\w+) (\d+)", HEADER, re.M))
    assert int(defined["NUMBER"]) == library.VERSION_NUMBER
    version = f"{defined['MAJOR']}.{defined['MINOR']}.{defined['PATCH']}"
    assert version == ternlease.__version__
    assert f'version = "{version}"' in (CHECKOUT / "bindings" / "python" / "pyproject.toml").read_text()
    assert library.LIBRARY_NAME == f"libternlease.so.{defined['MAJOR']}.{defined['MINOR']}"
    assert ternlease.library_version() == version


def test_names_and_classes_are_those_that_the_library_knows() -> None:
    c = ctypes.CDLL(library.library_path())
    c.tern_status_name.restype = c.tern_reason_name.restype = ctypes.c_char_p
    for number in range(-100, 1000):
        known = number in list(ternlease.Status)
        name = f"TERN_{ternlease.Status(number).name}" if known else "TERN_STATUS_UNKNOWN"
        assert c.tern_status_name(number).decode() == name
        if number in list(ternlease.Reason):
            reason = ternlease.Reason(number)
            assert c.tern_reason_name(number).decode() == reason.name
            assert c.tern_reason_class(number) == (reason.reason_class or 0)
