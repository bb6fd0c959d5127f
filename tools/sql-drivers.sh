#!/bin/sh
# Makes a Python environment with the drivers of the databases that `./dev bench search` compares with.
#
#   tools/sql-drivers.sh DIR
#
# Needs Python 3.9 or later and PyPI. Does nothing where DIR already has these versions.
set -eu

[ $# -eq 1 ] || { echo "say where: tools/sql-drivers.sh DIR" >&2; exit 2; }
dir=$1
wanted="PyMySQL==1.1.1 psycopg2-binary==2.9.10"

if [ -x "$dir/bin/python" ] && [ "$(cat "$dir/teia-tools" 2>/dev/null)" = "$wanted" ]; then
    exit 0
fi
python3 -m venv "$dir"
# shellcheck disable=SC2086
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check $wanted
"$dir/bin/python" -c 'import pymysql, psycopg2'
echo "$wanted" >"$dir/teia-tools"
