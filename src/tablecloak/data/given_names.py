"""Given names, by which texts that name people are recognised."""

from __future__ import annotations

# Frequent given names of several languages; families of names share their first word.
_TEXT = """
    agnieszka ahmed ahmet aiden aisha alain alexander ali amanda amelia amit amy ana anastasia anders andreas
    andrew andrzej angela anil anna anthony antonio ashley ava ayse ayşe barbara benjamin betty brandon brenda
    brian camille carlos carmen carol carolyn catherine charles charlotte chiara chloe christina christine
    christophe christopher claudia cynthia daniel david deborah dennis diane dmitri dolores donald donna edward
    elena elijah elizabeth ella emily emma eric erik ethan evelyn fatima felix francesco francisco francoise
    frank françoise gary george giovanni giulia giuseppe grace gregory hans harper hassan heather helga hiroshi
    ibrahim ingrid isabella isabelle ivan jack jacob james jan janet jason jean jeffrey jennifer jessica jing
    joan joao john jonathan jose joseph joshua josé joyce joão juan juergen julie justin jürgen karen karin
    katarzyna katherine kathleen katrin kelly kenji kenneth kevin kimberly klaus krzysztof larry lars laura lena
    leon li liam lily linda lisa logan lucas lucia lucía luigi luis lukas manuel margaret maria marie mario mark
    martin mary mason matthew matthias mehmet melissa mia michael michel michelle miguel ming mohamed mohammed
    mohan monika muhammad mustafa nancy natalia nathalie nicholas nicolas nicole noah olga olivia omar pamela
    patricia patrick paul paula paulo pedro peter petra philippe pierre pilar piotr priya rachel raj ravi
    raymond rebecca renate richard robert ronald ruth ryan sabine sakura samantha samuel sandra sarah scott
    sergei sharon sophia stefan stephanie stephen steven sunita susan svetlana sylvie tatiana thomas thorsten
    timothy ursula uwe victoria virginia wei werner william wolfgang yan yuki zoe
"""
NAMES = frozenset(_TEXT.split())


def has_given_name(text: str) -> bool:
    """Whether a text of at most four words has a frequent given name among them.

    >>> has_given_name("Keller, Anna"), has_given_name("given name")
    (True, False)
    """
    words = text.replace(",", " ").lower().split()
    return 0 < len(words) <= 4 and any(word in NAMES for word in words)
