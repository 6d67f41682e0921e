"""What every registered metric promises; ours and those of others."""

from __future__ import annotations

import pytest
from checks_kinds import check_metric

from tablecloak.registry import known

# Classes below the k that was asked for count as left out, so exact cells may cost most; what can be learned of who is
# whose row has no greatest value.
UNBOUNDED = {"discernibility", "propensity"}


@pytest.mark.parametrize("name", known("metrics"))
def test_it_keeps_what_every_metric_promises(name):
    check_metric(known("metrics")[name], is_bounded=name not in UNBOUNDED)
