"""Every model and algorithm stands in a group of the web app and has a picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from tablecloak import registry
from tablecloak.server import catalogue


def test_every_model_and_algorithm_is_in_a_group():
    models = {catalogue.group_of_model(name) for name in registry.known("models")}
    assert models == set(catalogue.MODEL_GROUPS)
    algorithms = {catalogue.group_of_algorithm(kind) for kind in registry.known("algorithms").values()}
    assert algorithms == set(catalogue.ALGORITHM_GROUPS.values())


def test_what_is_recommended_and_drawn_exists():
    known = {*registry.known("models"), *registry.known("algorithms")}
    assert {*catalogue.FIRST, *catalogue.ALGORITHM_PICTURES} <= known


@pytest.mark.parametrize("kind", ["models", "algorithms"])
def test_every_one_has_a_picture(kind):
    for name, thing in registry.known(kind).items():
        root = ET.fromstring(str(catalogue.picture_of(name, thing.__module__.split(".")[-2])))
        assert len(list(root.iter())) >= 4, name
        is_own = name in catalogue.MODEL_PICTURES or name in catalogue.ALGORITHM_PICTURES
        assert is_own or thing.__module__.split(".")[-2] in catalogue.FAMILY_PICTURES


def test_what_nobody_listed_is_among_the_others():
    assert catalogue.group_of_model("of-a-package") == catalogue.OTHERS
    assert catalogue.group_of_algorithm(type("Own", (), {"__module__": "theirs"})) == catalogue.OTHERS
