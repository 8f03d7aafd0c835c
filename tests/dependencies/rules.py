"""What packages may be like, by the rules of deny.toml. Says what is wrong, in words."""

import re
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Set


class Package(NamedTuple):
    """One that is built, in one version."""

    name: str
    version: str
    # None for our own.
    source: Optional[str]
    licence: str
    # A build script, or a macro: code of its own that runs on the machine on which it is built.
    runs_code: bool
    # Which of its dependencies may have any version.
    wildcards: List[str]

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


def is_allowed(expression: str, allowed: Set[str]) -> bool:
    """Is it enough to agree to licences that are allowed? An expression of SPDX; an old one has `/` for `OR`."""
    words = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))
    # Of a licence with an exception, the two are one word.
    words = re.sub(r" WITH ", "+WITH+", " ".join(words)).split()

    def either() -> bool:
        found = both()
        while words and words[0] == "OR":
            words.pop(0)
            found = both() or found
        return found

    def both() -> bool:
        found = one()
        while words and words[0] == "AND":
            words.pop(0)
            found = one() and found
        return found

    def one() -> bool:
        word = words.pop(0)
        if word == "(":
            found = either()
            return words.pop(0) == ")" and found
        return word.replace("+WITH+", " WITH ") in allowed

    try:
        return either() and not words
    except IndexError:
        # It ends in the middle.
        return False


class Rules:
    """Those of deny.toml, as far as they need no network. It notes which of them were needed."""

    def __init__(self, told: Dict[str, Any], registry: str) -> None:
        licences, bans = told["licenses"], told["bans"]
        self.registry = registry
        self.allowed: Set[str] = set(licences["allow"])
        self.exceptions: Dict[str, Set[str]] = {it["crate"]: set(it["allow"]) for it in licences["exceptions"]}
        self.twice: Set[str] = {it["crate"] for it in bans["skip"]}
        self.builders: Set[str] = set(bans["build"]["allow-build-scripts"])
        self._needed: Set[str] = set()

    def check(self, packages: Iterable[Package]) -> List[str]:
        """What is wrong with these, which are built together."""
        wrong = []
        newest: Dict[str, Package] = {}
        for package in sorted(packages, key=lambda it: (it.name, version_key(it.version)), reverse=True):
            wrong += self._code(package)
            wrong += [f"{package}: any version of {name} would do for it" for name in package.wildcards]
            if package.source is None:
                continue
            wrong += self._source(package) + self._licence(package)
            if package.name not in newest:
                newest[package.name] = package
            elif str(package) not in self.twice:
                wrong.append(f"{package} is there beside {newest[package.name]}")
            self._needed.add(str(package))
        return sorted(wrong)

    def _source(self, package: Package) -> List[str]:
        return [] if package.source == self.registry else [f"{package} comes from {package.source}"]

    def _licence(self, package: Package) -> List[str]:
        if is_allowed(package.licence, self.allowed):
            return []
        self._needed.add(f"licence of {package.name}")
        allowed = self.allowed | self.exceptions.get(package.name, set())
        return [] if is_allowed(package.licence, allowed) else [f"{package} has the licence {package.licence!r}"]

    def _code(self, package: Package) -> List[str]:
        if not package.runs_code:
            return []
        self._needed.add(f"code of {package.name}")
        return [] if package.name in self.builders else [f"{package} runs code of its own when it is built"]

    def not_needed(self) -> List[str]:
        """Exceptions that were for something that is there no more."""
        asked = [f"licence of {name}" for name in self.exceptions] + [f"code of {name}" for name in self.builders]
        return [f"nothing needs the exception: {it}" for it in sorted([*asked, *self.twice]) if it not in self._needed]


def check_lock(told: Dict[str, Any], registry: str) -> List[str]:
    """What a lock file says, for all systems: everything comes from a known registry, and cannot change there."""
    wrong = []
    for package in told["package"]:
        name, source = f"{package['name']}@{package['version']}", package.get("source")
        if source is None:
            continue
        if source != registry:
            wrong.append(f"{name} comes from {source}")
        elif "checksum" not in package:
            wrong.append(f"{name} has no checksum")
    return wrong


def version_key(version: str) -> List[int]:
    """By which the newest is last."""
    return [int(number) for number in re.findall(r"\d+", version)]
