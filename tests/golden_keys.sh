#!/bin/sh
# The keys of every bundled config in the order in which they were read: `golden_keys.sh KVPLAN`, from the source
# folder. If a call reads keys in two of its arguments, their order depends on the compiler.
set -u
kvplan=$1
golden=testdata/golden/keys.txt
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
for config in testdata/configs/*.json; do
  "$kvplan" "$config" --json >"$work/report" || exit 1
  sed -n 's/^ *"key": "\(.*\)",$/\1/p' "$work/report" >"$work/keys"
  [ -s "$work/keys" ] || { echo "golden_keys: the report of $config names no keys" >&2; exit 1; }
  echo "$(basename "$config" .json):" && sed 's/^/  /' "$work/keys"
done >"$work/now" || exit 1
if [ "${KVPLAN_UPDATE_GOLDEN:-}" = 1 ]; then
  cp "$work/now" "$golden"
elif ! diff -u "$golden" "$work/now"; then
  echo "golden: $golden differs; if that is meant: KVPLAN_UPDATE_GOLDEN=1 ctest -R '^golden'" >&2
  exit 1
fi
