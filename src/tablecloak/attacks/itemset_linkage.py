"""Itemset linkage: finding the record of a person of whose set a few items are known."""

from __future__ import annotations

import numpy as np

from tablecloak.attacks.base import AttackSuccess, attack, worst_people
from tablecloak.attacks.case import Case
from tablecloak.data.itemsets import candidates_of, itemset_risks
from tablecloak.errors import DoesNotApplyError, IncompatibleChoice


@attack("itemset-linkage", of_items=True)
def itemset_linkage(case: Case) -> AttackSuccess:
    """The chance that someone who knows a few items of a person, and that they are in the table, finds their record.

    1 / (number of published records that can hold these items), for the up to m items of the person that leave the
    fewest records, m being that of the goal. Without the original, items are known as they are published. A victim is
    left with fewer than k records, k being that of the goal, and 2 without one.
    By guessing: one of all published records.
    Stopped by: km-anonymity: whoever knows up to m items of somebody finds at least k records that hold them.
    Reference: Terrovitis, Mamoulis, Kalnis, Privacy-preserving anonymization of set-valued data, PVLDB 2008.
    """
    assert case.items is not None
    records, people = case.items.records, case.items.people
    k = max(2, case.attacker.k)
    try:
        if people is None:
            candidates = candidates_of(records, case.attacker.items)
        else:
            candidates = candidates_of(people, case.attacker.items, among=records)
    except IncompatibleChoice as exc:
        raise DoesNotApplyError(exc.message) from exc
    *_, most = risks = itemset_risks(candidates, k=k)
    worst, rows_of = worst_people(case, 1 / candidates[-1], None if people is None else np.arange(people.n_baskets))
    return AttackSuccess(
        highest=most.highest, average=most.average, n_targets=most.n_records, n_victims=most.n_below, worst=worst,
        rows_of=rows_of, baseline=1 / max(1, records.n_records), notes=case.items.notes,
        details={"k": k, "by_known_items": [risk.to_dict() for risk in risks]},
    )  # fmt: skip
