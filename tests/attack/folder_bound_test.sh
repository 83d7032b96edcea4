#!/bin/sh
# A folder of models that each reach the limit for one model: all of them together are limited too, and the report says
# which are left out.
set -u
kvplan=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
mkdir models
# 4,900 expressions. Matching them takes the time that one list is allowed.
awk 'BEGIN {
  for (i = 0; i < 100; ++i) any = any ".*"
  printf "{\"model_type\":\"llama\",\"hidden_size\":4096,\"num_attention_heads\":32,\"num_hidden_layers\":512,"
  printf "\"vocab_size\":1000,\"intermediate_size\":64,\"max_position_embeddings\":4096,\"quantization_config\":"
  printf "{\"quant_method\":\"compressed-tensors\",\"config_groups\":{\"g\":{\"weights\":{\"num_bits\":4,\"type\":\"int\"},"
  printf "\"targets\":["
  for (i = 0; i < 4900; ++i) printf "%s\"re:%s%d\"", i ? "," : "", any, i
  print "]}}}}"
}' >models/m100.json
i=100
while [ $i -lt 220 ]; do
  i=$((i + 1))
  ln models/m100.json models/m$i.json
done
limit=40
ulimit -t $limit # seconds of CPU time
"$kvplan" ./models --engine vllm --gpu h100-80gb >out 2>err
code=$?
[ $code = 2 ] || { echo "folder_bound_test: exit $code: $(head -c 300 err)" >&2; failed=1; }
[ "$(wc -l <err)" = 121 ] || { echo "folder_bound_test: not a line for each model" >&2; failed=1; }
grep -q 'm220.json: the models before it took 1[0-9] seconds' err || { tail -n 1 err >&2; failed=1; }
grep -q 'm100.json: "targets" of the quantization config' err || { head -n 1 err >&2; failed=1; }
# One such model on many GPUs is matched only once.
ulimit -t 5
"$kvplan" compare models/m100.json --engine vllm --gpu rtx-4090,l40s,h100-80gb,h200,a100-80gb,b200,l4,t4 >out 2>err
code=$?
[ $code = 2 ] || { echo "folder_bound_test: compare ends with $code: $(head -c 300 err)" >&2; failed=1; }
exit $failed
