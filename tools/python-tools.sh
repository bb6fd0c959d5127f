#!/bin/sh
# Makes a Python environment with the independent readers that the archive's tests compare with, and
# with what drives a browser over the pages (the browser itself is Debian's chromium), and with what tries the
# API by its description (schemathesis), and with what reads tables back (pyarrow).
#
#   tools/python-tools.sh DIR      then: TEIA_PYTHON=DIR/bin/python ./dev test
#
# Needs Python 3.9 or later and PyPI. Does nothing where DIR already has these versions.
set -eu

[ $# -eq 1 ] || { echo "say where: tools/python-tools.sh DIR" >&2; exit 2; }
dir=$1
wanted="warcio==1.8.1 pywb==2.10.0 cdxj-indexer==1.5.0 surt==0.3.1 playwright==1.65.0 axe-playwright-python==0.1.8 schemathesis==4.32.5 pyarrow==26.0.1"

if [ -x "$dir/bin/python" ] && [ "$(cat "$dir/teia-tools" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
python3 -m venv "$dir"
# shellcheck disable=SC2086
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check $wanted
# pywb still asks for pkg_resources, which newer setuptools no longer have.
"$dir/bin/python" -c 'import pkg_resources' 2>/dev/null ||
    "$dir/bin/python" -m pip install --quiet --disable-pip-version-check 'setuptools<81'
"$dir/bin/python" -W ignore -c 'import pywb.apps.frontendapp, warcio, cdxj_indexer, surt, playwright, axe_playwright_python, schemathesis, pyarrow.parquet'
echo "$wanted" >"$dir/teia-tools"
