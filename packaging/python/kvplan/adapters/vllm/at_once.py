"""How many requests the release's own scheduler runs at once.

The scheduler is built as the engine's core builds it and runs requests through schedule() and update_from_output(), with
as many steps in flight as the config has. Requests come one after another: each is prefilled in the scheduler's chunks,
decodes its last tokens, and is then parked: it keeps its blocks and is asked for no more. The count ends at the first
request that is not admitted or is preempted. So the parked are requests of full length; max_num_seqs does not enter.
"""
from collections import deque

import plan
from vllm.config import set_current_vllm_config

K = 1024
ANSWER = 64  # tokens that are decoded
MOST = 4000
LENGTHS = {"8k": [8 * K], "32k": [32 * K], "mix": [2 * K, 32 * K]}


class NoImages:
    """The budget for multimodal input of a model whose requests have only text."""

    encoder_compute_budget = encoder_cache_size = 0
    mm_max_toks_per_item = {}

    def __init__(self, *a, **k):
        pass


class NoGrammar:
    """Replaces the grammar manager: no request uses a grammar."""

    @staticmethod
    def accept_tokens(*a, **k):
        return True

    @staticmethod
    def should_advance(*a, **k):
        return False

    @staticmethod
    def grammar_init(*a, **k):
        pass


def make_scheduler(config, kv):
    import vllm.v1.core.sched.scheduler as module
    from vllm.utils.hashing import sha256
    from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
    module.MultiModalBudget = NoImages
    config.cache_config.num_gpu_blocks = kv.num_blocks
    block, hash_block = plan.planning("resolve_kv_cache_block_sizes")(kv, config)
    scheduler = config.scheduler_config.get_scheduler_cls()(
        vllm_config=config, kv_cache_config=kv, structured_output_manager=NoGrammar, block_size=block, hash_block_size=hash_block,
        log_stats=False)
    if not config.cache_config.enable_prefix_caching:
        return scheduler, None
    init_none_hash(sha256)
    return scheduler, get_request_block_hasher(hash_block, sha256)


def count(config, kv, lengths, shared=0):
    """Adds requests with these lengths in turn; their first `shared` tokens are the same."""
    from vllm.sampling_params import SamplingParams
    from vllm.v1.request import Request
    scheduler, hasher = make_scheduler(config, kv)
    depth = getattr(config, "max_concurrent_batches", 2 if config.scheduler_config.async_scheduling else 1)  # 0.22: of the executor
    for parked in range(MOST):
        length = lengths[parked % len(lengths)]
        prompt = [0] * shared + [parked + 1] * (length - ANSWER - shared)
        request = Request(request_id=str(parked), prompt_token_ids=prompt, pooling_params=None, block_hasher=hasher,
                          sampling_params=SamplingParams(max_tokens=4 * ANSWER, ignore_eos=True))
        scheduler.add_request(request)
        if not admitted(scheduler, request, length, depth):
            return parked
        assert not request.is_finished(), request.status
        assert scheduler.running == [request]
        scheduler.running.clear()
    return MOST


def admitted(scheduler, request, length, depth):
    """Runs the only request to its full length with `depth` steps in flight. False if it does not fit."""
    from vllm.v1.request import RequestStatus
    flying, idle = deque(), 0
    while request.num_computed_tokens < length - 2:
        step = scheduler.schedule()
        if request.status == RequestStatus.PREEMPTED:
            return False
        idle = 0 if step.total_num_scheduled_tokens else idle + 1
        if idle > depth:
            return False  # waits, and nothing is in flight that could free a block
        flying.append(step)
        while len(flying) >= depth:
            settle(scheduler, flying.popleft(), request)
    while flying:
        settle(scheduler, flying.popleft(), request)
    return True


def settle(scheduler, step, request):
    """The model's result of a step: a token, if the prompt is complete."""
    from vllm.v1.outputs import ModelRunnerOutput
    names = list(step.num_scheduled_tokens)
    if not names:
        return
    sampled = [[7] if end_of(step, request) >= request.num_prompt_tokens else []]
    scheduler.update_from_output(step, ModelRunnerOutput(req_ids=names, req_id_to_index={n: i for i, n in enumerate(names)},
                                                         sampled_token_ids=sampled))


def end_of(step, request):
    """Tokens of the only running request that are computed after this step."""
    new = {r.req_id: r.num_computed_tokens for r in step.scheduled_new_reqs}
    old = dict(zip(step.scheduled_cached_reqs.req_ids, step.scheduled_cached_reqs.num_computed_tokens))
    return {**old, **new}[request.request_id] + step.num_scheduled_tokens[request.request_id]


def rows(case):
    """For each memory size: how many requests fit by the log's figure and by the scheduler."""
    planned, config, caches = plan.run(case)
    caching, longest = case["args"]["enable_prefix_caching"], planned["max_model_len"]
    doubt = {"artefact": True} if "artefact" in planned else {}
    for sized, kv in zip(planned["plans"], caches):
        row = {**doubt, "mem": sized["mem"], "max_model_len": longest, "chunk": planned["max_num_batched_tokens"],
               "in_flight": planned.get("in_flight"), "prefix_caching": caching, "mamba_mode": planned.get("mamba_mode"),
               "cache_dtype": planned["cache_dtype"]}
        if kv is None:
            row.update(printed_concurrency=None, at_once=None, **{k: v for k, v in sized.items() if k != "mem"})
        else:
            row.update(blocks=sized["blocks"], groups=sized["groups"], scheduler=config.scheduler_config.get_scheduler_cls().__name__,
                       printed_concurrency=round(sized["concurrency"], 4))
            with set_current_vllm_config(config, check_compile=False):
                row["at_once"] = {name: count(config, kv, lengths) if max(lengths) <= longest else None
                                  for name, lengths in LENGTHS.items()}
                row["at_once"]["shared"] = count(config, kv, [32 * K], 16 * K) if caching and longest >= 32 * K else None
        yield row
