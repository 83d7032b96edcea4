#!/bin/sh
MODEL=${MODEL:-org/m}
ARGS=(--tp 8 --mem-fraction 0.8)
for i in 1 2; do
  python3 -m sglang.launch_server --model-path "$MODEL" "${ARGS[@]}" | tee log
done
