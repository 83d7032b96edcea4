#!/bin/sh
# On a real GPU: measured and planned caches of several models agree, even if the GPU is too small for the weights. Exit code
# 77: there is no GPU.
set -u
kvplan=$1
cd "$2" || exit 1
llama=testdata/configs/llama-3.1-8b.json
"$kvplan" "$llama" --measure --max-model-len 1k >/dev/null 2>&1
if [ $? -eq 5 ]; then
  echo "real_gpu: SKIPPED: no GPU on this machine, so nothing was measured on one" >&2
  exit 77
fi
failed=0
for model in llama-3.1-8b qwen3-0.6b gpt-oss-20b deepseek-v3 qwen3.5-27b gemma-4-26b falcon-h1-1.5b mamba-2.8b; do
  for engine in vllm sglang transformers; do
    "$kvplan" "testdata/configs/$model.json" --engine $engine --max-model-len 16k --measure >/tmp/real_gpu.$$ 2>&1
    grep -q "^AGREES" /tmp/real_gpu.$$ ||
      { failed=1; echo "real_gpu: $model under $engine" >&2; cat /tmp/real_gpu.$$ >&2; }
    rm -f /tmp/real_gpu.$$
  done
done
exit $failed
