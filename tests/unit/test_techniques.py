"""The catalogue of techniques says what its sources print, and names only what is there."""

from __future__ import annotations

import pytest

from tablecloak import registry
from tablecloak.errors import PolicyError
from tablecloak.profile.techniques import Technique, catalogue

# Table 1.1 of the thesis: completeness, confidentiality, accuracy.
TABLE_1_1 = {
    "homomorphic-encryption": "yes yes yes",
    "verifiable-computation": "yes no no",
    "multi-party-computation": "yes yes yes",
    "functional-encryption": "yes yes yes/no",
    "format-preserving-encryption": "yes yes no",
    "k-anonymity-generalisation": "yes no yes",
    "l-diversity": "yes no yes",
    "t-closeness": "yes yes yes",
    "k-anonymity-suppression": "no no yes",
    "permutation": "yes yes yes",
    "differential-privacy": "yes yes no",
    "substitution": "no yes no",
    "shuffling": "yes no yes",
    "blurify": "no yes yes",
    "nulling-out": "no yes no",
    "character-masking": "no yes no",
}
# Section 1.4 of the thesis, the tree of techniques.
FAMILIES = {
    "cryptographic": {
        "homomorphic-encryption", "verifiable-computation", "multi-party-computation", "functional-encryption",
        "format-preserving-encryption",
    },
    "generalisation": {"k-anonymity-generalisation", "l-diversity", "t-closeness"},
    "randomisation": {
        "k-anonymity-suppression", "permutation", "differential-privacy", "substitution", "shuffling", "blurify",
        "nulling-out", "character-masking",
    },
}  # fmt: skip
# Table 5 of the survey: privacy, utility.
TABLE_5 = {
    "bucketisation": ("low", "high"),
    "generalisation": ("average", "average"),
    "permutation": ("average", "average"),
    "perturbation": ("high", "low"),
    "suppression": ("high", "low"),
}
# Table 13 of the survey.
TABLE_13 = {
    "k-anonymity": ["record"], "(X,Y)-Anonymity": ["record"], "(k,k)-anonymity": ["record"], "n-Confusion": ["record"],
    "MultiRelational k-Anonymity": ["record"], "k^m-anonymity": ["record"],
    "epsilon-Differential Privacy": ["table", "skewness_similarity"], "k-concealment": ["record"],
    "Confidence bounding": ["attribute"], "l-diversity": ["record", "attribute"], "(X,Y)-Privacy": ["attribute"],
    "(alpha,k)-anonymity": ["record", "attribute"], "Personalized Privacy": ["attribute"],
    "(k,e)-Anonymity": ["attribute"], "(epsilon,m)-Anonymity": ["attribute"], "t-closeness": ["attribute"],
    "beta-likeness": ["attribute", "skewness_similarity"], "delta-presence": ["table"], "m-invariance": ["continuous"],
    "m-confidentiality": ["algorithm"],
}  # fmt: skip
# Table 3 of the survey.
TABLE_3 = {
    "general": [
        "Minimal Distortion", "Height", "NCP", "ILoss", "Discernibility", "Lp-Norm", "Hellinger",
        "Sufficiency/Continuity/Branching", "Transformation invariance/Convexity", "Quasi-convexity/Quasi-concavity",
    ],
    "special": ["Classification metric", "HCE-TDR search metric"],
    "tradeoff": ["Information-Gain-to-Privacy-Loss"],
    None: ["Ambiguity metric"],
}  # fmt: skip
# Section 1.5 of the thesis: what is recommended in which situation, each technique it names.
RULES = {
    "only quasi-identifiers": {"k-anonymity-generalisation", "k-anonymity-suppression"},
    "only sensitive columns": {"l-diversity", "t-closeness"},
    "the content is unimportant": {"nulling-out", "character-masking"},
    "secret content that may be noised": {"differential-privacy"},
    "a faithful copy of values must survive": {"t-closeness", "permutation", "differential-privacy", "shuffling"},
    "quasi-identifiers and sensitive columns": {"k-anonymity-generalisation", "l-diversity", "t-closeness"},
}
FAMILY_RULES = {"qualitative data": {"generalisation"}, "quantitative data": {"randomisation"}}

BY_NAME = {technique.name: technique for technique in catalogue().techniques}


def test_the_thesis_is_quoted_as_printed():
    judged = {t.name: t for t in BY_NAME.values() if t.completeness}
    assert {n: f"{t.completeness} {t.confidentiality} {t.accuracy}" for n, t in judged.items()} == TABLE_1_1
    assert {t.source for t in judged.values()} == {"thesis"}


def test_four_rows_are_conditional():
    conditional = {name: technique.conditional_value for name, technique in BY_NAME.items() if technique.conditional}
    assert conditional == {
        "functional-encryption": "accuracy", "k-anonymity-generalisation": "confidentiality",
        "l-diversity": "confidentiality", "shuffling": "confidentiality",
    }  # fmt: skip


def test_families_are_those_of_the_tree():
    for family, names in FAMILIES.items():
        assert {name for name in TABLE_1_1 if BY_NAME[name].family == family} == names


def test_the_survey_is_quoted_as_printed():
    ranks = catalogue().ranks
    assert {name: (rank.privacy, rank.utility) for name, rank in ranks.items()} == TABLE_5
    assert set(TABLE_5) <= set(BY_NAME)
    for name in TABLE_5:
        assert BY_NAME[name].ranked_as == name


def test_techniques_are_ranked_as_one_of_the_five():
    assert {technique.ranked_as for technique in BY_NAME.values()} == {*TABLE_5, None}
    assert catalogue().rank(BY_NAME["slicing"]).utility == "high"
    assert catalogue().rank(BY_NAME["keyed-hash"]) is None


def test_what_properties_protect_from_is_quoted_as_printed():
    assert {each.name: list(each.ticks) for each in catalogue().properties} == TABLE_13


def test_measures_are_listed_as_printed():
    listed = {}
    for each in catalogue().measures:
        listed.setdefault(each.category, []).append(each.name)
    assert listed == TABLE_3


def test_rules_recommend_what_the_thesis_does():
    rules = {rule.situation: rule for rule in catalogue().rules}
    assert {situation: set(rules[situation].techniques) for situation in RULES} == RULES
    for situation, families in FAMILY_RULES.items():
        assert {str(BY_NAME[name].family) for name in rules[situation].techniques} == families
    thesis = [rule.situation for rule in catalogue().rules if rule.source == "thesis"]
    assert set(thesis) == {*RULES, *FAMILY_RULES, "speed matters"}


def test_only_the_rule_on_speed_is_read_the_other_way_round():
    inverted = [rule for rule in catalogue().rules if rule.is_inverted]
    assert [(rule.name, rule.printed) for rule in inverted] == [("speed", "when speed is not a priority")]
    assert all(BY_NAME[name].family != "cryptographic" for name in inverted[0].techniques)


def test_the_five_methods_of_pseudonymisation_are_there():
    methods = {t.name: t.transforms for t in BY_NAME.values() if t.family == "pseudonymisation"}
    assert methods == {
        "secret-key-encryption": ("aes-siv",),
        "plain-hash": (),
        "keyed-hash": ("hmac",),
        "keyed-hash-key-deleted": ("counter", "random", "hmac"),
        "tokenisation": ("random",),
    }


@pytest.mark.parametrize("technique", BY_NAME.values(), ids=BY_NAME)
def test_everything_that_is_offered_is_registered(technique):
    for kind, names in technique.offered.items():
        assert set(names) <= set(registry.known(kind))


def test_models_and_metrics_of_the_tables_are_registered():
    assert {each.model for each in catalogue().properties if each.model} <= set(registry.known("models"))
    assert {each.metric for each in catalogue().measures if each.metric} <= set(registry.known("metrics"))


def test_every_transform_belongs_to_a_technique():
    named = {name for technique in BY_NAME.values() for name in technique.transforms}
    assert set(registry.known("transforms")) <= named


def test_names_are_given_once_and_lead_somewhere():
    found = catalogue()
    assert len(BY_NAME) == len(found.techniques)
    assert len({rule.name for rule in found.rules}) == len(found.rules)
    assert {name for rule in found.rules for name in rule.techniques} <= set(BY_NAME)
    assert {each.source for each in (*found.techniques, *found.rules)} <= set(found.sources)


def test_what_is_not_offered_says_why():
    missing = {technique.name for technique in BY_NAME.values() if technique.not_offered}
    assert {"homomorphic-encryption", "differential-privacy", "plain-hash", "synthetic-data"} <= missing
    assert not any(BY_NAME[name].offered for name in missing)


def test_a_technique_is_offered_or_says_why_not():
    given = {"name": "x", "title": "X", "family": "randomisation", "what": "", "weakness": "", "source": "sdc"}
    for more in ({}, {"transforms": ["null"], "not_offered": "no"}, {"transforms": ["null"], "conditional": True}):
        with pytest.raises(ValueError, match="x must"):
            Technique.model_validate(given | more)
    assert Technique.model_validate(given | {"transforms": ["null"]}).offered == {"transforms": ("null",)}


def test_an_unknown_technique_names_the_nearest():
    with pytest.raises(PolicyError, match="did you mean 'shuffling'"):
        catalogue().technique("shufling")
