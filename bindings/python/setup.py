"""Builds the wheel, with the shared library in it and a tag that says where it runs.

The library is the one that TERN_LIBRARY names, or that of an installation in TERN_PREFIX; in a checkout of the whole
project it is built by cargo.
"""

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = Path(__file__).resolve().parent
# As src/ternlease/_c/library.py looks for it.
LIBRARY_NAME = "libternlease.so.0.1"

# What every Linux with the GNU C library has. A library that needs others is for this machine only.
EVERYWHERE = {"libc.so.6", "libgcc_s.so.1", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}


def find_library() -> Path:
    """The shared library that goes into the wheel."""
    told = os.environ.get("TERN_LIBRARY")
    if told:
        return Path(told)
    prefix = os.environ.get("TERN_PREFIX")
    if prefix:
        return Path(prefix) / "lib" / LIBRARY_NAME
    checkout = HERE.parent.parent
    if (checkout / "bindings" / "c" / "Cargo.toml").exists():
        return cargo_build(checkout)
    raise SystemExit(
        "libternlease is needed: say where it is with TERN_LIBRARY, or where it is installed with TERN_PREFIX"
    )


def cargo_build(checkout: Path) -> Path:
    """Builds the library of a checkout."""
    command = ["cargo", "build", "--release", "--locked", "-p", "ternlease-c", "--features", "cluster"]
    subprocess.run(command, cwd=checkout, check=True)
    target = os.environ.get("CARGO_TARGET_DIR") or "target"
    return checkout / target / "release" / "libternlease.so"


def find_papers() -> Dict[str, Path]:
    """What came with the library, by its place in the wheel: the list of what is linked into it, and the licences."""
    told, prefix = os.environ.get("TERN_LIBRARY"), os.environ.get("TERN_PREFIX")
    if told or prefix:
        share = (Path(told).resolve().parent.parent if told else Path(str(prefix))) / "share"
        listed, licences = share / "ternlease" / "sbom.cdx.json", share / "doc" / "ternlease" / "THIRD-PARTY.txt"
    else:
        folder = HERE.parent.parent / "sbom"
        listed, licences = folder / "libternlease.cdx.json", folder / "THIRD-PARTY.txt"
    papers = {"sboms/libternlease.cdx.json": listed, "licenses/THIRD-PARTY.txt": licences}
    return {place: paper for place, paper in papers.items() if paper.exists()}


def readelf(option: str, library: Path) -> Optional[str]:
    """What readelf says; None if there is none here."""
    if shutil.which("readelf") is None:
        return None
    told = subprocess.run(["readelf", "-W", option, str(library)], capture_output=True, text=True, check=True)
    return told.stdout


def glibc_needed(library: Path) -> Optional[Tuple[int, int]]:
    """The oldest GNU C library that has everything that ours needs; None if that cannot be told."""
    dynamic, versions = readelf("-d", library), readelf("-V", library)
    if dynamic is None or versions is None:
        return None
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    if not {name for name in needed if not name.startswith("ld-linux")} <= EVERYWHERE:
        return None
    found = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", versions)
    return max(((int(major), int(minor)) for major, minor in found), default=None)


def platform_tag(library: Path) -> str:
    """Where the wheel runs."""
    machine = sysconfig.get_platform().rpartition("-")[2]
    glibc = glibc_needed(library)
    return f"linux_{machine}" if glibc is None else f"manylinux_{glibc[0]}_{glibc[1]}_{machine}"


class BuildWithLibrary(build_py):
    """Puts the library beside the modules, without what only debuggers read."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        copy = Path(self.build_lib) / "ternlease" / LIBRARY_NAME
        shutil.copyfile(find_library(), copy)
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-debug", str(copy)], check=True)


class WithLibrary(Distribution):
    """Not the same on every system, although nothing of it is compiled here."""

    def has_ext_modules(self) -> bool:
        return True


class PlatformWheel(bdist_wheel):
    """A wheel for every Python 3, on the systems that the library runs on."""

    def get_tag(self) -> Tuple[Any, Any, Any]:
        built = Path(self.distribution.get_command_obj("build").build_lib) / "ternlease" / LIBRARY_NAME
        return "py3", "none", platform_tag(built if built.exists() else find_library())

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        super().egg2dist(egginfo_path, distinfo_path)
        for place, paper in find_papers().items():
            copy = Path(distinfo_path) / place
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(paper, copy)


setup(distclass=WithLibrary, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
