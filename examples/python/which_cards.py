"""Which of these GPUs run the model, and with how long a context? python which_cards.py MODEL"""

import sys

import kvplan

CARDS = ["rtx-3060", "rtx-4090", "l40s", "h100-80gb"]


def main(model: str) -> int:
    grid = kvplan.plan(model, engine="vllm", gpu=CARDS, max_model_len="auto")
    for row in grid.rows():  # pandas.DataFrame(grid.rows()) is the same table
        print(f"{row['gpu']:>10}  {row['verdict'] or row['error']:<12}  {row['longest_context'] or 0:>8} tokens")
    plan = kvplan.plan(command=f"vllm serve {model} --max-model-len 8192", gpu="l40s")
    print(plan["verdict"]["status"], plan["verdict"]["reason"])
    return 0 if plan["verdict"]["status"] == "fits" else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "Qwen/Qwen3-8B"))
    except kvplan.KvplanError as error:
        sys.exit(error.line)
