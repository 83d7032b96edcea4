#!/bin/sh
# Every line of scripts/mutate.equal is a mutant of one place in the sources: one that is not proves nothing.
set -eu
command -v python3 >/dev/null || { echo "no python3: skipped"; exit 0; }
python3 "$2/scripts/mutate" --list --sample 0
