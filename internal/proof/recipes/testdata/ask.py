"""Answers the blocks of recipes, in the folder with the files: reads a list of
[language, text] from standard input, and writes the list of answers, each with its
columns and its rows."""

import json
import sys

import duckdb
import pandas as pd


def plain(value):
    """A value as JSON has it."""
    if value is None or value is pd.NaT or (isinstance(value, float) and value != value):
        return None
    if hasattr(value, "item"):
        value = value.item()
    if type(value).__name__ == "Decimal":
        value = float(value)
    return value


def asked(language, text):
    if language == "duckdb":
        found = duckdb.connect().execute(text)
        columns = [c[0] for c in found.description]
        rows = found.fetchall()
    else:
        names = {"pd": pd}
        exec(text, names)
        columns = list(names["answer"].columns)
        rows = names["answer"].itertuples(index=False, name=None)
    return {"columns": columns, "rows": [[plain(v) for v in row] for row in rows]}


json.dump([asked(*block) for block in json.load(sys.stdin)], sys.stdout)
