#!/usr/bin/env bash
# The program of this folder with Debian's lib/pq and pgx: `run.sh HOST PORT USER DATABASE`.
cd "$(dirname "$0")" || exit 1
test -d /usr/share/gocode/src/github.com/jackc/pgx/v4 && test -d /usr/share/gocode/src/github.com/lib/pq && command -v go >/dev/null ||
  { echo "go, lib/pq or pgx is absent" >&2; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE=$folder/cache go build -o "$folder/drivers" drivers.go && "$folder/drivers" "$@"
