# SPDX-License-Identifier: Apache-2.0
"""edl.sampler: the same numbers as the library gives; tests/unit/test_libedl_sampler.c has the same table."""
import unittest

import edl

# n, seed, epoch, place, index
TABLE = [
    (1, 0, 0, 0, 0),
    (2, 0, 0, 0, 1),
    (3, 5, 1, 2, 2),
    (10, 7, 0, 0, 4),
    (10, 7, 0, 9, 5),
    (1000, 0, 0, 0, 649),
    (1000, 0, 1, 0, 262),
    (1000, 1, 0, 0, 517),
    (1000000, 42, 3, 999999, 614585),
    (2**32 + 1, 2**64 - 1, 2**63, 2**32, 4291871862),
    (2**63 - 1, 12345, 7, 2**63 - 2, 7306926427870749943),
    (2**63 - 1, 0, 2**64 - 1, 0, 7211468075661176562),
]


class Test(unittest.TestCase):
    def test_the_numbers_are_those_of_the_table(self) -> None:
        for n, seed, epoch, place, index in TABLE:
            self.assertEqual(edl.sampler(n, seed).index(epoch, place), index, (n, seed, epoch, place))

    def test_each_record_comes_once(self) -> None:
        for n in (1, 2, 3, 4, 5, 16, 17, 97, 1000, 1025):
            sampler = edl.sampler(n, 11)
            self.assertEqual(len(sampler), n)
            orders = [tuple(sampler.index(epoch, place) for place in range(n)) for epoch in range(3)]
            for order in orders:
                self.assertEqual(sorted(order), list(range(n)))
            if n > 16:
                self.assertEqual(len(set(orders)), 3)

    def test_a_step_has_the_same_records_at_any_size(self) -> None:
        sampler = edl.sampler(25, 3)
        self.assertEqual(sampler.steps(8), 4)
        self.assertEqual(sampler.indices(0, 0, 8), [4, 10, 12, 11, 2, 7, 5, 13])
        self.assertEqual(len(sampler.indices(0, 3, 8)), 1)
        for step in range(4):
            alone = sampler.indices(5, step, 8)
            for size in range(2, 10):
                parts = [sampler.indices(5, step, 8, rank, size) for rank in range(size)]
                self.assertLessEqual(max(map(len, parts)), -(-8 // size))
                self.assertEqual([index for part in parts for index in part], alone)

    def test_a_program_that_begins_in_the_middle_takes_the_same(self) -> None:
        sampler = edl.sampler(1000, 9)
        whole = [index for step in range(sampler.steps(64)) for index in sampler.indices(2, step, 64)]
        self.assertEqual(sorted(whole), list(range(1000)))
        self.assertEqual(edl.sampler(1000, 9).indices(2, 10, 64), whole[640:704])

    def test_first_places_are_spread(self) -> None:
        counts = [0] * 16
        for seed in range(3200):
            counts[edl.sampler(16, seed).index(0, 0)] += 1
        # 15 degrees of freedom: a fair order is beyond 50 once in 80,000 tries, and these seeds are always the same
        self.assertLess(sum((count - 200) ** 2 / 200 for count in counts), 50)

    def test_what_cannot_be(self) -> None:
        sampler = edl.sampler(25, 3)
        for wrong in (lambda: edl.sampler(-1), lambda: edl.sampler(2**63), lambda: edl.sampler(5, -1),
                      lambda: sampler.index(0, 25), lambda: sampler.indices(0, 4, 8), lambda: sampler.indices(0, 0, 0),
                      lambda: sampler.indices(0, 0, 8, 2, 2), lambda: edl.sampler(0).index(0, 0),
                      lambda: edl.sampler(0).indices(0, 0, 1)):
            self.assertRaises(ValueError, wrong)
        with self.assertRaises(TypeError):
            edl.sampler(1.5)  # type: ignore[arg-type]


if __name__ == "__main__":
    unittest.main()
