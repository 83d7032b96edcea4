#!/bin/sh
# The shell lines of docs/ci.md, cut out of it and run with the built program in a repository of two commits.
set -u
kvplan=$1
source=$2
for tool in bash git awk; do
  command -v $tool >/dev/null 2>&1 || { echo "ci_test: SKIPPED: no $tool" >&2; exit 0; }
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# Each block scalar (`run: |`, `- |`) of the page becomes a file: 1 builds, 2 plans, 3 compares; 4 and 5 are GitLab's.
awk -v folder="$work" '
  block && /[^ ]/ { match($0, /^ */); if (RLENGTH <= indent) block = 0 }
  block { print substr($0, strip + 1) > (folder "/block" count) }
  /(run:|-) \|$/ { match($0, /^ */); indent = RLENGTH; strip = indent + 2; block = 1; count++ }
' "$source/docs/ci.md"
[ -f "$work/block5" ] && [ ! -f "$work/block6" ] || { echo "ci_test: docs/ci.md has other blocks than expected" >&2; exit 1; }

mkdir "$work/bin" "$work/tmp" "$work/repo"
ln -s "$kvplan" "$work/bin/kvplan"
cd "$work/repo" || exit 1
export PATH="$work/bin:$PATH" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git init -q . && mkdir serving
config() { # KV HEADS
  printf '{"model_type":"llama","architectures":["LlamaForCausalLM"],"torch_dtype":"bfloat16","vocab_size":32000,%s' \
    "\"hidden_size\":4096,\"intermediate_size\":14336,\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":$1,\"max_position_embeddings\":32768}" >serving/config.json
}
commit() { git add -A && git -c user.name=t -c user.email=t@example.org commit -q -m "$1"; }
config 8 && commit "eight heads" && git branch base
git clone -q --bare . "$work/origin.git" && git remote add origin "$work/origin.git"

failed=0
block() { # WANTED NUMBER: runs a block as the pipelines do, and checks the exit code
  bash --noprofile --norc -eo pipefail "$work/block$2" >"$work/out" 2>"$work/err"
  code=$?
  [ "$code" -eq "$1" ] && return
  echo "ci_test: block $2 ended with $code, not $1" >&2
  cat "$work/out" "$work/err" >&2
  failed=1
}
has() { grep -q -e "$2" "$1" || { echo "ci_test: no \"$2\" in $1:" >&2; cat "$1" >&2; failed=1; }; }

export MODEL=serving/config.json OPTIONS="--max-model-len 32k" GITHUB_STEP_SUMMARY="$work/summary" RUNNER_TEMP="$work/tmp"
export MAX_VRAM=40GiB BASE=base FAIL_OVER=5% CI_MERGE_REQUEST_DIFF_BASE_SHA
CI_MERGE_REQUEST_DIFF_BASE_SHA=$(git rev-parse base)
block 0 2
has "$work/out" '^::notice '
has "$work/summary" '| Memory |'
MAX_VRAM=8GiB block 1 2
has "$work/out" '^::error '
MAX_VRAM= OPTIONS= block 0 2
MODEL=nowhere.json block 2 2
MAX_VRAM="8 GiB; touch $work/injected" block 2 2
[ -e "$work/injected" ] && { echo "ci_test: an input was run as shell" >&2; failed=1; }
block 0 3
config 32 && commit "more heads"
block 1 3
has "$work/summary" 'num_key_value_heads 8 -> 32'
FAIL_OVER= block 0 3
FAIL_OVER=100GiB block 0 3
block 0 4
has kvplan.md 'num_key_value_heads 8 -> 32'
has kvplan.html '</html>'
block 1 5
FAIL_OVER=100GiB MAX_VRAM=80GiB block 0 5
FAIL_OVER=100GiB MAX_VRAM=1GiB block 1 5

# The one-liners of the table.
config 8
for line in "config.json --max-model-len 32k --max-vram 24GiB" "config.json --gpu l4 --max-model-len 32k" \
  "config.json --max-vram 24GiB --format github" "config.json --format markdown"; do
  has "$source/docs/ci.md" "kvplan $line"
  # shellcheck disable=SC2086  # a list of words
  kvplan ${line#config.json} serving/config.json >"$work/out" 2>&1
  [ $? -le 1 ] || { echo "ci_test: kvplan $line failed" >&2; cat "$work/out" >&2; failed=1; }
done
exit $failed
