"""Python beyond ORMs: asyncpg, psycopg 3's pipelines, pandas, Polars with connectorx and ADBC, DuckDB's postgres extension.
`frames.py PART HOST PORT USER DATABASE`. Prints its steps, which are the same on Keyspan and on PostgreSQL."""

import asyncio
import datetime
import decimal
import importlib.util
import sys
import uuid

part, host, port, user, database = sys.argv[1:]
url = f"postgresql://{user}@{host}:{port}/{database}"


def step(name, work):
    try:
        print(name, "OK", str(work()).replace("\n", " / "), flush=True)
    except Exception as error:
        code = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or ""
        print(name, "FAIL", code, type(error).__name__, str(error).split("\n")[0], flush=True)


def asyncpg_part():
    import asyncpg

    loop = asyncio.new_event_loop()
    connection = loop.run_until_complete(asyncpg.connect(url))

    def run(name, work):
        step(f"asyncpg {name}", lambda: loop.run_until_complete(work(connection)))

    async def tables(c):
        return await c.execute(
            "CREATE TABLE things (id serial PRIMARY KEY, name text UNIQUE, n int, b bigint, s smallint, f float8, r real, d numeric(12, 3), ok bool,"
            " day date, at timestamptz, ts timestamp, t time, i interval, u uuid, j json, jb jsonb, raw bytea, tags text[], ints int[], c char(3), v varchar(9))"
        )

    async def insert(c):
        return await c.fetchrow(
            "INSERT INTO things (name, n, b, s, f, r, d, ok, day, at, ts, t, i, u, j, jb, raw, tags, ints, c, v) VALUES"
            " ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21) RETURNING *",
            "one", 1, 2**40, -3, 1.5, 2.5, decimal.Decimal("12.345"), True, datetime.date(2024, 1, 2),
            datetime.datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=datetime.timezone.utc), datetime.datetime(2024, 1, 2, 3, 4, 5, 6),
            datetime.time(1, 2, 3), datetime.timedelta(days=1, seconds=5), uuid.UUID(int=5), '{"a": 1}', '{"b": [1, 2]}', b"\0\1\xff",
            ["a", "b,c", None], [1, 2, None], "ab", "vv",
        )

    async def many(c):
        await c.executemany("INSERT INTO things (name, n) VALUES ($1, $2)", [(f"m{n}", n) for n in range(200)])
        return await c.fetchval("SELECT count(*) FROM things")

    async def copy_in(c):
        return await c.copy_records_to_table("things", records=[(f"c{n}", n, decimal.Decimal(n), [str(n)]) for n in range(100)], columns=["name", "n", "d", "tags"])

    async def copy_out(c):
        import io

        out = io.BytesIO()
        done = await c.copy_from_query("SELECT name, n FROM things WHERE n < $1 AND name LIKE 'c%' ORDER BY n", 3, output=out, format="csv", header=True)
        return done, out.getvalue()

    async def cursor(c):
        total = 0
        async with c.transaction():
            async for row in c.cursor("SELECT n FROM things WHERE n IS NOT NULL ORDER BY id", prefetch=17):
                total += row["n"]
            cur = await c.cursor("SELECT id FROM things ORDER BY id")
            await cur.forward(5)
            return total, await cur.fetchrow(), len(await cur.fetch(10))

    async def nested(c):
        async with c.transaction(isolation="repeatable_read"):
            await c.execute("INSERT INTO things (name) VALUES ('t1')")
            try:
                async with c.transaction():
                    await c.execute("INSERT INTO things (name) VALUES ('t1')")
            except asyncpg.UniqueViolationError as error:
                caught = error.constraint_name, error.detail, error.table_name
        return caught, await c.fetchval("SELECT count(*) FROM things WHERE name = 't1'")

    async def prepared(c):
        statement = await c.prepare("SELECT n, $2::text[] || tags FROM things WHERE name = $1")
        return [str(p.name) for p in statement.get_parameters()], [(a.name, a.type.name) for a in statement.get_attributes()], await statement.fetch("c2", ["x"])

    async def types(c):
        await c.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        await c.execute("CREATE DOMAIN small AS int CHECK (VALUE < 10)")
        await c.execute("CREATE TABLE typed (id int PRIMARY KEY, m mood, ms mood[], s small)")
        await c.execute("INSERT INTO typed VALUES ($1, $2, $3, $4)", 1, "sad", ["ok", "sad"], 5)
        return await c.fetch("SELECT * FROM typed")

    async def codec(c):
        import json

        await c.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
        return await c.fetchval("SELECT $1::jsonb || '{\"z\": 1}'", {"a": [1]})

    async def listen(c):
        got = []
        await c.add_listener("ch", lambda *said: got.append(said[2:]))
        await c.execute("SELECT pg_notify('ch', 'hello')")
        await asyncio.sleep(0.3)
        await c.reset()
        return got

    async def errors(c):
        told = []
        for sql in ["SELECT 1/0", "SELECT * FROM nowhere", "SELECT 'x'::int", "SELEC 1", "INSERT INTO things (id) VALUES (NULL)"]:
            try:
                await c.execute(sql)
            except asyncpg.PostgresError as error:
                told.append((error.sqlstate, error.message, error.position))
        return told

    async def timeout(c):
        try:
            await c.execute("SELECT pg_sleep(5)", timeout=0.2)
        except asyncio.TimeoutError:
            return "timed out", await c.fetchval("SELECT 1")

    async def introspection(c):
        return c.get_server_version().major, c.get_settings().server_encoding, await c.fetchrow("SELECT 1 AS a, 'b' AS b, NULL AS c, ARRAY[[1,2],[3,4]] AS d, ROW(1, 'x') AS e, '{1,2}'::int[] AS f")

    async def pool(c):
        async with asyncpg.create_pool(url, min_size=2, max_size=3) as pool:
            return await asyncio.gather(*[pool.fetchval("SELECT $1::int * 2", n) for n in range(8)])

    for work in [tables, insert, many, copy_in, copy_out, cursor, nested, prepared, types, codec, listen, errors, timeout, introspection, pool]:
        run(work.__name__, work)
    loop.run_until_complete(connection.close())


def psycopg_part():
    import psycopg
    from psycopg import sql
    from psycopg.rows import dict_row, namedtuple_row
    from psycopg.types.json import Jsonb

    connection = psycopg.connect(url)

    def run(name, work):
        def whole():
            try:
                given = work(connection)
                connection.commit()
                return given
            except Exception:
                connection.rollback()
                raise

        step(f"psycopg {name}", whole)

    def tables(c):
        return c.execute("CREATE TABLE words (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, word text NOT NULL UNIQUE, data jsonb, tags text[], n numeric, at timestamptz)").statusmessage

    def pipeline(c):
        with c.pipeline() as p:
            cursors = [c.execute("INSERT INTO words (word) VALUES (%s) RETURNING id", [f"w{n}"]) for n in range(30)]
            p.sync()
            count = c.execute("SELECT count(*) FROM words")
            return cursors[-1].fetchone(), count.fetchone()

    def failing_pipeline(c):
        try:
            with c.pipeline():
                c.execute("INSERT INTO words (word) VALUES ('before')")
                c.execute("INSERT INTO words (word) VALUES ('w1')")
                c.execute("INSERT INTO words (word) VALUES ('after')")
        except psycopg.errors.UniqueViolation as error:
            c.rollback()
            return error.sqlstate, c.execute("SELECT count(*) FROM words WHERE word IN ('before', 'after')").fetchone()

    def pipeline_transactions(c):
        c.commit()
        with c.pipeline():
            with c.transaction():
                c.execute("INSERT INTO words (word) VALUES ('tr1')")
                with c.transaction():
                    c.execute("UPDATE words SET n = 5 WHERE word = 'tr1'")
            one = c.execute("SELECT n FROM words WHERE word = 'tr1'")
        return one.fetchone()

    def executemany(c):
        cursor = c.cursor()
        cursor.executemany("INSERT INTO words (word, n) VALUES (%s, %s) RETURNING id", [(f"e{n}", n) for n in range(20)], returning=True)
        rows = 0
        while True:
            rows += len(cursor.fetchall())
            if not cursor.nextset():
                return rows, cursor.rowcount

    def copy(c):
        with c.cursor().copy("COPY words (word, n, tags) FROM STDIN") as writer:
            for n in range(10):
                writer.write_row((f"k{n}", n, ["a", None]))
        with c.cursor().copy("COPY words (word, n) FROM STDIN (FORMAT binary)") as writer:
            writer.set_types(["text", "numeric"])
            writer.write_row(("bin", decimal.Decimal("1.5")))
        with c.cursor().copy("COPY (SELECT word, n FROM words WHERE word LIKE 'k%' ORDER BY n LIMIT 2) TO STDOUT") as reader:
            return list(reader.rows())

    def server_cursor(c):
        with c.cursor(name="named cursor", scrollable=True) as cursor:
            cursor.itersize = 5
            cursor.execute("SELECT word FROM words ORDER BY id")
            first = cursor.fetchmany(3)
            cursor.scroll(10)
            second = cursor.fetchone()
            cursor.scroll(0, mode="absolute")
            return first, second, cursor.fetchone(), len(list(cursor))

    def hold_cursor(c):
        cursor = c.cursor(name="held", withhold=True)
        cursor.execute("SELECT word FROM words ORDER BY id LIMIT 3")
        c.commit()
        rows = cursor.fetchall()
        cursor.close()
        return rows

    def client_cursor(c):
        cursor = psycopg.ClientCursor(c)
        return cursor.execute("SELECT %s, %s::date, %s", ["it's", datetime.date(2024, 1, 2), [1, 2]]).fetchone(), cursor.mogrify("%s %s", [None, b"x"])

    def binary(c):
        cursor = c.cursor(binary=True)
        return cursor.execute("SELECT 1, 2.5::numeric, 'x'::text, '2024-01-02 03:04:05+00'::timestamptz AT TIME ZONE 'UTC', '{1,2}'::int[], %s::jsonb, interval '1 day', true, '\\x00'::bytea, %b::uuid", [Jsonb({"a": 1}), uuid.UUID(int=7)]).fetchone()

    def rows(c):
        return c.cursor(row_factory=dict_row).execute("SELECT 1 AS a, 'x' AS b").fetchall(), c.cursor(row_factory=namedtuple_row).execute("SELECT 1 AS a").fetchone().a

    def composed(c):
        return c.execute(sql.SQL("SELECT {} FROM {} WHERE {} = {} ORDER BY 1").format(sql.Identifier("word"), sql.Identifier("public", "words"), sql.Identifier("n"), sql.Literal(5))).fetchall()

    def adapters(c):
        return c.execute("SELECT %s::text[], %s::int[], %s, %s, %s", [["a", None], [1, 2], datetime.timedelta(days=1), datetime.time(1, 2), decimal.Decimal("1.10")]).fetchone()

    def enum(c):
        import enum as enums

        from psycopg.types.enum import EnumInfo, register_enum

        c.execute("CREATE TYPE hue AS ENUM ('red', 'blue')")
        info = EnumInfo.fetch(c, "hue")
        register_enum(info, c, enums.Enum("Hue", {"red": "red", "blue": "blue"}))
        return c.execute("SELECT 'blue'::hue, ARRAY['red'::hue]").fetchone()

    def info(c):
        from psycopg.types import TypeInfo

        told = TypeInfo.fetch(c, "jsonb")
        return told.oid, told.array_oid, c.info.parameter_status("standard_conforming_strings"), c.info.encoding, c.info.transaction_status.name

    def notify(c):
        c.commit()
        c.autocommit = True
        try:
            c.execute("LISTEN n1")
            c.execute("NOTIFY n1, 'payload'")
            return [(n.channel, n.payload) for n in c.notifies(timeout=2, stop_after=1)]
        finally:
            c.autocommit = False

    def two_phase(c):
        try:
            c.commit()
            c.tpc_begin(c.xid(1, "gtrid", "bqual"))
            c.tpc_rollback()
            return "begun"
        except psycopg.Error as error:
            return error.sqlstate

    def prepared(c):
        for _ in range(8):
            got = c.execute("SELECT word FROM words WHERE id = %s", [3]).fetchone()
        return got, c.execute("SELECT count(*) > 0 FROM pg_prepared_statements").fetchone()

    for work in [tables, pipeline, failing_pipeline, pipeline_transactions, executemany, copy, server_cursor, hold_cursor, client_cursor, binary, rows, composed, adapters, enum, info, notify, two_phase, prepared]:
        run(work.__name__, work)


def pandas_part():
    import pandas
    from sqlalchemy import create_engine, text, types

    engine = create_engine(url.replace("postgresql", "postgresql+psycopg2"))
    frame = pandas.DataFrame({
        "id": range(50), "name": [f"n{n}" for n in range(50)], "amount": [n / 4 for n in range(50)], "ok": [n % 2 == 0 for n in range(50)],
        "day": pandas.date_range("2024-01-01", periods=50, tz="UTC"), "maybe": [None if n % 3 else n for n in range(50)],
    })
    step("to_sql", lambda: frame.to_sql("frame", engine, index=False))
    step("to_sql replace", lambda: frame.to_sql("frame", engine, index=False, if_exists="replace", dtype={"name": types.String(20)}))
    step("to_sql append", lambda: frame.to_sql("frame", engine, index=False, if_exists="append", method="multi", chunksize=7))
    step("to_sql index", lambda: frame.set_index("id").to_sql("indexed", engine))
    step("read_sql", lambda: pandas.read_sql("SELECT * FROM frame WHERE amount > 11 ORDER BY id, name LIMIT 4", engine).to_json())
    step("read_sql_table", lambda: pandas.read_sql_table("frame", engine).sort_values("id").dtypes.to_dict())
    step("read_sql_query", lambda: pandas.read_sql_query(text("SELECT ok, count(*) AS n, sum(amount) AS s, avg(maybe) AS m FROM frame GROUP BY ok ORDER BY ok"), engine).to_json())
    step("chunks", lambda: [len(chunk) for chunk in pandas.read_sql("SELECT * FROM frame ORDER BY id", engine, chunksize=30)])
    step("parameters", lambda: pandas.read_sql(text("SELECT id FROM frame WHERE name = :name AND day < :day"), engine, params={"name": "n3", "day": datetime.datetime(2025, 1, 1)}).to_json())
    with engine.begin() as connection:
        step("copy", lambda: copied(connection))
        step("schema", lambda: (connection.execute(text("CREATE SCHEMA s")), frame.head(3).to_sql("inner", connection, schema="s", index=False))[1])


def copied(connection):
    import csv
    import io

    buffer = io.StringIO()
    csv.writer(buffer).writerows([[100, "x,y", 1.5], [101, None, 2]])
    buffer.seek(0)
    with connection.connection.cursor() as cursor:
        cursor.copy_expert("COPY frame (id, name, amount) FROM STDIN WITH CSV", buffer)
        return cursor.rowcount


def polars_part():
    import polars

    frame = polars.DataFrame({"id": list(range(20)), "name": [f"n{n}" for n in range(20)], "x": [n / 2 for n in range(20)], "day": [datetime.date(2024, 1, 1 + n) for n in range(20)], "ok": [n % 2 == 0 for n in range(20)]})
    query = "SELECT id, name, x, day, ok FROM pol ORDER BY id LIMIT 3"
    step("write adbc", lambda: frame.write_database("pol", url, engine="adbc"))
    step("append adbc", lambda: frame.write_database("pol", url, engine="adbc", if_table_exists="append"))
    step("replace adbc", lambda: frame.write_database("pol", url, engine="adbc", if_table_exists="replace"))
    step("write sqlalchemy", lambda: frame.write_database("pol2", url.replace("postgresql", "postgresql+psycopg2"), engine="sqlalchemy"))
    step("read connectorx", lambda: polars.read_database_uri(query, url, engine="connectorx").rows())
    step("read adbc", lambda: polars.read_database_uri(query, url, engine="adbc").rows())
    step("types connectorx", lambda: polars.read_database_uri("SELECT 1::int2 a, 2::int8 b, 1.5::numeric(6,2) c, 'x'::varchar d, now()::date > '2000-01-01' e, timestamp '2024-01-02 03:04:05' f, '{1,2}'::int[] g, '{\"a\":1}'::jsonb h, uuid '00000000-0000-0000-0000-000000000005' i, '\\x01'::bytea j, NULL::text k, time '01:02:03' l", url, engine="connectorx").rows())
    step("types adbc", lambda: polars.read_database_uri("SELECT 1::int2 a, 2::int8 b, 1.5::numeric(6,2) c, 'x'::varchar d, timestamp '2024-01-02 03:04:05' f, '{1,2}'::int[] g, '\\x01'::bytea j, NULL::text k, true l, 1.5::float8 m, date '2024-01-02' n", url, engine="adbc").rows())
    step("partitions", lambda: sorted(polars.read_database_uri("SELECT id, name FROM pol", url, partition_on="id", partition_num=3).rows())[:2])
    step("aggregate", lambda: polars.read_database_uri("SELECT ok, sum(x) AS s, count(*) AS n FROM pol GROUP BY ok ORDER BY ok", url, engine="connectorx").rows())
    step("adbc direct", adbc)


def adbc():
    import adbc_driver_postgresql.dbapi as dbapi

    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE direct (a int PRIMARY KEY, b text)")
        cursor.executemany("INSERT INTO direct VALUES ($1, $2)", [(1, "x"), (2, None)])
        connection.commit()
        cursor.execute("SELECT * FROM direct ORDER BY a")
        rows = cursor.fetchall()
        tables = connection.adbc_get_objects(depth="columns", table_name_filter="direct").read_all().to_pylist()
        columns = [c["column_name"] for d in tables for s in (d["catalog_db_schemas"] or []) for t in (s["db_schema_tables"] or []) for c in t["table_columns"]]
        return rows, columns, [f.name for f in connection.adbc_get_table_schema("direct")]


def duckdb_part():
    import tempfile

    import duckdb

    folder = tempfile.mkdtemp()
    db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    step("load", lambda: loaded(db))
    # Rows have no ctid: a table is read in one part, and not updated from there.
    db.execute("SET pg_use_ctid_scan = false")
    step("attach", lambda: db.execute(f"ATTACH 'host={host} port={port} user={user} dbname={database}' AS pg (TYPE postgres)").fetchall())
    step("create", lambda: db.execute("CREATE TABLE pg.duck (id INTEGER PRIMARY KEY, name VARCHAR, x DOUBLE, d DECIMAL(10, 2), day DATE, made TIMESTAMP, tags VARCHAR[])").fetchall())
    step("insert", lambda: db.execute("INSERT INTO pg.duck SELECT i, 'n' || i, i / 2, i, DATE '2024-01-01' + i::INTEGER, TIMESTAMP '2024-01-01 00:00:00', ['a', 'b'] FROM range(1000) t(i)").fetchall())
    step("select", lambda: db.execute("SELECT * FROM pg.duck WHERE id BETWEEN 5 AND 7 ORDER BY id").fetchall())
    step("aggregate", lambda: db.execute("SELECT count(*), sum(x), min(name), max(day) FROM pg.duck").fetchall())
    step("join", lambda: db.execute("SELECT count(*) FROM pg.duck a JOIN pg.duck b ON a.id = b.id + 1").fetchall())
    step("create as", lambda: db.execute("CREATE TABLE pg.copied AS SELECT * FROM pg.duck").fetchall())
    step("transaction", lambda: (db.execute("BEGIN"), db.execute("INSERT INTO pg.copied (id) VALUES (5000)"), db.execute("ROLLBACK"), db.execute("SELECT count(*) FROM pg.copied").fetchall())[-1])
    step("query", lambda: db.execute("SELECT * FROM postgres_query('pg', 'SELECT count(*) AS n FROM duck')").fetchall())
    step("execute", lambda: db.execute("CALL postgres_execute('pg', 'CREATE INDEX duck_name ON duck (name)')").fetchall())
    step("tables", lambda: db.execute("SELECT table_name FROM information_schema.tables WHERE table_catalog = 'pg' AND table_schema = 'public' ORDER BY 1").fetchall())
    step("alter", lambda: db.execute("ALTER TABLE pg.copied ADD COLUMN more INTEGER").fetchall())
    step("view", lambda: db.execute("CREATE VIEW pg.v AS SELECT 1 AS a").fetchall())
    step("schema", lambda: db.execute("CREATE SCHEMA pg.other").fetchall())
    step("parquet", lambda: (db.execute(f"COPY (SELECT * FROM pg.duck) TO '{folder}/duck.parquet'"), db.execute(f"CREATE TABLE pg.back AS SELECT * FROM '{folder}/duck.parquet'"), db.execute("SELECT count(*) FROM pg.back").fetchall())[-1])
    step("drop", lambda: db.execute("DROP TABLE pg.copied").fetchall())


def loaded(db):
    import glob

    spec = importlib.util.find_spec("duckdb_extension_postgres_scanner")
    (path,) = glob.glob(f"{spec.submodule_search_locations[0]}/**/*.duckdb_extension", recursive=True)
    return db.execute(f"LOAD '{path}'").fetchall()


PARTS = {
    "asyncpg": (asyncpg_part, ["asyncpg"]),
    "psycopg": (psycopg_part, ["psycopg"]),
    "pandas": (pandas_part, ["pandas", "sqlalchemy", "psycopg2"]),
    "polars": (polars_part, ["polars", "connectorx", "adbc_driver_postgresql", "sqlalchemy", "psycopg2"]),
    "duckdb": (duckdb_part, ["duckdb", "duckdb_extension_postgres_scanner"]),
}
work, modules = PARTS[part]
absent = [name for name in modules if importlib.util.find_spec(name) is None]
if absent:
    sys.exit(print(*absent, "is absent", file=sys.stderr) or 77)
work()
