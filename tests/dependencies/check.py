"""Checks what we depend on against deny.toml: the packages of each lock file, for Linux and with all features.

Ends with "N passed, N failed". What cargo has not got yet it fetches; nothing else needs the network.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Dict, List

from rules import Package, Rules, check_lock

CHECKOUT = Path(__file__).resolve().parent.parent.parent
# Each with a lock file of its own.
BUILT = ["Cargo.toml", "fuzz/Cargo.toml"]
# Has flaws that are known; see SECURITY.md. It is built by a benchmark only, and its lock file checked like the others.
NOT_BUILT = ["benches/coren/Cargo.toml"]


def toml(path: str) -> Dict[str, Any]:
    return tomllib.loads((CHECKOUT / path).read_text())


def cargo(command: str, manifest: str, *more: str) -> str:
    words = ["cargo", command, "--locked", "--all-features", "--manifest-path", str(CHECKOUT / manifest), *more]
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def packages(manifest: str, target: str) -> List[Package]:
    """All that are built for this target: its metadata has others as well, which no feature turns on."""
    tree = cargo(
        "tree", manifest, "--workspace", "--target", target, "--edges=normal,build,dev", "--prefix=none", "--format={p}"
    )
    built = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    told = json.loads(cargo("metadata", manifest, "--format-version=1", "--filter-platform", target))
    return [package(it) for it in told["packages"] if (it["name"], f"v{it['version']}") in built]


def package(told: Dict[str, Any]) -> Package:
    kinds = {kind for target in told["targets"] for kind in target["kind"]}
    anything = [it["name"] for it in told["dependencies"] if it["req"] == "*" and it.get("path") is None]
    ours = told["source"] is None
    return Package(
        told["name"],
        told["version"],
        told["source"],
        told["license"] or "",
        bool(kinds & {"custom-build", "proc-macro"}),
        anything if ours else [],
    )


def main() -> int:
    told = toml("deny.toml")
    # That of everything which the library cannot do without.
    registry = next(it["source"] for it in toml("Cargo.lock")["package"] if it["name"] == "libc")
    rules = Rules(told, registry)
    target = told["graph"]["targets"][0]
    results = {}
    for manifest in BUILT:
        found = packages(manifest, target)
        results[f"{manifest}: {len(found)} packages"] = rules.check(found)
    results["deny.toml: exceptions"] = rules.not_needed()
    for manifest in BUILT + NOT_BUILT:
        lock = manifest.replace(".toml", ".lock")
        results[f"{lock}: sources and checksums"] = check_lock(toml(lock), registry)
    for name, wrong in results.items():
        print(f"{'FAILED' if wrong else 'ok':8}{name}")
        for words in wrong:
            print(f"          {words}")
    failed = sum(bool(wrong) for wrong in results.values())
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
