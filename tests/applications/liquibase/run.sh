#!/usr/bin/env bash
# Liquibase of npm's package: `run.sh HOST PORT USER DATABASE`. Prints what it did, which is the same on Keyspan and on PostgreSQL.
cd "$(dirname "$0")" || exit 1
libraries=${LIQUIBASE_HOME:-../node/node_modules/liquibase/dist/liquibase}
{ test -d "$libraries" && command -v java >/dev/null; } || { echo "Liquibase or Java is absent" >&2; exit 77; }
url=jdbc:postgresql://$1:$2/$4
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
run() {
  echo "== $1"
  java -XX:TieredStopAtLevel=1 -cp "$libraries/internal/lib/*:$libraries/lib/*" liquibase.integration.commandline.LiquibaseCommandLine \
    --url="$url" --username="$user" --password=x --changelog-file=changelog.xml --log-level=off --show-banner=false "$@" 2>&1 |
    grep -vE '^$|^Starting Liq|^Liquibase (Version|Open)|Deployment ID|Database:' |
    sed "s#$url#URL#g; s/$user@/USER@/g; s#$folder#FOLDER#g; s/ERROR: Exception Primary Source.*//; s/| [0-9]\{10\} *| [^|]*|/| ID | WHEN |/"
}
user=$3
run update
run rollback-count --count=1
run update
run generate-changelog --changelog-file="$folder/made.xml"
# Tables come in the order of their numbers.
sed -e 's/id="[0-9-]*"//; s/author="[^"]*"//' "$folder/made.xml" | tail -n +3 | sort
run history
run drop-all
