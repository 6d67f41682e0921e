"""Whole numbers that are codes: they name something, so that an interval of them means nothing."""

from __future__ import annotations

import re
from itertools import pairwise

import polars as pl

from tablecloak.data.table import ColumnType

MOST_CODES = 200  # different values
MOST_ANSWERS = 12  # of a question whose last codes say that there is no answer
# Words of a header, in eight languages, that name what has no order. What has one, as schooling or income, is not here.
WORDS = frozenset((
    "code", "codes", "cod", "codigo", "codice", "kode", "kod", "category", "categoria", "kategorie", "categorie",
    "kategoria", "type", "typ", "tipo", "art", "sex", "gender", "geschlecht", "sexe", "sexo", "sesso", "geslacht",
    "plec", "race", "ethnicity", "ethnic", "ethnie", "etnia", "rasse", "raza", "marital", "maritalstatus",
    "civilstatus", "zivilstand", "familienstand", "etatcivil", "estadocivil", "statocivile", "estcivil", "nationality",
    "nationalitat", "nationalite", "nacionalidad", "nazionalita", "nacionalidade", "nationaliteit", "narodowosc",
    "citizenship", "country", "nation", "land", "pays", "pais", "paese", "kraj", "staat", "birthplace", "region",
    "regione", "regiao", "regio", "province", "provincia", "provincie", "wojewodztwo", "canton", "kanton", "state",
    "bundesland", "county", "district", "bezirk", "kreis", "departement", "departamento", "powiat", "municipality",
    "gemeinde", "commune", "comune", "municipio", "gemeente", "gmina", "city", "town", "village", "stadt", "ville",
    "ciudad", "citta", "cidade", "stad", "miasto", "borough", "neighborhood", "neighbourhood", "quartier", "quartiere",
    "barrio", "bairro", "wijk", "area", "zone", "zona", "tract", "ward", "occupation", "job", "profession", "beruf",
    "metier", "profesion", "professione", "profissao", "beroep", "zawod", "ocupacion", "ocupacao", "occ", "industry",
    "sector", "branche", "branch", "secteur", "settore", "setor", "sektor", "workclass", "employer", "department",
    "abteilung", "religion", "konfession", "religione", "religiao", "religie", "denomination", "language", "sprache",
    "langue", "idioma", "lingua", "taal", "jezyk", "relationship", "party", "partei", "hospital", "clinic", "school",
    "site", "station", "shop", "store",
))  # fmt: skip
# Last codes of questions: does not know, refused, no answer.
NO_ANSWER = frozenset({7, 8, 9, 97, 98, 99, 997, 998, 999})


def words_of(name: str) -> frozenset[str]:
    """The words of a header: `dateOfBirth` and `date_of_birth` give date, of, birth and dateofbirth."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    words = re.findall(r"[^\W_]+", spaced.lower())
    return frozenset([*words, *(word.rstrip("0123456789") for word in words), "".join(words)])


def are_codes(distinct: pl.Series, column_type: ColumnType) -> bool:
    """Whether whole numbers are codes, by the name of their column or by the last of them.

    The values are few. The header names something without an order, such as a region or an occupation; or the values
    count on from 0 or 1 and end, after a gap, with codes that say there is no answer: 1, 2, 3, 4, 9.

    Args:
        distinct: the different values of the column, the missing one perhaps among them.
    """
    values = distinct.drop_nulls()
    if column_type is not ColumnType.INTEGER or not 2 <= len(values) <= MOST_CODES:
        return False
    return not words_of(distinct.name).isdisjoint(WORDS) or _end_without_answer(sorted(values.to_list()))


def _end_without_answer(values: list[int]) -> bool:
    """Whether values are answers 1, 2, 3, .. and, after a gap, codes for the lack of one."""
    gaps = (i for i, (a, b) in enumerate(pairwise(values), start=1) if b != a + 1)
    n_answers = next(gaps, len(values))
    rest = values[n_answers:]
    is_end = bool(rest) and rest[-1] in (9, 99, 999) and NO_ANSWER.issuperset(rest)
    return len(values) <= MOST_ANSWERS and values[0] in (0, 1) and n_answers > 1 and is_end
