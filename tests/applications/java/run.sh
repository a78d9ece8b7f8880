#!/usr/bin/env bash
# A Java program of this folder with Debian's libraries: `run.sh PROGRAM ARGUMENT…`.
cd "$(dirname "$0")" || exit 1
jars=/usr/share/java
needed=("$jars/postgresql.jar")
if [ "$1" = Spring ]; then
  needed+=("$jars"/{HikariCP,slf4j-api,slf4j-nop,spring3-jdbc,spring3-core,spring3-beans,spring3-transaction,commons-logging}.jar)
fi
for jar in "${needed[@]}"; do test -e "$jar" || { echo "$jar is absent" >&2; exit 77; }; done
command -v javac >/dev/null || { echo "javac is absent" >&2; exit 77; }
program=$1
shift
exec java -XX:TieredStopAtLevel=1 -cp "$(IFS=:; echo "${needed[*]}")" "$program.java" "$@"
