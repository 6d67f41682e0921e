"""The report of real releases: complete, self-contained, and silent about originals."""

import random
import re
import string
from html.parser import HTMLParser

import polars as pl
import pytest

import tablecloak as tc

VOID = {"meta", "br", "rect", "line", "path", "circle"}
SECTIONS = ["Alerts", "Goals", "Risk", "Attacks", "Utility", "What changed", "Method", "Reproduction"]


class Reader(HTMLParser):
    """Collects tags, attributes and text, and notices tags that are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.texts, self.open = set(), [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def written(tmp_path, frame, policy):
    release = tc.anonymize(frame, policy)
    release.write(tmp_path / "release.csv", report=tmp_path / "report.html", certificate=tmp_path / "certificate.json")
    return (tmp_path / "report.html").read_text(), (tmp_path / "certificate.json").read_text(), release


def small_policy(**changes):
    roles = tc.roles(quasi=["age", "town"], sensitive=["illness"], keep=["cost"], identifier=["name"])
    goals = [tc.KAnonymity(k=5), tc.LDiversity(l=2)]
    return tc.Policy(columns=roles, goals=goals, **changes)


@pytest.fixture(scope="module")
def people():
    rng = random.Random(5)
    n = 400
    return pl.DataFrame(
        {
            "name": [f"name{i}" for i in range(n)],
            "age": [rng.randint(18, 90) for _ in range(n)],
            "town": [rng.choice(["Ulm", "Bern", "Graz", "Lyon"]) for _ in range(n)],
            "illness": [rng.choice(["flu", "asthma", "gout"]) for _ in range(n)],
            "cost": [rng.random() for _ in range(n)],
        }
    )


def test_a_report_has_every_section_and_nothing_from_elsewhere(tmp_path, people):
    text, _, _ = written(tmp_path, people, small_policy())
    page = Reader(text)
    assert page.open == []
    assert not page.tags & {"script", "link", "img", "iframe", "object", "form", "base"}
    assert not [n for n, _ in page.attributes if n.startswith("on") or n in ("href", "src", "xlink:href")]
    assert not re.search(r"url\(|@import|https?:", text)
    assert [t for t in page.texts if t in SECTIONS] == SECTIONS
    assert "! Not ready: every goal holds, and one finding is open." in page.texts  # everybody's cost differs
    assert "Published as they are: cost" in page.texts


def test_the_verdicts_are_those_of_the_run(tmp_path, people):
    text, _, release = written(tmp_path, people, small_policy())
    assert f"{release.report.verification.n_classes:,}" in Reader(text).texts
    assert "at least 5" in text
    assert "variant=distinct" in text


def test_metrics_that_follow_from_the_release_are_listed_with_their_values(tmp_path, people):
    text, _, release = written(tmp_path, people, small_policy())
    texts = Reader(text).texts
    for found in release.measure("discernibility", "classification"):
        at = texts.index(found.name)
        assert texts[at + 1 : at + 4] == [f"{found.value:,.4g}", "lower", found.description]
    assert not {"igpl", "hellinger", "Hellinger distance", "query-error", "Count-query error"} & set(texts)
    assert "minimal-distortion" not in texts  # the columns have no hierarchies


def test_names_of_columns_are_harmless(tmp_path, people):
    evil = {"age": "<script>alert(1)</script>", "illness": '"><img src=x onerror=alert(2)>', "cost": "</style><b>c"}
    roles = tc.roles(quasi=[evil["age"], "town"], sensitive=[evil["illness"]], keep=[evil["cost"]])
    policy = tc.Policy(columns=roles, goals=[tc.KAnonymity(k=5)])
    text, _, _ = written(tmp_path, people.rename(evil), policy)
    page = Reader(text)
    assert page.open == []
    assert not page.tags & {"script", "img", "b"}
    assert any(evil["age"] in t for t in page.texts)


def test_values_are_harmless(tmp_path, people):
    frame = people.with_columns(pl.col("illness").replace({"flu": "<script>boo()</script>"}))
    text, _, _ = written(tmp_path, frame, small_policy())
    page = Reader(text)
    assert "script" not in page.tags
    assert any("<script>boo()" in t for t in page.texts)


def token(rng):
    return "zq" + "".join(rng.choice(string.ascii_lowercase) for _ in range(10))


def test_no_original_value_is_shown_unless_published_by_enough_records(tmp_path):
    rng = random.Random(11)
    n, k = 600, 6
    rare, common = [token(rng) for _ in range(200)], [token(rng) for _ in range(3)]
    frame = pl.DataFrame(
        {
            "name": [token(rng) for _ in range(n)],
            "number": [rng.randrange(10**8, 10**9) for _ in range(n)],
            "word": [rng.choice(rare if rng.random() < 0.3 else common) for _ in range(n)],
            "day": pl.date_range(pl.date(1931, 3, 3), pl.date(1931, 3, 3) + pl.duration(days=n - 1), eager=True),
            "illness": [rng.choice(["flu", "gout", "acne"]) if i > 3 else token(rng) for i in range(n)],
            "kept": [token(rng) for _ in range(n)],
        }
    )
    roles = tc.roles(quasi=["number", "word", "day"], sensitive=["illness"], keep=["kept"], identifier=["name"])
    report, certificate, release = written(tmp_path, frame, tc.Policy(columns=roles, goals=[tc.KAnonymity(k=k)]))
    quasi = ["number", "word", "day"]
    published = {
        row[0]
        for name in quasi
        for row in release.frame[name].cast(pl.String).value_counts().iter_rows()
        if row[1] >= k
    } | {row[0] for row in release.frame["illness"].cast(pl.String).value_counts().iter_rows() if row[1] >= k}
    originals = {str(v) for column in frame.iter_columns() for v in column.to_list()}
    shown = set(re.findall(r"[\w-]+", report.replace(",", ""))) & originals
    assert shown <= published
    assert {"flu", "gout", "acne"} <= shown  # the test would notice
    assert not set(re.findall(r"[\w-]+", certificate)) & originals


def test_a_release_without_a_class_size_goal_still_hides_small_groups(tmp_path, people):
    policy = small_policy().model_copy(update={"goals": (tc.LDiversity(l=2),)})
    frame = people.with_columns(illness=pl.Series(["zqrare"] * 4 + people["illness"].to_list()[4:]))
    text, _, _ = written(tmp_path, frame, policy)
    assert "zqrare" not in text
    assert "groups of at least 80 of its records, in steps of 20%" in text  # there are 400


def test_suppressed_records_are_told(tmp_path, people):
    policy = small_policy(algorithm={"kind": "mondrian", "suppression_limit": 0.1})
    far = people.with_columns(age=pl.when(pl.int_range(pl.len()) == 0).then(9000).otherwise("age"))
    text, _, release = written(tmp_path, far, policy)
    n = release.report.verification.n_suppressed
    assert n > 0
    assert f"{n:,} of 400 records suppressed" in text


def test_documents_appear_with_the_data_or_not_at_all(tmp_path, people):
    release = tc.anonymize(people, small_policy())
    (tmp_path / "certificate.json").write_text("mine")
    with pytest.raises(tc.PolicyError):
        release.write(tmp_path / "a.csv", report=tmp_path / "r.html", certificate=tmp_path / "certificate.json")
    assert [p.name for p in tmp_path.iterdir()] == ["certificate.json"]


def test_a_run_report_is_readable_everywhere(people):
    report = tc.anonymize(people, small_policy()).report
    assert "✓ k-anonymity" in str(report)
    assert Reader(report._repr_html_()).open == []
    assert "! Not ready: every goal holds, and one finding is open." in report._repr_html_()
    from rich.console import Console

    console = Console(record=True, width=120, file=None, quiet=False)
    with console.capture() as capture:
        console.print(report)
    assert "✓ k-anonymity" in capture.get()
