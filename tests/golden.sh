#!/bin/sh
# One golden pair: `golden.sh KVPLAN NAME MODEL OPTIONS...`, from the source folder. The version is left out. The
# terminal's width has no effect, because standard output is a file.
set -u
kvplan=$1 name=$2
shift 2
unset NO_COLOR
folder=testdata/golden
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
for form in table json; do
  ending=$form
  [ "$form" = table ] && ending=txt
  "$kvplan" "$@" --color never --format "$form" >"$work/raw" 2>"$work/err"
  code=$?
  if [ "$code" -gt 1 ]; then
    cat "$work/err"
    exit 1
  fi
  sed 's/"kvplan_version": "[^"]*"/"kvplan_version": "0.0.0"/' "$work/raw" >"$work/now"
  golden=$folder/$name.$ending
  if [ "${KVPLAN_UPDATE_GOLDEN:-}" = 1 ]; then
    mkdir -p "$folder" && cp "$work/now" "$golden" || exit 1
  elif ! diff -u "$golden" "$work/now"; then
    echo "golden: $golden differs; if that is meant: KVPLAN_UPDATE_GOLDEN=1 ctest -R '^golden'" >&2
    failed=1
  fi
done
exit $failed
