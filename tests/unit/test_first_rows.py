"""Tables of texts: first rows that are people are asked about, names of columns are not."""

from __future__ import annotations

import pytest

from tablecloak.io.sniff import sniff
from tablecloak.io.sources import HeaderUnclear, Source

RECORDS = {
    "names": ["Anna Keller,nurse", "Peter Moser,teacher of maths", "Maria de Luca,cook", "Ali Demir,clerk"],
    "given names apart": ["Laura,Bern", "Thomas,Thun", "Beat,Olten", "Sarah,Chur"],
    "family name first": ["Keller Anna,nurse", "Moser Zora,cook", "Luca Maria,clerk", "Demir Ali,smith"],
    "streets": ["Main Street 5,red", "Elm Street 17,blue", "Long Road 210,green", "Short Lane 9,grey"],
    "telephones": ["079 123 45 67,ab", "031 5 123 456,abc", "079 444 55 66,a", "078 1 2 3,abcd", "031 99 88 77,b"],
    "codes": ["CH-17a,x", "D-200b,yy", "A-1c,zzz", "CH-99d,w"],
    "addresses of mail": ["a.keller@mail.ch,x", "b@c.de,yy", "zora@mail.ch,zzz"],
    "values that repeat": ["nurse,Bern", "cook,Thun", "clerk,Bern", "smith,Chur"],
    "dates in words": ["3. May 1950,x", "17. June 1961,yy", "1. July 1977,zzz", "30. May 1980,w"],
}
NAMED = {
    "lower case": ["name,city", "Anna Keller,Bern", "Peter Moser,Thun", "Maria Luca,Olten"],
    "as titles": ["First Name,Home Town", "Anna,Bern", "Peter,Thun", "Maria,Olten"],
    "full names": ["Full Name,Job Title", "Anna Keller,Head Nurse", "Peter Moser,First Cook", "Maria Luca,Clerk"],
    "German": ["Vorname,Strasse", "Anna,Hauptstrasse 5", "Peter,Weg 7", "Maria,Gasse 12"],
    "numbered": ["question 1,question 2", "yes,no", "no,maybe", "maybe,never", "often,seldom"],
    "places": ["Species,Habitat", "Lynx,Forest", "Ibex,Rock", "Otter,River"],
    "with years": ["Party,Vote 2019", "Greens,yes", "Reds,no", "Blues,perhaps"],
    "short": ["sex,group", "f,a", "m,b", "f,b", "m,c"],
    "like a given name": ["Mark,Grace", "very good,yes", "poor,no", "fair,never"],
}


def layout_of(folder, lines):
    (folder / "table.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return sniff(Source(folder / "table.csv"))


@pytest.mark.parametrize("lines", RECORDS.values(), ids=RECORDS)
def test_a_record_is_asked_about_and_not_shown(tmp_path, lines):
    with pytest.raises(HeaderUnclear) as refused:
        layout_of(tmp_path, lines)
    said = str(refused.value).lower()
    assert "may be a record" in said
    assert not [word for word in lines[0].lower().replace(",", " ").split() if len(word) > 3 and word in said]


@pytest.mark.parametrize("lines", NAMED.values(), ids=NAMED)
def test_names_of_columns_are_not_asked_about(tmp_path, lines):
    assert list(layout_of(tmp_path, lines).names) == lines[0].split(",")
