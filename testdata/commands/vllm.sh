pip install vllm
export HF_TOKEN=hf_x
CUDA_VISIBLE_DEVICES=0,1 vllm serve org/m --max_model_len 32k -tp 2 \
  --speculative-config '{"method": "mtp", "num_speculative_tokens": 3}' --served-model-name a b > log 2>&1 &
