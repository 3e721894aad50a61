"""Attaches a DuckLake by its catalogue and prints what it is asked, a line of JSON for each row."""
import importlib.resources
import json
import sys

import duckdb

catalog, statement = sys.argv[1:]
con = duckdb.connect(config={"autoinstall_known_extensions": False})
for name in ("sqlite_scanner", "ducklake"):
    file = importlib.resources.files("duckdb_extension_" + name) / "extensions" / ("v" + duckdb.__version__) / (name + ".duckdb_extension")
    con.execute(f"LOAD '{file}'")
con.execute(f"ATTACH 'ducklake:sqlite:{catalog}' AS lake (READ_ONLY)")
con.execute("USE lake")
rows = con.execute(statement)
names = [column[0] for column in rows.description]
for row in rows.fetchall():
    print(json.dumps(dict(zip(names, row)), default=str))
