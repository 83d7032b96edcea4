docker run --gpus '"device=0"' -e A=1 vllm/vllm-openai:v0.12.0 --model org/m -cc '{"mode": 3}'
