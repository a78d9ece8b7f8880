"""psqlODBC in its modes, by pyodbc: `odbc.py HOST PORT USER DATABASE`. Prints its steps, which are the same on Keyspan and on PostgreSQL."""

import datetime
import decimal
import sys
import uuid

try:
    import pyodbc

    if "PostgreSQL Unicode" not in pyodbc.drivers():
        raise ImportError("psqlODBC is absent")
except ImportError as absent:
    print(absent, file=sys.stderr)
    sys.exit(77)

host, port, user, database = sys.argv[1:]
MODES = {
    "plain": "",
    "fetch": "UseDeclareFetch=1;Fetch=7;",
    "server": "UseServerSidePrepare=1;",
    "client": "UseServerSidePrepare=0;UseDeclareFetch=0;",
    "protocol": "Protocol=7.4-1;UpdatableCursors=1;",
    "rollback": "Protocol=7.4-2;UseDeclareFetch=1;Fetch=3;",
}


def step(name, work):
    try:
        print(name, "OK", work(), flush=True)
    except pyodbc.Error as error:
        print(name, "FAIL", error.args[0], error.args[1].split("\n")[0].split(";")[0], flush=True)


def said(rows):
    return [tuple(row) for row in rows]


for mode, options in MODES.items():
    c = pyodbc.connect(f"Driver=PostgreSQL Unicode;Server={host};Port={port};Uid={user};Pwd=x;Database={database};SSLmode=disable;{options}", autocommit=False)

    def tables():
        c.execute("DROP TABLE IF EXISTS odbc_child")
        c.execute("DROP TABLE IF EXISTS odbc")
        c.execute("CREATE TABLE odbc (id serial PRIMARY KEY, name varchar(30) NOT NULL, note text, n int, b bigint, d double precision, price numeric(10, 2), ok boolean, day date, at timestamp, t time, raw bytea, u uuid)")
        c.execute("CREATE TABLE odbc_child (id int PRIMARY KEY, parent int REFERENCES odbc)")
        c.execute("CREATE INDEX odbc_name ON odbc (name, n DESC)")
        c.commit()

    def insert():
        c.execute("INSERT INTO odbc (name, note, n, b, d, price, ok, day, at, t, raw, u) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "ann", "n" * 3000, 5, 2**40, 1.5, decimal.Decimal("12.50"), True,
                  datetime.date(2024, 1, 2), datetime.datetime(2024, 1, 2, 3, 4, 5, 600000), datetime.time(1, 2, 3), b"\0\1\xff", uuid.UUID(int=5))
        c.execute("INSERT INTO odbc (name) VALUES (?)", "bob")
        c.commit()
        return said(c.execute("SELECT id, name, length(note), n, b, d, price, ok, day, at, t, raw, u FROM odbc ORDER BY id"))

    def many():
        cursor = c.cursor()
        cursor.executemany("INSERT INTO odbc (name, n) VALUES (?, ?)", [(f"m{n}", n) for n in range(50)])
        cursor.fast_executemany = True
        cursor.executemany("INSERT INTO odbc (name, n) VALUES (?, ?)", [(f"f{n}", n) for n in range(50)])
        c.commit()
        return said(c.execute("SELECT count(*), sum(n) FROM odbc"))

    def pages():
        cursor = c.cursor()
        cursor.execute("SELECT id, name FROM odbc WHERE n >= ? ORDER BY id", 10)
        first = cursor.fetchmany(5)
        return said(first), len(cursor.fetchall())

    def two_cursors():
        one, two = c.cursor(), c.cursor()
        one.execute("SELECT id FROM odbc ORDER BY id")
        two.execute("SELECT id FROM odbc ORDER BY id DESC")
        return [one.fetchone()[0] + 0 for _ in range(10)], two.fetchone()[0], len(one.fetchall())

    def across_commit():
        cursor = c.cursor()
        cursor.execute("SELECT id FROM odbc ORDER BY id")
        first = cursor.fetchone()[0]
        c.execute("UPDATE odbc SET note = 'x' WHERE id = 1")
        c.commit()
        return first

    def error():
        try:
            c.execute("INSERT INTO odbc (id, name) VALUES (1, 'dup')")
        finally:
            c.rollback()

    def after_error():
        try:
            c.execute("SELECT 1/0").fetchall()
        except pyodbc.Error:
            pass
        try:
            return said(c.execute("SELECT 1"))
        finally:
            c.rollback()

    def rollback():
        c.execute("DELETE FROM odbc")
        c.rollback()
        return said(c.execute("SELECT count(*) > 0 FROM odbc"))

    def described():
        cursor = c.execute("SELECT id, name, price, ok, at, note, 1 AS one FROM odbc WHERE false")
        return [(d[0], d[1].__name__, d[3], d[4], d[5], d[6]) for d in cursor.description]

    def catalogs():
        cursor = c.cursor()
        found = [(r.table_name, r.table_type) for r in cursor.tables(schema="public", table="odbc%")]
        columns = [(r.column_name, r.data_type, r.type_name, r.column_size, r.decimal_digits, r.nullable, r.column_def) for r in cursor.columns(table="odbc", schema="public")]
        return sorted(found), columns

    def keys():
        cursor = c.cursor()
        primary = [(r.table_name, r.column_name, r.key_seq, r.pk_name) for r in cursor.primaryKeys("odbc", schema="public")]
        foreign = [(r.pktable_name, r.pkcolumn_name, r.fktable_name, r.fkcolumn_name, r.update_rule, r.delete_rule, r.fk_name) for r in cursor.foreignKeys(table="odbc", foreignTable="odbc_child")]
        return primary, foreign

    def indexes():
        cursor = c.cursor()
        return sorted((r.index_name or "", r.ordinal_position or 0, r.column_name or "", r.non_unique or 0, r.asc_or_desc or "") for r in cursor.statistics("odbc", schema="public") if r.index_name), [(r.column_name, r.type_name) for r in cursor.rowIdColumns("odbc", schema="public")]

    def infos():
        cursor = c.cursor()
        return c.getinfo(pyodbc.SQL_DBMS_NAME), c.getinfo(pyodbc.SQL_IDENTIFIER_QUOTE_CHAR), len(cursor.getTypeInfo(pyodbc.SQL_VARCHAR).fetchall()), len(cursor.procedures(schema="public").fetchall())

    def several():
        cursor = c.execute("SELECT 1 AS a; SELECT 'x' AS b, 2 AS c; UPDATE odbc SET n = 1 WHERE id = 1")
        sets = [said(cursor.fetchall())]
        while cursor.nextset():
            sets.append(said(cursor.fetchall()) if cursor.description else cursor.rowcount)
        return sets

    def types():
        return said(c.execute("SELECT 1::smallint, 2.5::real, 'x'::char(3), '{1,2}'::int[], interval '1 day', '{\"a\": 1}'::jsonb, now() IS NOT NULL, NULL::int, 'n'::name, 5::oid"))

    def transactions():
        c.autocommit = True
        c.execute("INSERT INTO odbc (name) VALUES ('auto')")
        c.autocommit = False
        c.rollback()
        return said(c.execute("SELECT count(*) FROM odbc WHERE name = 'auto'"))

    for work in [tables, insert, many, pages, two_cursors, across_commit, error, after_error, rollback, described, catalogs, keys, indexes, infos, several, types, transactions]:
        step(f"{mode} {work.__name__}", work)
    c.close()
