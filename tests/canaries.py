"""Planted values that must never be seen, in files that are wrong in many ways, and a policy that reads them."""

from __future__ import annotations

import json

CANARY = "Zyxomma"  # what must never be seen, in any case
NUMBER = "8172635"
ROWS = [f"{CANARY}{i},{20 + i},{NUMBER}{i},1950-02-0{i + 1}" for i in range(6)]
HEADER = "name,age,income,born"
WHOLE = "\n".join([HEADER, *ROWS]) + "\n"

BROKEN = {
    "without-header": "\n".join(ROWS) + "\n",
    "without-header-of-text": "".join(f"{CANARY}{i % 2},{CANARY}x\n" for i in range(6)),
    "without-header-of-text-that-differs": "".join(f"{CANARY}{'abcdef'[i]},{CANARY}{'xyzuvw'[i]}\n" for i in range(6)),
    "without-header-with-gaps": f"{CANARY},,{NUMBER},1950-02-03\n" + "\n".join(ROWS) + "\n",
    "without-header-and-twice-the-same": f"{CANARY},{CANARY}\na,b\nc,d\n",
    "ragged": WHOLE + f"{CANARY},1,2,3,4,5\n",
    "short": WHOLE + f"{CANARY}\n",
    "open-quote": WHOLE + f'"{CANARY},1,2,1950-01-01\n',
    "nul": WHOLE + f"{CANARY}\0,1,2,1950-01-01\n",
    "text-among-numbers": WHOLE + f"a,{CANARY},{CANARY},{CANARY}\n",
    "infinite": WHOLE + f"{CANARY},inf,1e999,1950-01-01\n",
    "endless-number": WHOLE + f"{CANARY},{NUMBER * 60},1,1950-01-01\n",
    "not-utf-8": WHOLE.encode() + f"{CANARY}\xff\xfe,1,2,1950-01-01\n".encode("latin-1"),
    "json": json.dumps([{"name": CANARY, "age": NUMBER}]),
    "one-line": f"{CANARY},{NUMBER}",
}
POLICY = {
    "input": "data.csv",
    "columns": {
        "name": {"role": "quasi", "hierarchy": "tree.csv"},
        "age": {"role": "quasi", "type": "integer"},
        "born": {"role": "quasi", "type": "date"},
        "income": {"role": "sensitive", "type": "float"},
    },
    "goals": [{"model": "k-anonymity", "k": 2}],
    "output": {"path": "out.csv"},
}


def leaks(text):
    return CANARY.lower() in text.lower() or NUMBER in text
