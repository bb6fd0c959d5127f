#!/usr/bin/env bash
# ./dev bench traps: how many requests traps still cost, and how many honest pages are lost to the detector.
#
#   ./dev bench traps [--products N] [--each N]
#
# Over a generated site with known truth (crates/city/src/trap_web.rs): the detector alone with 21,000 honest pages
# and eighteen kinds of traps, then the real program over HTTP on a smaller one. MISSED, and an error at the end, where a goal is
# missed.
set -euo pipefail
cargo build --release --workspace --bins --examples
exec target/release/examples/traps --program target/release/teia "$@"
