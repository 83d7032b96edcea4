#!/bin/sh
# Runs the programs of examples/ without a network. tests/package/install_test.sh builds the C++ example.
set -u
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
wrong() { echo "examples_test: $*" >&2; failed=1; }
mkdir "$work/bin"
ln -s "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")" "$work/bin/kvplan"
PATH=$work/bin:$PATH HF_HUB_OFFLINE=1 HOME=$work
export PATH HF_HUB_OFFLINE HOME
cd "$work" || exit 1

# ci: 16-bit weights of 8 billion parameters with 8k tokens fit 22 GiB. Those of 32 billion do not.
"$source/examples/ci/check" "$source/testdata/configs/llama-3.1-8b.json" >out 2>&1 || wrong "ci/check: $(cat out)"
"$source/examples/ci/check" "$source/testdata/configs/deepseek-v3.json" >out 2>&1 && wrong "ci/check: 671 billion parameters fit an l4"
"$source/examples/ci/check" "$source/testdata/configs/llama-3.1-8b.json" "$source/testdata/configs/qwen3-0.6b.json" >out 2>&1 &&
  wrong "ci/check: 8 billion parameters are no more than 0.6"
# The example's workflow only uses inputs that the action has.
sed -n 's/^          \([a-z-]*\):.*/\1/p' "$source/examples/ci/github.yml" | while read -r input; do
  [ "$input" = fetch-depth ] || grep -q "^  $input:" "$source/packaging/action/action.yml" || echo "$input"
done >inputs
[ ! -s inputs ] || wrong "ci/github.yml: the action has no $(cat inputs)"

# kubernetes: only a plan that fits is applied.
printf '#!/bin/sh\necho "$@" >>"%s/applied"\n' "$work" >bin/kubectl
chmod +x bin/kubectl
"$source/examples/kubernetes/deploy" Qwen/Qwen3-8B h100-80gb >out 2>&1 || wrong "kubernetes/deploy: $(cat out)"
[ "$(cat applied 2>/dev/null)" = "apply -f manifest.yaml" ] || wrong "kubernetes/deploy did not apply its manifest"
grep -q '^kind: Deployment$' manifest.yaml || wrong "kubernetes/deploy: no Deployment in $(cat manifest.yaml)"
rm -f applied
"$source/examples/kubernetes/deploy" deepseek-ai/DeepSeek-V3 l4 >out 2>&1 && wrong "kubernetes/deploy: 671 billion parameters fit an l4"
[ ! -e applied ] || wrong "kubernetes/deploy applied what does not fit"

command -v python3 >/dev/null || { echo "examples_test: no python3: Python and MCP are left out" >&2; exit $failed; }
PYTHONPATH=$source/packaging/python PYTHONDONTWRITEBYTECODE=1 python3 "$source/examples/python/which_cards.py" >out 2>&1 ||
  wrong "python/which_cards.py: $(cat out)"
[ "$(grep -c tokens out)" = 4 ] && tail -n 1 out | grep -q '^fits ' || wrong "python/which_cards.py says: $(cat out)"
PYTHONPATH=$source/packaging/python PYTHONDONTWRITEBYTECODE=1 python3 "$source/examples/python/which_cards.py" nobody/nothing >out 2>&1 &&
  wrong "python/which_cards.py plans what is not there"
grep -q '^kvplan: ' out || wrong "python/which_cards.py: no line of the program: $(cat out)"
# mcp: packaging/python/tests starts the server that it names.
python3 -c "
import json, sys
server = json.load(open(sys.argv[1]))['mcpServers']['kvplan']
assert server['command'] == 'kvplan-mcp' and set(server) <= {'command', 'args', 'env'}" "$source/examples/mcp/client.json" || wrong "mcp/client.json"
exit $failed
