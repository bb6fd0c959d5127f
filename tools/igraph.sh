#!/bin/sh
# Makes a Python environment with igraph, which `./dev bench pagerank` compares with.
#
#   tools/igraph.sh DIR
#
# Needs Python 3.9 or later and PyPI. Does nothing where DIR already has these versions.
set -eu

[ $# -eq 1 ] || { echo "say where: tools/igraph.sh DIR" >&2; exit 2; }
dir=$1
wanted="igraph==1.0.0 numpy==2.4.6"

if [ -x "$dir/bin/python" ] && [ "$(cat "$dir/teia-tools" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
python3 -m venv "$dir"
# shellcheck disable=SC2086
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check $wanted
"$dir/bin/python" -c 'import igraph, numpy'
echo "$wanted" >"$dir/teia-tools"
