#!/usr/bin/env bash
# pgbouncer in transaction mode, with psql, pgbench's TPC-B and sysbench behind it: `pooler.sh HOST PORT USER DATABASE`.
# Prints its steps, which are the same on Keyspan and on PostgreSQL.
set -u
test -x /usr/sbin/pgbouncer && command -v psql >/dev/null || { echo "pgbouncer or psql is absent" >&2; exit 77; }
host=$1 port=$2 user=$3 database=$4
folder=$(mktemp -d)
chmod 777 "$folder"
own=$((20000 + RANDOM % 20000))
cat >"$folder/pgbouncer.ini" <<INI
[databases]
pooled = host=$host port=$port dbname=$database user=$user
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $own
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 50
server_reset_query_always = 1
ignore_startup_parameters = extra_float_digits, options
logfile = $folder/log
pidfile = $folder/pid
INI
as_nobody=(); if [ "$(id -u)" = 0 ]; then as_nobody=(runuser -u nobody --); fi
"${as_nobody[@]}" /usr/sbin/pgbouncer -q -d "$folder/pgbouncer.ini" || { echo "pgbouncer FAIL"; exit 1; }
trap 'kill "$(cat "$folder/pid")" 2>/dev/null; rm -rf "$folder"' EXIT
for _ in $(seq 50); do (exec 3<>"/dev/tcp/127.0.0.1/$own") 2>/dev/null && break; sleep 0.1; done
pooled=(psql -X -q -At -v ON_ERROR_STOP=1 "postgresql://anyone@127.0.0.1:$own/pooled")
step() {
  local name=$1; shift
  local given; if given=$("$@" 2>&1); then echo "$name OK $given"; else echo "$name FAIL $given"; fi
}
many() { # eight sessions of ten transactions each over three connections
  local jobs=()
  for one in $(seq 8); do
    { for two in $(seq 5); do printf 'BEGIN; SET LOCAL work_mem = %s; INSERT INTO pooled VALUES (%s, %s); SELECT pg_sleep(0.01); COMMIT;\n' "'$((one + 1))MB'" "$((one * 100 + two))" "$one"; done; } | "${pooled[@]}" -o /dev/null 2>/dev/null & jobs+=($!)
  done
  wait "${jobs[@]}"
  "${pooled[@]}" -c 'SELECT count(*), sum(b) FROM pooled'
}
step 'tables' "${pooled[@]}" -c 'CREATE TABLE pooled (a int PRIMARY KEY, b int)'
step 'sessions' many
step 'settings' "${pooled[@]}" -c 'SHOW work_mem' -c 'BEGIN' -c 'SET LOCAL statement_timeout = 7000' -c 'SHOW statement_timeout' -c 'COMMIT' -c 'SHOW statement_timeout'
step 'error' "${pooled[@]}" -c 'BEGIN' -c 'SELECT 1/0'
step 'after it' "${pooled[@]}" -c 'SELECT count(*) FROM pooled'
step 'temporary' "${pooled[@]}" -c 'BEGIN' -c 'CREATE TEMP TABLE tt (a int) ON COMMIT DROP' -c 'INSERT INTO tt VALUES (1)' -c 'SELECT * FROM tt' -c 'COMMIT'
step 'cursor' "${pooled[@]}" -c 'BEGIN' -c 'DECLARE c CURSOR FOR SELECT a FROM pooled ORDER BY a' -c 'FETCH 2 FROM c' -c 'COMMIT'
step 'copy' "${pooled[@]}" -c "COPY (SELECT a FROM pooled ORDER BY a LIMIT 2) TO STDOUT"
if command -v pgbench >/dev/null || test -x /usr/lib/postgresql/15/bin/pgbench; then
  pgbench=$(command -v pgbench || echo /usr/lib/postgresql/15/bin/pgbench)
  bench() { "$pgbench" "$@" -h 127.0.0.1 -p "$own" -U anyone pooled 2>&1 | grep -E 'number of (transactions actually|failed)|error|abort' | sed 's/ *(.*//'; }
  step 'pgbench -i' bench -i -q -s 1 --foreign-keys
  for mode in simple extended; do step "pgbench $mode" bench -n -M $mode -c 6 -j 2 -t 20; done
  step 'pgbench kept' "${pooled[@]}" -c 'SELECT count(*), sum(delta) = (SELECT sum(abalance) FROM pgbench_accounts) FROM pgbench_history' -c 'SELECT sum(abalance) = (SELECT sum(bbalance) FROM pgbench_branches) FROM pgbench_accounts'
fi
if command -v sysbench >/dev/null; then
  sys() { sysbench --db-driver=pgsql --pgsql-host="$host" --pgsql-port="$port" --pgsql-user="$user" --pgsql-password=x --pgsql-db="$database" --tables=2 --table-size=500 --threads=4 "$@" 2>&1 | grep -iE 'fatal|error' | grep -v 'ignored errors'; return 0; }
  step 'sysbench prepare' sys oltp_read_write prepare
  for kind in oltp_read_write oltp_point_select oltp_delete oltp_insert oltp_update_index oltp_update_non_index oltp_write_only oltp_read_only select_random_ranges; do step "sysbench $kind" sys $kind --events=80 --time=20 run; done
  step 'sysbench rows' "${pooled[@]}" -c 'SELECT count(*) > 300 FROM sbtest1'
  step 'sysbench cleanup' sys oltp_read_write cleanup
fi
