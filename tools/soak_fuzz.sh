#!/usr/bin/env bash
# Broken input for everything that reads what others wrote; see crates/fuzz.
#   ./dev soak fuzz [--target NAME]... [--seconds N] [--seed N]
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release -q -p teia-fuzz --bin fuzz
exec target/release/fuzz "$@"
