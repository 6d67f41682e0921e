"""top-code: what lies above a bound is published as one."""

from __future__ import annotations

from tablecloak.transforms._tails import Tail
from tablecloak.transforms.base import LINE, Family, transform


@transform("top-code", Family.COARSEN, types=LINE)
class TopCode(Tail):
    """What lies above a bound is published as one: above 89 as 90+.

    With `k` the bound is the highest above which at least k records are, at a round place between values where there is
    room. Without `label` numbers stay numbers: the tail is published as the bound, which then stands for itself and all
    that is above, or as the mean of the tail. Infinite numbers are above every bound; `k` refuses them.
    """

    side = "above"
