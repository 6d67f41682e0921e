"""m-confidentiality: knowing how the algorithm decides does not help to learn a sensitive value."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import Condition, Monotone, PrivacyModel, Sense, crowd, model, one_histogram
from tablecloak.models.fields import OneSensitive, Values, largest_share
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.stats.classes import ClassStats, Evidence


@model("m-confidentiality", evidence=Evidence.SENSITIVE, monotone=Monotone.GENERALIZATION, sense=Sense.AT_MOST)
class MConfidentiality(PrivacyModel):
    """Even someone who knows the algorithm believes in no sensitive value of a person with a chance of more than 1/`m`.

    An algorithm that gives up a cut because of sensitive values tells by it which they are. So classes are formed by
    quasi-identifiers alone, of at least `k` records each, and no choice depends on what the credibility is about: what
    is left is the share of a value in a class.
    Formula: |E| >= k and n_E(s) / |E| <= 1/m for every class E and every protected value s, where n_E(s) are the
    persons of E with s in any of their records there, |E| all its persons, and classes are chosen without looking at s.
    If it fails, nothing is published; a larger `k` makes it likelier to hold. Other models that look at sensitive
    values, and algorithms that do, are refused beside it. How the classes of a release made elsewhere were chosen
    cannot be known.

    Protects from: attribute linkage, the minimality attack included. Not from: learning a share of up to 1/m.
    Reference: Wong, Fu, Wang, Pei, Minimality attack in privacy preserving data publishing, VLDB 2007.
    """

    m: Annotated[int, Field(ge=2, description="no value is believed with more than 1/m; 2 to 5 is usual")]
    k: Annotated[int, Field(ge=2, description="smallest class size; several times m, 20 to 200 is usual")]
    sensitive: OneSensitive = None
    values: Values = None

    @property
    def required(self) -> float:
        return 1 / self.m

    @property
    def min_size(self) -> int:
        return max(self.k, self.m) if self.values is None else self.k

    @property
    def in_search(self) -> PrivacyModel:
        return KAnonymity(k=self.min_size)  # in a smaller class every value has a larger share than 1/m

    @property
    def note(self) -> str | None:
        return f"{self.name}: the search looks at quasi-identifiers only, and the finished table is recounted"

    @property
    def asks_of_search(self) -> str | None:
        return "a release does not show whether classes were formed without looking at sensitive values"

    @property
    def hides_among(self) -> float | None:
        return self.m

    def levels(self, stats: ClassStats) -> FloatArray:
        return largest_share(one_histogram(stats, self.sensitive, self.name), self.values)

    def conditions(self, stats: ClassStats) -> list[Condition]:
        return [Condition("m", self.levels(stats), self.required, self.sense), crowd(stats, self.k)]
