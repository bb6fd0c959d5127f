#!/usr/bin/env bash
# ./dev soak kill [--kills N] [--seed N]: kills the real program N times (200 without the option) and
# checks after each crawl that nothing was lost, doubled or asked too often. A failure names its seed.
set -euo pipefail
cd "$(dirname "$0")/.."

kills=200
while [ $# -gt 0 ]; do
  case $1 in
    --kills) kills=${2:?--kills needs a number}; shift 2 ;;
    --seed) export TEIA_SEED=${2:?--seed needs a number}; shift 2 ;;
    *) echo "usage: ./dev soak kill [--kills N] [--seed N]" >&2; exit 2 ;;
  esac
done
case $kills in
  '' | *[!0-9]*) echo "--kills takes a number, not '$kills'" >&2; exit 2 ;;
esac

echo "killing $kills times; this takes about $((kills * 2 / 60 + 1)) minutes"
export TEIA_KILLS=$kills
exec cargo test --release -p teia --test kill killed_again -- --nocapture
