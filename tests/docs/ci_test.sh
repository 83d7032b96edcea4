#!/bin/sh
# Runs the GitHub action (packaging/action) and the shell lines of docs/ci.md with the built program, in a repository of
# two commits.
set -u
kvplan=$1
source=$2
for tool in bash git awk; do
  command -v $tool >/dev/null 2>&1 || { echo "ci_test: SKIPPED: no $tool" >&2; exit 0; }
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# Each block scalar (`- |`) of the page becomes a file: file 1 writes GitLab's artifacts, file 2 checks.
awk -v folder="$work" '
  block && /[^ ]/ { match($0, /^ */); if (RLENGTH <= indent) block = 0 }
  block { print substr($0, strip + 1) > (folder "/block" count) }
  /(run:|-) \|$/ { match($0, /^ */); indent = RLENGTH; strip = indent + 2; block = 1; count++ }
' "$source/docs/ci.md"
[ -f "$work/block2" ] && [ ! -f "$work/block3" ] || { echo "ci_test: docs/ci.md has other blocks than expected" >&2; exit 1; }

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

# Stands in for GitHub's client: it stores the comments of one pull request, one file per comment.
mkdir "$work/comments"
cat >"$work/bin/gh" <<'END'
#!/bin/bash
all=$*
echo "$all" >>"$COMMENTS.calls"
[ ! -e "$COMMENTS.refused" ] || { echo "HTTP 403" >&2; exit 1; }
case "$all" in
  "api --paginate repos/o/r/issues/7/comments --jq "*)
    mark=${all#*startswith(\"}
    grep -l -F -x -e "${mark%%\"*}" "$COMMENTS"/* 2>/dev/null | xargs -rn 1 basename ;;
  "api -X PATCH repos/o/r/issues/comments/"*) id=${4##*/}; [ -e "$COMMENTS/$id" ] && cp "${6#body=@}" "$COMMENTS/$id" ;;
  "api repos/o/r/issues/7/comments -F body=@"*) cp "${4#body=@}" "$COMMENTS/$(($(ls "$COMMENTS" | wc -l) + 1))" ;;
  *) exit 2 ;;
esac
END
chmod +x "$work/bin/gh"

failed=0
ended() { # WANTED NAME COMMAND...: runs it as the pipelines do, and checks the exit code
  wanted=$1
  name=$2
  shift 2
  bash --noprofile --norc -eo pipefail "$@" >"$work/out" 2>"$work/err"
  code=$?
  [ "$code" -eq "$wanted" ] && return
  echo "ci_test: $name ended with $code, not $wanted" >&2
  cat "$work/out" "$work/err" >&2
  failed=1
}
action() { ended "$1" "the action" "$source/packaging/action/plan"; }
block() { ended "$1" "block $2" "$work/block$2"; }
has() { grep -q -e "$2" "$1" || { echo "ci_test: no \"$2\" in $1:" >&2; cat "$1" >&2; failed=1; }; }
comments() { [ "$(ls "$work/comments" | wc -l)" -eq "$1" ] || { echo "ci_test: $(ls "$work/comments" | wc -l) comments, not $1" >&2; failed=1; }; }

# The script reads exactly the variables that the action sets.
for name in MODEL OPTIONS MAX_VRAM BASE FAIL_OVER PULL_REQUEST GH_TOKEN; do has "$source/packaging/action/action.yml" "^        $name: "; done
export MODEL=serving/config.json OPTIONS="--max-model-len 32k" GITHUB_STEP_SUMMARY="$work/summary" RUNNER_TEMP="$work/tmp"
export MAX_VRAM=40GiB BASE= FAIL_OVER=5% PULL_REQUEST= GITHUB_REPOSITORY=o/r COMMENTS="$work/comments"
action 0
has "$work/out" '^::notice '
has "$work/summary" '| Memory |'
[ ! -e "$COMMENTS.calls" ] || { echo "ci_test: a push has no comment" >&2; failed=1; }
PULL_REQUEST=7 action 0
comments 1
has "$work/comments/1" '^<!-- kvplan: serving/config.json -->$'
MAX_VRAM=8GiB PULL_REQUEST=7 action 1
has "$work/out" '^::error '
comments 1
has "$work/comments/1" 'DOES NOT FIT'
cp serving/config.json other.json
MODEL=other.json PULL_REQUEST=7 action 0
comments 2
rm other.json
MAX_VRAM= OPTIONS= action 0
MODEL=nowhere.json action 2
MAX_VRAM="8 GiB; touch $work/injected" action 2
BASE="base; touch $work/injected" action 2
[ -e "$work/injected" ] && { echo "ci_test: an input was run as shell" >&2; failed=1; }
touch "$COMMENTS.refused"
PULL_REQUEST=7 action 0
has "$work/out" '^::warning '
rm "$COMMENTS.refused"

export BASE=base
action 0
config 32 && commit "more heads"
PULL_REQUEST=7 action 1
has "$work/summary" 'num_key_value_heads 8 -> 32'
has "$work/comments/1" 'num_key_value_heads 8 -> 32'
FAIL_OVER= action 0
FAIL_OVER=100GiB action 0
FAIL_OVER=100GiB MAX_VRAM=8GiB action 1
cp serving/config.json new.json
MODEL=new.json action 0
has "$work/out" 'nothing to compare with'
rm new.json
# Names chosen by a pull request are neither options nor workflow commands.
for hostile in '--output=owned' '::error::x.json' '-h'; do
  cp serving/config.json "./$hostile"
  MODEL=$hostile action 0
  has "$work/out" 'nothing to compare with'
  grep -q '^::error' "$work/out" && { echo "ci_test: a file's name is a command" >&2; failed=1; }
  [ -e owned ] && { echo "ci_test: a file's name is an option" >&2; failed=1; }
  rm "./$hostile"
done

CI_MERGE_REQUEST_DIFF_BASE_SHA=$(git rev-parse base)
export CI_MERGE_REQUEST_DIFF_BASE_SHA
block 0 1
has kvplan.md 'num_key_value_heads 8 -> 32'
has kvplan.html '</html>'
block 1 2
FAIL_OVER=100GiB MAX_VRAM=80GiB block 0 2
FAIL_OVER=100GiB MAX_VRAM=1GiB block 1 2

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
