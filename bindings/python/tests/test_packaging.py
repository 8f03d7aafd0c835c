"""Packaging: the wheel, the sdist, and where the library is looked for."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Dict

import pytest
from conftest import CHECKOUT
from test_readme import ALONE, QUICK_START, python_blocks

from ternlease._c import library

PACKAGE = CHECKOUT / "bindings" / "python"
LOADED = str(Path(library.library_path()).resolve())


def environment(**more: str) -> Dict[str, str]:
    """Ours, without what says where things are."""
    told = ("TERN_LIBRARY", "TERN_PREFIX", "PYTHONPATH")
    return {**{name: value for name, value in os.environ.items() if name not in told}, **more}


def source_tree(place: Path) -> Path:
    """The package as an sdist has it: by itself, with no project around."""
    files = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard", "--", "."],
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in files.stdout.split("\0"):
        if (PACKAGE / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes((PACKAGE / name).read_bytes())
    return place


def build(tree: Path, out: Path, **told: str) -> "subprocess.CompletedProcess[str]":
    """Builds an sdist, and a wheel from that."""
    return subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(tree)],
        env=environment(**told),
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("build")
    tree, out = source_tree(tmp_path_factory.mktemp("tree")), tmp_path_factory.mktemp("out")
    built = build(tree, out, TERN_LIBRARY=LOADED)
    assert built.returncode == 0, built.stderr
    assert len(list(out.glob("ternlease-*.tar.gz"))) == 1
    (wheel,) = out.glob("*.whl")
    return wheel


def test_the_wheel_has_the_library_and_says_where_it_runs(wheel: Path) -> None:
    # By another tool than the one that the build asks.
    symbols = subprocess.run(["objdump", "-T", LOADED], capture_output=True, text=True, check=True).stdout
    newest = max(int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", symbols))
    machine = os.uname().machine
    assert wheel.name == f"ternlease-0.1.0-py3-none-manylinux_2_{newest}_{machine}.whl"
    with zipfile.ZipFile(wheel) as inside:
        names = inside.namelist()
        assert f"ternlease/{library.LIBRARY_NAME}" in names
        assert "ternlease/py.typed" in names
        assert any(name.endswith("LICENSE-MIT") for name in names)
        assert not [name for name in names if "test" in name]
        assert "Root-Is-Purelib: false" in inside.read("ternlease-0.1.0.dist-info/WHEEL").decode()


def test_the_wheel_has_the_papers_of_the_library(wheel: Path) -> None:
    share = Path(LOADED).parent.parent / "share"
    with zipfile.ZipFile(wheel) as inside:
        for place, paper in (
            ("sboms/libternlease.cdx.json", "ternlease/sbom.cdx.json"),
            ("licenses/THIRD-PARTY.txt", "doc/ternlease/THIRD-PARTY.txt"),
        ):
            assert inside.read(f"ternlease-0.1.0.dist-info/{place}") == (share / paper).read_bytes()


def test_the_quick_start_runs_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", str(wheel)], env=environment(), check=True)
    ran = subprocess.run(
        [str(ALONE), python, "-W", "error", "-c", python_blocks()[0]],
        env=environment(TERNLEASE_DEVICES="fake:8"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (ran.stdout, ran.stderr) == (QUICK_START, "")
    where = "import ternlease._c.library as l; print(l.library_path())"
    found = subprocess.run([python, "-c", where], env=environment(), cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout.startswith(str(tmp_path / "venv"))


def test_without_a_library_nothing_is_built(tmp_path: Path) -> None:
    pytest.importorskip("build")
    built = build(source_tree(tmp_path / "tree"), tmp_path / "out")
    assert built.returncode != 0
    assert "TERN_LIBRARY" in built.stdout + built.stderr
    assert not list((tmp_path / "out").glob("*.whl"))


def test_in_a_checkout_cargo_is_asked(tmp_path: Path) -> None:
    pytest.importorskip("build")
    tree = source_tree(tmp_path / "bindings" / "python")
    (tmp_path / "bindings" / "c").mkdir()
    (tmp_path / "bindings" / "c" / "Cargo.toml").touch()
    cargo = tmp_path / "bin" / "cargo"
    cargo.parent.mkdir()
    cargo.write_text(f'#!/bin/sh\nmkdir -p target/release && cp "{LOADED}" target/release/libternlease.so\n')
    cargo.chmod(0o755)
    built = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(tmp_path / "out"), str(tree)],
        env=environment(PATH=f"{cargo.parent}:{os.environ['PATH']}"),
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "target" / "release" / "libternlease.so").exists()


def test_a_library_that_cannot_be_used_is_an_import_error(tmp_path: Path) -> None:
    other = tmp_path / "libother.so"
    other.write_bytes(b"nonsense")
    for path in (str(tmp_path / "missing.so"), str(other), "libc.so.6"):
        ran = subprocess.run(
            [sys.executable, "-c", "import ternlease"],
            env=environment(PYTHONPATH=str(PACKAGE / "src"), TERN_LIBRARY=path),
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 1
        assert "ImportError: cannot use libternlease" in ran.stderr
        assert "TERN_LIBRARY" in ran.stderr


def test_a_library_of_another_version_is_an_import_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "VERSION_NUMBER", 99_000_000)
    with pytest.raises(ImportError, match="does not fit"):
        library.load(library.library_path())
