"""The rules by which a soak is judged, by figures that are made up."""

import unittest
from typing import Callable, List

from exclusion import Devices
from samples import MEMORY_SLACK, MIB, Sample, leak_that_shows, makes_progress, slope, what_is_not_flat


def told(memory: Callable[[int], float], descriptors: Callable[[int], int] = lambda _: 5) -> List[Sample]:
    """A hundred seconds, and ten operations in each."""
    return [Sample(at, int(memory(at)), descriptors(at), 3, 10 * at) for at in range(101)]


class Flatness(unittest.TestCase):
    def test_what_stays_is_flat(self) -> None:
        self.assertEqual(what_is_not_flat(told(lambda _: 50 * MIB)), [])

    def test_what_is_new_at_first_is_no_leak(self) -> None:
        self.assertEqual(what_is_not_flat(told(lambda at: min(at, 20) * 10 * MIB)), [])

    def test_what_comes_and_goes_is_no_leak(self) -> None:
        self.assertEqual(what_is_not_flat(told(lambda at: (50 + at % 7) * MIB, lambda at: 5 + at % 9)), [])

    def test_what_shrinks_is_no_leak(self) -> None:
        self.assertEqual(what_is_not_flat(told(lambda at: (500 - at) * MIB)), [])

    def test_a_leak_is_one_if_it_comes_to_more_than_the_slack(self) -> None:
        # Between the middle of the second fifth and that of the last there are sixty seconds.
        a_second = MEMORY_SLACK / 60
        self.assertEqual(what_is_not_flat(told(lambda at: 50 * MIB + 0.95 * a_second * at)), [])
        self.assertEqual(len(what_is_not_flat(told(lambda at: 50 * MIB + 1.05 * a_second * at))), 1)

    def test_descriptors_that_are_lost_are_noticed(self) -> None:
        self.assertEqual(what_is_not_flat(told(lambda _: MIB, lambda at: at // 10)), ["descriptors grew by 6"])

    def test_what_would_have_been_noticed_is_told(self) -> None:
        self.assertEqual(leak_that_shows(told(lambda _: MIB)), MEMORY_SLACK / 600)

    def test_the_slope_is_that_of_the_line(self) -> None:
        self.assertAlmostEqual(slope(told(lambda at: 7000 * at), lambda it: it.memory), 7000)

    def test_who_stands_still_makes_no_progress(self) -> None:
        self.assertTrue(makes_progress(told(lambda _: MIB)))
        stopped = [it._replace(operations=min(it.operations, 500)) for it in told(lambda _: MIB)]
        self.assertFalse(makes_progress(stopped))


class Exclusion(unittest.TestCase):
    def setUp(self) -> None:
        self.devices = Devices()

    def grant(self, worker: str) -> None:
        self.devices.granted(worker, {"gpu0": self.devices.seen("gpu0")})

    def test_two_holders_are_noticed(self) -> None:
        self.grant("a")
        self.grant("b")
        self.assertEqual(self.devices.violations, ["gpu0 was given to b while a had it"])

    def test_one_after_the_other_is_right(self) -> None:
        self.grant("a")
        self.devices.gives_back("a", ["gpu0"])
        self.grant("b")
        self.devices.gives_back_all("b")
        self.grant("a")
        self.assertEqual((self.devices.violations, self.devices.checked), ([], 3))

    def test_whom_it_may_have_been_taken_from_has_it_no_more(self) -> None:
        self.grant("a")
        asked = {"gpu0": self.devices.seen("gpu0")}
        self.devices.is_revoked("gpu0")
        self.grant("b")
        # Granted before that was revoked, and heard of only now.
        self.devices.granted("c", asked)
        self.devices.gives_back("b", ["gpu0"])
        self.grant("a")
        self.assertEqual(self.devices.violations, [])


if __name__ == "__main__":
    unittest.main()
