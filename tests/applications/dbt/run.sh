#!/usr/bin/env bash
# dbt with two threads: `run.sh HOST PORT USER DATABASE`. Prints what each command did, which is the same on Keyspan and on PostgreSQL.
cd "$(dirname "$0")" || exit 1
command -v dbt >/dev/null || { echo "dbt is absent" >&2; exit 77; }
export DATABASE_HOST=$1 DATABASE_PORT=$2 DATABASE_USER=$3 DATABASE_NAME=$4 DBT_PROFILES_DIR=. DBT_SEND_ANONYMOUS_USAGE_STATS=false
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export DBT_TARGET_PATH=$folder/target DBT_LOG_PATH=$folder/logs
rows=(psql -X -q -At -h "$1" -p "$2" -U "$3" -d "$4")
run() {
  echo "== dbt $*"
  dbt --no-use-colors "$@" 2>&1 | sed 's/^[0-9:]* *//; s/ in [0-9.]*s\]/]/; s/^[0-9]* of [0-9]* //; s/ in [0-9].*seconds.*//' |
    grep -E '^(OK|PASS|ERROR|FAIL|WARN|SKIP|Done\.|.*Error|Database)' | sort
}
run debug >/dev/null
run seed
run run
run test
run snapshot
"${rows[@]}" -c 'update shop.orders set amount = 11 where id = 1' -c "insert into shop.orders values (4, 2, 7, '2024-02-01 12:00:00', '2024-03-01')"
run run
run snapshot
run run --full-refresh --select daily merged
run source freshness
run docs generate >/dev/null
run build
"${rows[@]}" -c 'select * from shop.customer_totals order by 1' -c 'select * from shop.daily order by 1' -c 'select id, amount from shop.merged order by 1' -c 'select count(*) from shop.appended' -c 'select id, amount, dbt_valid_to is null from shop.orders_history order by 1, 2' -c 'select * from shop.lasts order by 1' -c "select obj_description('shop.customer_totals'::regclass), col_description('shop.customer_totals'::regclass, 1)" -c "select count(*) from pg_indexes where schemaname = 'shop' and tablename = 'customer_totals'"
