"""The contexts that are created for a model, as words of the probe (probe.cpp): settings of llama_context_params and of the load."""

EXPERTS_OF_ALL = r"ot=\.ffn_(up|down|gate|gate_up)_(ch|)exps"
EXPERTS_OF_20 = r"ot=blk\.([0-9]|1[0-9])\.ffn_(up|down|gate|gate_up)_(ch|)exps"

ONE_GPU = [
    "n_ctx=8192 n_outputs=1",
    "n_ctx=32768 n_outputs=1",
    "n_ctx=131072 n_outputs=1",
    "n_ctx=5000 n_outputs=1",
    "n_ctx=16384 n_seq=4 unified=1 n_outputs=4",
    "n_ctx=16384 n_seq=3 n_outputs=3",
    "n_ctx=16384 n_outputs=1 type_k=q8_0 type_v=q8_0",
    "n_ctx=131072 n_outputs=1 type_k=q8_0 type_v=q8_0",
    "n_ctx=16384 n_outputs=1 type_k=q8_0 type_v=q4_0",
    "n_ctx=16384 n_outputs=1 type_k=q4_0 type_v=q4_0",
    "n_ctx=8192 n_outputs=1 type_k=bf16 type_v=bf16",
    "n_ctx=8192 n_outputs=1 fa=off",
    "n_ctx=32768 n_outputs=1 n_ubatch=2048",
    "n_ctx=32768 n_outputs=1 n_ubatch=128",
    "n_ctx=32768 n_outputs=1 swa_full=1",
    "n_ctx=8192",
    "n_ctx=8192 n_seq=8 n_outputs=8 unified=1 n_ubatch=1024",
    "n_ctx=16384 n_outputs=1 offload_kqv=0",
]
PLACED = [
    "n_ctx=16384 n_outputs=1 ngl=0",
    "n_ctx=16384 n_outputs=1 ngl=1",
    "n_ctx=16384 n_outputs=1 ngl=HALF",
    "n_ctx=16384 n_outputs=1 ngl=HALF n_ubatch=2048",
]
EXPERTS = [
    "n_ctx=16384 n_outputs=1 " + EXPERTS_OF_ALL,
    "n_ctx=16384 n_outputs=1 n_ubatch=2048 " + EXPERTS_OF_ALL,
    "n_ctx=16384 n_outputs=1 " + EXPERTS_OF_20,
]
RULES = [  # what the library takes or refuses by rule
    "n_ctx=8192 n_outputs=1 type_k=f16 type_v=q8_0",
    "n_ctx=8192 n_outputs=1 type_k=q8_0 type_v=f16",
    "n_ctx=8192 n_outputs=1 type_k=q8_0 type_v=q8_0 fa=off",
    "n_ctx=8192 n_outputs=1 type_k=q8_0 type_v=f16 fa=off",
    "n_ctx=65536 n_seq=257 n_outputs=257",
]
TWO_GPUS = [
    "n_ctx=16384 n_outputs=1",
    "n_ctx=16384 n_seq=4 unified=1 n_outputs=4",
    "n_ctx=32768 n_outputs=1 n_ubatch=2048",
    "n_ctx=16384 n_outputs=1 split=3,1",
    "n_ctx=16384 n_outputs=1 sm=none",
    "n_ctx=16384 n_outputs=1 ngl=HALF",
    "n_ctx=8192",
]
FIXTURE = [
    "n_ctx=4096 n_outputs=1",
    "n_ctx=8192 n_seq=3 n_outputs=3",
    "n_ctx=16384 n_seq=2 n_outputs=2 n_ubatch=128 fa=off",
    "n_ctx=8192 n_outputs=1 type_k=q8_0 type_v=q8_0 swa_full=1",
    "n_ctx=16384 n_seq=4 unified=1 n_outputs=4",
]


def number_of(row, key):
    """A number from the architecture's metadata; 0 if it is missing."""
    return row["metadata"].get(row["metadata"]["general.architecture"][1] + "." + key, ["u32", 0])[1]


def of(row, gpus):
    """The cases of a row of llama.cpp-models.jsonl on this many GPUs."""
    if row["model"].startswith("fixture:"):
        return FIXTURE if gpus == 1 else []
    experts = EXPERTS if number_of(row, "expert_count") else []
    cases = [*ONE_GPU, *PLACED, *experts, *RULES] if gpus == 1 else [*TWO_GPUS, *experts]
    return [case.replace("HALF", str(number_of(row, "block_count") // 2)) for case in cases]
