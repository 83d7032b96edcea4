OLLAMA_NUM_PARALLEL=4 ollama run qwen3:8b
mlx_lm.server --model m --kv-bits 8
mistralrs serve -m m --isq 4
numactl -N 1 trtllm-serve m --tp_size 2
