#!/usr/bin/env python3
"""Writes relations.txt and rows.txt from a freshly initialised PostgreSQL 15 (PostgreSQL licence).

usage: generate.py 'host=127.0.0.1 user=postgres dbname=template1'      (needs psql)

relations.txt: a relation a line, `oid kind schema.name column=type …`; a domain stands as its base type, and
`type:typmod` says a modifier. rows.txt: `# schema.name` and below it the rows that every database has, tab-separated
as COPY writes them; a cell that is `=` repeats the cell above it (a real `=` is written `\\=`).
Left out: TOAST relations, statistics, and the columns that hold PostgreSQL's parse trees (NULL here).
"""
import subprocess
import sys

DSN = sys.argv[1]
HERE = __file__.rsplit("/", 1)[0]
TREES = {("pg_rewrite", "ev_qual"), ("pg_rewrite", "ev_action"), ("pg_proc", "proargdefaults"), ("pg_proc", "prosqlbody"),
         ("pg_type", "typdefaultbin"), ("pg_constraint", "conbin")}
# Rows of these are made from our own catalog, or hold nothing that a client could use.
OURS = {"pg_authid", "pg_auth_members", "pg_database", "pg_statistic", "pg_extension", "pg_largeobject",
        "pg_largeobject_metadata"}
KEPT = "select oid from pg_class where relkind in ('r','v','i') and oid < 16384 and relnamespace::regnamespace::text in ('pg_catalog','information_schema')"
WHERE = {
    "pg_class": f"oid in ({KEPT})",
    "pg_attribute": f"attnum > 0 and attrelid in ({KEPT})",
    "pg_index": f"indexrelid in ({KEPT})",
    "pg_constraint": f"(conrelid = 0 or conrelid in ({KEPT})) and oid < 16384",
    "pg_namespace": "nspname in ('pg_catalog', 'pg_toast', 'information_schema')",
    "pg_type": "oid < 16384",
    "pg_description": "classoid <> 'pg_extension'::regclass and not (classoid = 'pg_namespace'::regclass and objoid = 2200)",
    "pg_shdescription": "false",
    "pg_init_privs": "true",
    "pg_depend": "objid < 16384 and classid <> 'pg_extension'::regclass and refclassid <> 'pg_extension'::regclass",
    "pg_language": "lanname <> 'plpgsql'",
    "pg_proc": "oid < 16384 and probin is distinct from '$libdir/plpgsql'",
}


def psql(sql):
    out = subprocess.run(["psql", DSN, "-AtqX", "-c", sql], check=True, capture_output=True, text=True).stdout
    return [line for line in out.split("\n") if line]


def cell(table, column, ty):
    if (table, column) in TREES:
        return "NULL"
    return f'"{column}"::oid' if ty.startswith("reg") else f'"{column}"'


def write_rows(f, name, rows):
    f.write(f"# {name}\n")
    previous = []
    for row in rows:
        cells = row.split("\t")
        above = previous or [None] * len(cells)
        f.write("\t".join("=" if c == p else "\\=" if c == "=" else c for c, p in zip(cells, above)) + "\n")
        previous = cells


def main():
    relations = psql("""
        select c.oid, c.relkind, n.nspname || '.' || c.relname,
               string_agg(a.attname || '=' || coalesce(b.typname, t.typname)
                   || case when coalesce(nullif(a.atttypmod, -1), t.typtypmod) > 0
                           then ':' || coalesce(nullif(a.atttypmod, -1), t.typtypmod) else '' end, ' ' order by a.attnum)
        from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
             join pg_type t on t.oid = a.atttypid left join pg_type b on b.oid = t.typbasetype
        where c.relkind in ('r', 'v') and n.nspname in ('pg_catalog', 'information_schema')
        group by c.oid, n.nspname order by n.nspname desc, c.relname""")
    with open(f"{HERE}/relations.txt", "w") as f:
        for line in relations:
            f.write(line.replace("|", " ") + "\n")
        # A function's rows are kept like a relation's; kind `f` says that pg_class does not list it.
        f.write("0 f pg_catalog.pg_get_keywords word=text catcode=char barelabel=bool catdesc=text baredesc=text\n")
    with open(f"{HERE}/rows.txt", "w") as f:
        for line in relations:
            _, kind, name, columns = line.split("|")
            schema, table = name.split(".")
            if kind != "r" or schema != "pg_catalog" or table in OURS:
                continue
            names = [c.split("=")[0] for c in columns.split(" ")]
            types = [c.split("=")[1] for c in columns.split(" ")]
            chosen = ", ".join(cell(table, c, t) for c, t in zip(names, types))
            condition = WHERE.get(table, "oid < 16384" if "oid" in names else "true")
            order = "oid" if "oid" in names else ", ".join(names[:3])
            rows = psql(f"copy (select {chosen} from pg_catalog.{table} where {condition} order by {order}) to stdout")
            if not rows:
                continue
            write_rows(f, name, rows)
        write_rows(f, "pg_catalog.pg_get_keywords", psql("copy (select * from pg_get_keywords()) to stdout"))


main()
