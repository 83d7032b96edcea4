#!/bin/sh
# The list of models that engines were run with agrees with the executed rows.
set -u
command -v python3 >/dev/null || { echo "executed_models_test: SKIPPED: no python3" >&2; exit 0; }
exec python3 "$2/scripts/executed_models.py" --check
