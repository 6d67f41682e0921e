"""Columns of the worked examples of V-KLT."""

from __future__ import annotations

import pytest

from v_klt_tables import column_specs


@pytest.fixture
def people(tmp_path):
    return column_specs(tmp_path)
