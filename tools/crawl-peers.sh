#!/usr/bin/env bash
# Installs the peers of `./dev bench crawl` under target/, and whatever of them Debian has: wget, wget2, httrack.
# A peer that cannot be had is left out of the bench, which says so.
set -uo pipefail
cd "$(dirname "$0")/.."

tools/install-packages.sh wget wget2 httrack python3-venv || echo "some Debian packages are missing" >&2

scrapy=target/tools/scrapy
if ! "$scrapy/bin/python" -c 'import scrapy' 2>/dev/null; then
  echo "installing Scrapy into $scrapy"
  python3 -m venv "$scrapy" && "$scrapy/bin/pip" install --quiet --disable-pip-version-check 'scrapy==2.19.0' ||
    echo "Scrapy could not be installed" >&2
fi

spider=target/bench-spider
if [ ! -x "$spider/release/bench-spider" ]; then
  echo "building the spider crate into $spider (some minutes, at most 15)"
  (cd tools/bench-spider && timeout 900 cargo build --quiet --release --locked --target-dir "../../$spider") ||
    echo "the spider crate could not be built" >&2
fi
exit 0
