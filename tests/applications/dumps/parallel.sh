#!/bin/bash
# pg_dump and pg_restore with four jobs, over tables that have many indexes and foreign keys each: `parallel.sh HOST PORT USER DATABASE`.
# Prints what is there each time, and every error of a restore; and what becomes of definitions that sessions make of two tables at once.
# PG_URI names the PostgreSQL.
set -u
for program in pg_dump pg_restore psql; do command -v $program >/dev/null || { echo "$program is absent" >&2; exit 77; }; done
export PGHOST=$1 PGPORT=$2 PGUSER=$3 PGDATABASE=$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sql() { psql -X -q -At "$@"; }
sql 2>/dev/null <<'Q'
CREATE SCHEMA par;
CREATE TABLE par.places (id int PRIMARY KEY, a int, b varchar(40), c timestamptz, d numeric(12, 2));
CREATE TABLE par.people (id serial PRIMARY KEY, place int REFERENCES par.places, a int, b varchar(40) UNIQUE);
CREATE TABLE par.visits (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, place int REFERENCES par.places ON DELETE CASCADE, person int REFERENCES par.people, a int CHECK (a >= 0), b text);
CREATE TABLE par.marks (place int, person int, a int, FOREIGN KEY (place) REFERENCES par.places, FOREIGN KEY (person) REFERENCES par.people, UNIQUE (a), CHECK (a > -5));
INSERT INTO par.places SELECT g, g % 100, 'b' || g, timestamptz '2020-01-01 00:00+00' + g * interval '1 s', g / 7.0 FROM generate_series(1, 3000) g;
INSERT INTO par.people (place, a, b) SELECT g, g % 100, 'b' || g FROM generate_series(1, 3000) g;
INSERT INTO par.visits (place, person, a, b) SELECT g, g, g % 100, 'b' || g FROM generate_series(1, 3000) g;
INSERT INTO par.marks SELECT g, g, g FROM generate_series(1, 3000) g;
CREATE INDEX ON par.places (a); CREATE INDEX ON par.places (b); CREATE INDEX ON par.places (c); CREATE INDEX ON par.places (d);
CREATE INDEX ON par.places (a, b); CREATE INDEX ON par.places (b, a DESC); CREATE INDEX places_lower ON par.places (lower(b)); CREATE INDEX places_sum ON par.places ((a + 1));
CREATE UNIQUE INDEX places_some ON par.places (id, c) WHERE a > 10;
COMMENT ON INDEX par.places_lower IS 'computed'; COMMENT ON INDEX par.places_some IS 'some';
CREATE INDEX ON par.people (place); CREATE INDEX ON par.people (a); CREATE INDEX ON par.people (upper(b));
CREATE INDEX ON par.visits (place); CREATE INDEX ON par.visits (person); CREATE INDEX visits_some ON par.visits (a) WHERE a > 10;
CREATE INDEX ON par.marks (place); CREATE INDEX ON par.marks (person);
Q

told() { # what of the database, and the errors of what was done
  echo "$1: $(grep -i -A3 'error' "$folder/said" | head -8)"
  shift
  sql "$@" -c 'SELECT count(*), sum(a), min(b), max(c), sum(d) FROM par.places WHERE a >= 0' -c "SELECT count(*) FROM par.places WHERE lower(b) = 'b77'" -c 'SELECT count(*) FROM par.visits WHERE a > 10' \
    -c 'SELECT count(*), sum(place), sum(person), sum(a) FROM par.marks' \
    -c "SELECT indexrelid::regclass, indisvalid, indisready, pg_get_indexdef(indexrelid), obj_description(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'par'::regnamespace ORDER BY relname" \
    -c "SELECT conname, convalidated, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'par'::regnamespace ORDER BY 1" 2>&1
}
dump() { pg_dump -Fd -j 4 -n par "$@" 2>"$folder/said" || cat "$folder/said"; }
restore() { # into what, what
  sql -d "$1" -c 'DROP SCHEMA IF EXISTS par CASCADE' 2>/dev/null
  pg_restore --no-owner -j 4 -d "$1" "$2" 2>"$folder/said"
}
here="postgresql://$PGUSER@$PGHOST:$PGPORT/$PGDATABASE"
dump -f "$folder/here" -d "$here"
for round in 1 2 3; do restore "$here" "$folder/here"; told "round $round"; done
if [ -n "${PG_URI:-}" ]; then
  other=parallel_$$
  sql -d "$PG_URI" -c "CREATE DATABASE $other"
  target=${PG_URI%/*}/$other
  restore "$target" "$folder/here"; told "to PostgreSQL" -d "$target"
  dump -f "$folder/there" -d "$target"
  restore "$here" "$folder/there"; told "from PostgreSQL"
  sql -d "$PG_URI" -c "DROP DATABASE $other WITH (FORCE)"
fi

# Definitions of the same tables at once, each in a session of its own: all of them are there in the end.
for round in 1 2 3; do
  sql 2>/dev/null <<'Q'
DROP SCHEMA IF EXISTS par CASCADE; CREATE SCHEMA par;
CREATE TABLE par.r (id int PRIMARY KEY, x int);
CREATE TABLE par.t (id int PRIMARY KEY, a int, b int, c varchar(20));
INSERT INTO par.r SELECT g, g FROM generate_series(1, 2000) g;
INSERT INTO par.t SELECT g, g, g, 'c' || g FROM generate_series(1, 2000) g;
Q
  while read -r statement; do
    sql -c "$statement" 2>&1 | grep -v -e NOTICE -e HINT &
  done <<'Q'
CREATE INDEX t_a ON par.t (a)
CREATE INDEX t_b ON par.t (b) WHERE b > 10
CREATE INDEX t_lower ON par.t (lower(c))
CREATE INDEX t_sum ON par.t ((a + b))
CREATE INDEX t_ab ON par.t (a, b)
ALTER TABLE par.t ADD CONSTRAINT t_a_fk FOREIGN KEY (a) REFERENCES par.r
ALTER TABLE par.t ADD CONSTRAINT t_b_fk FOREIGN KEY (b) REFERENCES par.r
ALTER TABLE par.t ADD CONSTRAINT t_u UNIQUE (b)
ALTER TABLE par.t ADD CONSTRAINT t_k CHECK (a > 0)
ALTER TABLE par.r ADD CONSTRAINT r_u UNIQUE (x)
ALTER TABLE par.t ADD COLUMN d int DEFAULT 3
BEGIN; CREATE INDEX t_ba ON par.t (b, a); CREATE INDEX r_x ON par.r (x); COMMIT
INSERT INTO par.t SELECT g, 1, g, 'x' FROM generate_series(2001, 2100) g WHERE g < 2001
Q
  wait
  echo "at once, round $round"
  sql -c "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'par'::regnamespace ORDER BY 1" -c "SELECT conname FROM pg_constraint WHERE connamespace = 'par'::regnamespace ORDER BY 1" \
    -c "SELECT count(*), sum(d) FROM par.t WHERE lower(c) > 'a'" 2>&1
done
