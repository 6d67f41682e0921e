"""Names of months as people write them in eight languages, with and without accents."""

from __future__ import annotations

import unicodedata

ENGLISH = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# One line a month: English, German, French, Spanish, Italian, Portuguese, Dutch, Polish; full names, then short ones.
_NAMES = """
january januar jänner janvier enero gennaio janeiro januari stycznia styczeń jan janv ene gen sty
february februar feber février febrero febbraio fevereiro februari lutego luty feb févr fév fev lut
march märz maerz mars marzo março maart marca marzec mar mär mrz mrt
april avril abril aprile kwietnia kwiecień apr avr abr kwi
may mai mayo maggio maio mei maja maj mag
june juni juin junio giugno junho czerwca czerwiec jun giu cze
july juli juillet julio luglio julho lipca lipiec jul juil lug lip
august août agosto augustus sierpnia sierpień aug ago sie
september septembre septiembre setiembre settembre setembro września wrzesień sep sept set wrz
october oktober octobre octubre ottobre outubro października październik oct okt ott out paź
november novembre noviembre novembro listopada listopad nov lis
december dezember décembre diciembre dicembre dezembro grudnia grudzień dec dez déc dic gru
"""


def _plain(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))


def _all_names() -> dict[str, str]:
    lines = zip(ENGLISH, _NAMES.split("\n")[1:-1], strict=True)
    names = {form: month for month, line in lines for word in line.split() for form in (word, _plain(word))}
    return dict(sorted(names.items(), key=lambda pair: -len(pair[0])))


# Every name in lower case with the English one, the longest first: `marca` must not be read as `mar`.
MONTHS = _all_names()
