#!/usr/bin/env bash
# ./dev soak power [SEEDS]: the engine over a disk whose power is cut, thousands of times.
set -euo pipefail
cd "$(dirname "$0")/.."
TEIA_SEEDS=${1:-5000} cargo test --release -p teia-engine --test power_cut -- --nocapture
# And every call to the disk of a small crawl fails once.
TEIA_CALLS=1 cargo test --release -p teia-engine --test failing_disk -- --nocapture
