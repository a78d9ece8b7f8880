#!/usr/bin/env bash
# The program of this folder, tokio-postgres and sqlx with its migrations: `run.sh HOST PORT USER DATABASE`. What is built stays in the
# target folder of Keyspan.
cd "$(dirname "$0")" || exit 1
command -v cargo >/dev/null || { echo "cargo is absent" >&2; exit 77; }
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-../../../target}/applications
cargo build --quiet 2>/dev/null || { echo "its packages cannot be had" >&2; exit 77; }
exec "$CARGO_TARGET_DIR/debug/clients" "$@"
