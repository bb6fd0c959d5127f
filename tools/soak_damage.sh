#!/usr/bin/env bash
# ./dev soak damage [--places N] [--kind TEXT]: damages every kind of file that Teia writes in six ways, each in N
# places (3 without the option), and looks what the program makes of it.
set -euo pipefail
cd "$(dirname "$0")/.."

places=3
while [ $# -gt 0 ]; do
  case $1 in
    --places) places=${2:?--places needs a number}; shift 2 ;;
    --kind) export TEIA_DAMAGE_KIND=${2:?--kind needs a text}; shift 2 ;;
    *) echo "usage: ./dev soak damage [--places N] [--kind TEXT]" >&2; exit 2 ;;
  esac
done
case $places in
  '' | *[!0-9]*) echo "--places takes a number, not '$places'" >&2; exit 2 ;;
esac
export TEIA_DAMAGES=$places
exec cargo test --release --workspace --test damage -- damage_is_found
