"""bottom-code: what lies below a bound is published as one."""

from __future__ import annotations

from tablecloak.transforms._tails import Tail
from tablecloak.transforms.base import LINE, Family, transform


@transform("bottom-code", Family.COARSEN, types=LINE)
class BottomCode(Tail):
    """What lies below a bound is published as one: below 18 as <18.

    With `k` the bound is the lowest below which at least k records are, at a round place between values where there is
    room. Without `label` numbers stay numbers: the tail is published as the bound, which then stands for itself and all
    that is below, or as the mean of the tail. Infinite numbers are below every bound; `k` refuses them.
    """

    side = "below"
