#!/bin/sh
# The program still gives the figures of the cross-validation.
set -u
kvplan=$1
cd "$2" || exit 1
command -v python3 >/dev/null || { echo "ranges_test: SKIPPED: no python3" >&2; exit 0; }
exec python3 scripts/ranges.py --kvplan "$kvplan" --check
