"""Drawing whole groups at random so that their sizes sum as close to a number as they can.

Knows nothing of records: sizes go in, places come out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["closest_draw"]

#: Bits of memory a search may take, 32 MB, and what it takes for each group besides one bit for each sum.
_MOST_BITS, _BITS_PER_GROUP = 2**28, 256


def closest_draw(sizes: Sequence[int], goal: float, *, keep: int = 0) -> list[int]:
    """Return places of groups whose sizes sum as close to a goal as possible, earlier groups preferred.

    Where there are many groups, the first ones that fit are taken until the rest is small enough to be searched; the
    search is exact. Of two sums equally close the smaller is chosen. At least one group is taken and at least `keep`
    are left; where the best sum would leave fewer, it is the one group closest to the goal.

    Args:
        sizes: Size of each group, positive, in random order.
        goal: What the sizes should sum to, positive.
        keep: Groups to leave; there are more groups than this.
    """
    taken: list[int] = []
    need, start = goal, 0
    while (len(sizes) - start) * (2 * need + _BITS_PER_GROUP) > _MOST_BITS:
        if sizes[start] <= need:
            taken.append(start)
            need -= sizes[start]
        start += 1
    rest = sizes[start:]
    # where nothing is taken yet the empty sum will not do
    chosen = _exact_draw(rest, need, nothing_will_do=bool(taken))
    places = taken + [start + place for place in chosen]
    if len(sizes) - len(places) < keep:
        return [min(range(len(sizes)), key=lambda place: (abs(sizes[place] - goal), place))]
    return places


def _exact_draw(sizes: Sequence[int], goal: float, *, nothing_will_do: bool) -> list[int]:
    """Return the places of a draw with the best sum."""
    if not sizes:
        return []
    # Twice the goal is as far off as nothing at all is.
    limit = max(math.ceil(2 * goal), min(sizes))
    mask = (1 << (limit + 1)) - 1
    # Bit s of reach[i] tells whether sizes[i:] can sum to s.
    reach = [1]
    for size in reversed(sizes):
        reach.append(reach[-1] | ((reach[-1] << size) & mask))
    reach.reverse()
    remaining = _closest_bit(reach[0] if nothing_will_do else reach[0] & ~1, goal)
    chosen: list[int] = []
    for place, size in enumerate(sizes):
        if size <= remaining and (reach[place + 1] >> (remaining - size)) & 1:
            chosen.append(place)
            remaining -= size
        if not remaining:
            break
    return chosen


def _closest_bit(bits: int, goal: float) -> int:
    """Return the number of the set bit closest to a goal; of two the lower."""
    floor = math.floor(goal)
    below = (bits & ((1 << (floor + 1)) - 1)).bit_length() - 1
    above_bits = bits >> (floor + 1)
    if not above_bits:
        return below
    above = floor + (above_bits & -above_bits).bit_length()
    return below if below >= 0 and goal - below <= above - goal else above
