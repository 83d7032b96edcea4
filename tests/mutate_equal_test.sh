#!/bin/sh
# Every line of scripts/mutate.equal must describe a mutant of exactly one place in the sources. Otherwise it proves
# nothing.
set -eu
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 0; }
python3 "$2/scripts/mutate" --list --sample 0
