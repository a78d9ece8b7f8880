#!/bin/bash
# pg_dump in its formats, restored where it was made, in PostgreSQL and from there: `dumps.sh HOST PORT USER DATABASE`. Prints what is there
# each time, which is the same on Keyspan and on PostgreSQL. PG_URI names the PostgreSQL.
set -u
for program in pg_dump pg_restore psql createdb; do command -v $program >/dev/null || { echo "$program is absent" >&2; exit 77; }; done
export PGHOST=$1 PGPORT=$2 PGUSER=$3 PGDATABASE=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sql() { psql -X -q -At "$@"; }
sql 2>/dev/null <<'Q'
CREATE SCHEMA app;
CREATE TYPE app.mood AS ENUM ('sad', 'ok', 'it''s');
CREATE DOMAIN app.pos AS int CHECK (VALUE > 0);
CREATE SEQUENCE app.numbers START 5 INCREMENT 3;
CREATE TABLE app.people (id serial PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, feels app.mood DEFAULT 'ok', born date, paid numeric(12,2) DEFAULT 0 CHECK (paid >= 0), tags text[] DEFAULT '{}', doc jsonb, at timestamptz, raw bytea, uid uuid, p app.pos, up text GENERATED ALWAYS AS (upper(name)) STORED);
CREATE TABLE "Odd Table" ("Id" bigint GENERATED ALWAYS AS IDENTITY (START 10), "select" text, person int REFERENCES app.people ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, PRIMARY KEY ("Id"));
CREATE INDEX odd_lower ON "Odd Table" (lower("select"));
CREATE UNIQUE INDEX people_born ON app.people (born DESC NULLS LAST, name) WHERE born IS NOT NULL;
CREATE VIEW app.rich AS SELECT p.id, p.name, count(o."Id") AS n FROM app.people p LEFT JOIN "Odd Table" o ON o.person = p.id WHERE p.paid > 10 GROUP BY p.id, p.name;
CREATE MATERIALIZED VIEW app.mat AS SELECT name, paid * 2 AS twice FROM app.people WITH DATA;
CREATE FUNCTION app.add(a int, b int DEFAULT 1) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT a + b $$;
CREATE FUNCTION app.say(n int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN IF n > 1 THEN RETURN 'many'; END IF; RETURN 'few'; END $$;
COMMENT ON TABLE app.people IS 'who''s who'; COMMENT ON COLUMN app.people.born IS 'a day'; COMMENT ON SCHEMA app IS 'it';
INSERT INTO app.people (name, feels, born, paid, tags, doc, at, raw, uid, p) SELECT 'n' || i, 'sad', date '2000-01-01' + i, i * 3, ARRAY['a', NULL, 'b,c"'], jsonb_build_object('i', i), timestamptz '2024-01-01 00:00:00+00' + i * interval '1 hour', decode('00ff', 'hex'), ('00000000-0000-0000-0000-' || lpad(i::text, 12, '0'))::uuid, i FROM generate_series(1, 500) i;
INSERT INTO app.people (name) VALUES (E'tab\there\\ and\nline'), ('');
INSERT INTO "Odd Table" ("select", person) SELECT 'x' || i, 1 + i % 400 FROM generate_series(1, 1000) i;
SELECT nextval('app.numbers') \g /dev/null
ALTER TABLE app.people ALTER name SET STATISTICS 200;
REFRESH MATERIALIZED VIEW app.mat;
Q

wipe() { sql -c 'DROP SCHEMA app CASCADE' -c 'DROP TABLE IF EXISTS "Odd Table" CASCADE' 2>/dev/null; }
told() { # what of the database, and errors that stand in a file
  echo "$1: $(grep -i 'error' "$folder/said" | head -3)"
  shift
  sql "$@" -c 'SELECT count(*), sum(paid), count(DISTINCT up), min(tags::text), max(at AT TIME ZONE $$UTC$$), sum((doc->>$$i$$)::int), count(raw), max(uid::text) FROM app.people' -c 'SELECT count(*), min("Id"), max("Id") FROM "Odd Table"' \
    -c 'SELECT sum(n) FROM app.rich' -c 'SELECT count(*), sum(twice) FROM app.mat' -c "SELECT app.add(4), app.say(3), nextval('app.numbers'), obj_description('app.people'::regclass)" \
    -c "SELECT count(*) FROM pg_indexes WHERE schemaname IN ('app', 'public')" -c "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype IN ('f', 'u') AND connamespace IN ('app'::regnamespace, 'public'::regnamespace) ORDER BY 1" -c "INSERT INTO app.people (name) VALUES ('next') RETURNING feels, id > 500" \
    -c "DELETE FROM app.people WHERE name = 'next'" 2>&1
}
pg_dump -Fp -f "$folder/plain" 2>"$folder/said" || cat "$folder/said"
pg_dump -Fc -f "$folder/custom" 2>"$folder/said" || cat "$folder/said"
pg_dump -Fd -j 4 -f "$folder/many" 2>"$folder/said" || cat "$folder/said"
pg_dump --inserts --rows-per-insert 50 -f "$folder/inserts" 2>"$folder/said" || cat "$folder/said"
wipe; sql -f "$folder/plain" >/dev/null 2>"$folder/said"; told plain
wipe; pg_restore -d "$PGDATABASE" "$folder/custom" 2>"$folder/said"; told custom
wipe; pg_restore -d "$PGDATABASE" "$folder/many" 2>"$folder/said"; told directory
wipe; sql -f "$folder/inserts" >/dev/null 2>"$folder/said"; told inserts
if [ -n "${PG_URI:-}" ]; then
  other=dumps_$$
  sql -d "$PG_URI" -c "CREATE DATABASE $other"
  target=${PG_URI%/*}/$other
  pg_restore --no-owner -d "$target" "$folder/custom" 2>"$folder/said"; told "to PostgreSQL" -d "$target"
  pg_dump -d "$target" -f "$folder/back" 2>"$folder/said"
  wipe; sql -f "$folder/back" >/dev/null 2>"$folder/said"; told "from PostgreSQL"
  sql -d "$PG_URI" -c "DROP DATABASE $other WITH (FORCE)"
fi
