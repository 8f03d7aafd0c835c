"""Are the rules to be believed? Each kind of violation is found, and nothing else."""

import unittest
from typing import Any, Dict, List

from rules import Package, Rules, check_lock, is_allowed

REGISTRY = "registry+https://example.org/ours"
TOLD: Dict[str, Any] = {
    "licenses": {"allow": ["MIT", "Apache-2.0"], "exceptions": [{"crate": "maker", "allow": ["MPL-2.0"]}]},
    "bans": {"skip": [{"crate": "old@1.0.0"}], "build": {"allow-build-scripts": ["maker"]}},
}
GOOD = [
    Package("ours", "0.1.0", None, "", False, []),
    Package("maker", "3.1.0", REGISTRY, "MPL-2.0", True, []),
    Package("old", "1.0.0", REGISTRY, "MIT/Apache-2.0", False, []),
    Package("old", "2.0.0", REGISTRY, "MIT", False, []),
]
ONE = Package("one", "1.0.0", REGISTRY, "MIT", False, [])


def found(*more: Package) -> List[str]:
    return Rules(TOLD, REGISTRY).check([*GOOD, *more])


class Violations(unittest.TestCase):
    def test_none(self) -> None:
        rules = Rules(TOLD, REGISTRY)
        self.assertEqual((rules.check([*GOOD, ONE]), rules.not_needed()), ([], []))

    def test_a_licence_that_nobody_allowed(self) -> None:
        self.assertEqual(found(ONE._replace(licence="GPL-3.0-only")), ["one@1.0.0 has the licence 'GPL-3.0-only'"])
        self.assertEqual(found(ONE._replace(licence="MPL-2.0")), ["one@1.0.0 has the licence 'MPL-2.0'"])
        self.assertEqual(found(ONE._replace(licence="")), ["one@1.0.0 has the licence ''"])

    def test_a_source_that_nobody_allowed(self) -> None:
        for source in ("git+https://example.org/one", "registry+https://example.org/index"):
            self.assertEqual(found(ONE._replace(source=source)), [f"one@1.0.0 comes from {source}"])

    def test_a_second_version(self) -> None:
        self.assertEqual(found(ONE, ONE._replace(version="1.10.0")), ["one@1.0.0 is there beside one@1.10.0"])

    def test_code_that_runs_while_it_is_built(self) -> None:
        self.assertEqual(found(ONE._replace(runs_code=True)), ["one@1.0.0 runs code of its own when it is built"])

    def test_any_version(self) -> None:
        ours = GOOD[0]._replace(wildcards=["one"])
        self.assertEqual(Rules(TOLD, REGISTRY).check([ours, *GOOD[1:]]), ["ours@0.1.0: any version of one would do for it"])

    def test_an_exception_that_nothing_needs(self) -> None:
        rules = Rules(TOLD, REGISTRY)
        rules.check(GOOD[:1])
        self.assertEqual(len(rules.not_needed()), 3)

    def test_a_lock_file(self) -> None:
        good = {"name": "one", "version": "1.0.0", "source": REGISTRY, "checksum": "00"}
        bad = [{**good, "source": "git+https://example.org"}, {**good, "checksum": ""}]
        del bad[1]["checksum"]
        self.assertEqual(check_lock({"package": [good, {"name": "ours", "version": "0.1.0"}]}, REGISTRY), [])
        for package in bad:
            self.assertEqual(len(check_lock({"package": [package]}, REGISTRY)), 1, package)


class Licences(unittest.TestCase):
    def test_expressions(self) -> None:
        allowed = {"MIT", "Apache-2.0", "ISC", "Apache-2.0 WITH LLVM-exception"}
        good = (
            "MIT",
            "MIT OR GPL-3.0-only",
            "GPL-3.0-only/MIT",
            "GPL-2.0-only OR (MIT AND ISC)",
            "(MIT OR X) AND ISC",
            "Apache-2.0 WITH LLVM-exception OR X",
            "Apache-2.0 / MIT",
        )
        bad = ("", "X", "MIT AND X", "X OR Y", "(MIT", "MIT)", "MIT MIT", "MIT OR", "MIT WITH X", "X AND MIT OR Y")
        for expression in good:
            self.assertTrue(is_allowed(expression, allowed), expression)
        for expression in bad:
            self.assertFalse(is_allowed(expression, allowed), expression)


if __name__ == "__main__":
    unittest.main()
