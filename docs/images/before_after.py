"""Draws before_after.svg: one class of the sample release, as it was and as it is published.

Run `python docs/images/before_after.py` after a change that makes the release look different.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import polars as pl

import tablecloak as tc
from tablecloak import sample
from tablecloak.data.table import Order

TARGET = Path(__file__).with_suffix(".svg")
QUASI = ["birth_date", "sex", "zip"]
WIDTHS = {"name": 150, "ssn": 110, "birth_date": 120, "sex": 80, "zip": 80, "diagnosis": 190}
ROW, TOP, LEFT, GAP = 30, 92, 24, 66
N_SHOWN = 5  # the smallest class the policy allows, shown whole
# Light colours first; readers in dark mode get the second set.
STYLE = """
  .page { fill: #ffffff; stroke: #d0d7de } .title { fill: #1f2328; font-weight: 600; font-size: 17px }
  .head { fill: #59636e; font-size: 13px } .cell { fill: #1f2328; font-size: 14px } .gone { fill: #b3261e }
  .same { fill: #0b5d3b; font-weight: 600 } .band { fill: #dff3e8 } .line { stroke: #d0d7de }
  text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #3d444d } .title, .cell { fill: #f0f6fc } .head { fill: #9198a1 }
    .gone { fill: #ff9c94 } .same { fill: #7ee2b0 } .band { fill: #12372a } .line { stroke: #3d444d }
  }
"""


def one_class(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The originals and the published records of the first class of the smallest size, in the order of the file."""
    policy = tc.load_policy(sample.write_patients(folder))
    original = sample.patients()
    assert policy.output is not None
    output = policy.output.model_copy(update={"order": Order.KEEP})  # so that records stand beside their originals
    kept = policy.model_copy(update={"output": output})
    published = tc.anonymize(original, kept).frame.with_columns(pl.col(QUASI).cast(pl.String)).with_row_index("row")
    sizes = published.with_columns(size=pl.len().over(QUASI), first=pl.col("row").min().over(QUASI))
    chosen = sizes.filter(size=N_SHOWN).filter(pl.col("first") == pl.col("first").min()).sort("row")
    return original[chosen["row"].to_list()], chosen


def drawing(before: pl.DataFrame, after: pl.DataFrame) -> str:
    """Two tables, one below the other, columns in line so that the eye finds what changed."""
    height = 2 * (TOP + N_SHOWN * ROW) - 34
    width = 2 * LEFT + sum(WIDTHS.values())
    second = TOP + N_SHOWN * ROW + GAP
    return "\n".join(
        [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                f'height="{height}" role="img" aria-labelledby="t d">'
            ),
            '<title id="t">Five patients before and after</title>',
            (
                '<desc id="d">Before, birth date, sex and zip single out each of five patients. After, all five share '
                "the same published values, names and numbers are gone, and the diagnoses remain.</desc>"
            ),
            f"<style>{STYLE}</style>",
            f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10"/>',
            _title(38, "Before: birth date, sex and zip single out each of these patients"),
            *_table(before, list(WIDTHS), TOP, "gone"),
            (
                f'<rect class="band" x="{_x("birth_date") - 10}" y="{second - 22}" rx="6" '
                f'width="{sum(WIDTHS[q] for q in QUASI)}" height="{N_SHOWN * ROW}"/>'
            ),
            _title(second - 54, "After: these five look alike, and they do not share one diagnosis"),
            *_table(after, [*QUASI, "diagnosis"], second, "same"),
            "</svg>",
            "",
        ]
    )


def _title(y: int, text: str) -> str:
    return f'<text class="title" x="{LEFT}" y="{y}">{escape(text)}</text>'


def _x(column: str) -> int:
    names = list(WIDTHS)
    return LEFT + sum(WIDTHS[name] for name in names[: names.index(column)])


def _table(frame: pl.DataFrame, columns: list[str], top: int, emphasis: str) -> list[str]:
    drawn = [f'<text class="head" x="{_x(name)}" y="{top - 30}">{escape(name)}</text>' for name in columns]
    for number, row in enumerate(frame.select(columns).iter_rows(named=True)):
        for name in columns:
            style = f"cell {emphasis}" if name in QUASI else "cell"
            y = top + number * ROW
            drawn.append(f'<text class="{style}" x="{_x(name)}" y="{y}">{escape(str(row[name]))}</text>')
    return drawn


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        TARGET.write_text(drawing(*one_class(Path(folder))), encoding="utf-8")
