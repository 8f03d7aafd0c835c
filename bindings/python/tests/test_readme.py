"""The README and the examples do what they say."""

import asyncio
import builtins
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

import ternlease

PACKAGE = Path(__file__).parents[1]
QUICK_START = """\
0 Fake GPU 0000:01:00.0
1 Fake GPU 0000:02:00.0
CUDA_VISIBLE_DEVICES = 0,1
EXPIRED
"""
EXAMPLES = {
    "devices.py": """\
trainer has [0, 1]
the child sees 0,1
the next one waited in vain: TIMEOUT
trainer gave its two back, and the next one has [0]
""",
    "notice.py": """\
told: gpu0 will be revoked at tick 3: NODE_DRAIN
saves its work and gives gpu0 back
told: the lease is over: NODE_DRAIN
""",
    "placement.py": """\
hash 64 KiB: do it here
load and sort 1 GB: fetch it
matmul 20k: GPU_NOW
""",
    "share.py": """\
the child waits
the parent gives its GPU back
the child has Fake GPU
""",
    "tasks.py": """\
the impatient one left; in line: 0
9 jobs are done; 10 leases were granted
""",
}


def python_blocks() -> List[str]:
    return re.findall(r"^```python\n(.*?)^```", (PACKAGE / "README.md").read_text(), re.M | re.S)


# With it, a program that opens the shared pool of the machine does not meet other programs.
ALONE = PACKAGE.parents[1] / "scripts" / "with-private-shm"


def run(*arguments: str, **environment: str) -> str:
    command = [str(ALONE), sys.executable, "-W", "error", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    return ended.stdout


def test_the_quick_start() -> None:
    quick_start = python_blocks()[0]
    assert len(quick_start.splitlines()) <= 10
    assert run("-c", quick_start, TERNLEASE_DEVICES="fake:8") == QUICK_START


def test_pool_without_url_is_the_shared_pool_of_the_machine() -> None:
    program = """
from ternlease import Busy, GpuPool, LeaseManager
with GpuPool() as one, GpuPool() as other, one.claim():
    try:
        other.claim(timeout=0)
    except Busy:
        with LeaseManager() as manager:
            print(one.manager.host().path == manager.host().path)
"""
    assert run("-c", program, TERNLEASE_DEVICES="fake:1") == "True\n"


def test_the_tasks_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    seen: List[Dict[str, str]] = []

    async def run_with(environment: Dict[str, str]) -> None:
        seen.append(environment)

    names: Dict[str, Any] = {**vars(ternlease), "run_with": run_with}
    exec(python_blocks()[1], names)

    async def main() -> None:
        with ternlease.GpuPool("process:", devices="fake:2") as pool:
            log = asyncio.ensure_future(names["log"](pool.manager))
            await asyncio.sleep(0)
            await names["train"](pool)
            while not capsys.readouterr().out.count("ENDED"):
                await asyncio.sleep(0)
            log.cancel()
            with pytest.raises(asyncio.CancelledError):
                await log

    asyncio.run(main())
    assert seen[0]["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_every_example_is_run() -> None:
    assert {path.name for path in (PACKAGE / "examples").glob("*.py")} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example(name: str) -> None:
    assert run(str(PACKAGE / "examples" / name)) == EXAMPLES[name]


def test_the_names_of_the_readme_are_there() -> None:
    named = set(re.findall(r"`([A-Z]\w*[a-z]\w*)`", (PACKAGE / "README.md").read_text()))
    assert named
    assert named <= set(ternlease.__all__) | set(dir(builtins))
