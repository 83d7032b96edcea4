#!/bin/sh
# Installs node-llama-cpp in a temporary folder and runs the live check with its llama.cpp. Needs node, npm and network.
# Usage: run.sh [--save FILE] [path/to/kvplan] [architecture]; exit status 0 if all agree, 77 if it could not run.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = --save ]; then
  LIVE_SAVE=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
  export LIVE_SAVE
  shift 2
fi
kvplan=${1:-$here/../../build/kvplan}
[ $# -gt 0 ] && shift
version=3.22.1
skip() {
  echo "SKIPPED, nothing was checked: $1" >&2
  exit 77
}
command -v node > /dev/null 2>&1 || skip "node is not installed"
command -v npm > /dev/null 2>&1 || skip "npm is not installed"
[ -x "$kvplan" ] || skip "$kvplan is no program; build it first"
kvplan=$(cd "$(dirname "$kvplan")" && pwd)/$(basename "$kvplan")
# LLAMA_LIVE_DIR keeps an installation for the next run.
folder=${LLAMA_LIVE_DIR:-$(mktemp -d)}
[ -n "${LLAMA_LIVE_DIR:-}" ] || trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder"
cd "$folder"
if [ ! -d node_modules/node-llama-cpp ]; then
  echo '{"private": true}' > package.json
  npm install --ignore-scripts --no-audit --no-fund --omit=optional "node-llama-cpp@$version" > npm.log 2>&1 ||
    skip "npm could not install node-llama-cpp (see $folder/npm.log)"
  npm install --ignore-scripts --no-audit --no-fund --no-save "@node-llama-cpp/linux-x64@$version" >> npm.log 2>&1 ||
    skip "npm could not install the library (see $folder/npm.log)"
fi
cp "$here/live.mjs" "$here/models.mjs" .
node live.mjs "$kvplan" "$@"
