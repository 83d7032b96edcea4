"""Counts the requests that SGLang's own scheduler (until 0.5.16) runs at once in pools of a given size. driven.py says how. In these releases the
scheduler makes its own prefix tree and processes results itself."""
import collections
import functools
import types

import driven
import torch
from driven import InTorch, decode
from sglang.srt.mem_cache import allocator, common, memory_pool
from sglang.srt.model_executor import model_runner_kv_cache_mixin as pools
from sglang.srt.model_executor.model_runner import ModelRunner
from without_card import Ranks

KV_POOLS = ("MHATokenToKVPool", "MHATokenToKVPoolFP4", "MLATokenToKVPool", "MLATokenToKVPoolFP4", "NSATokenToKVPool", "DSATokenToKVPool",
            "SWAKVPool", "HybridLinearKVPool")


class States(memory_pool.MambaPool):
    """States without memory; the list of free slots is real."""

    def __init__(self, **how):
        super().__init__(**{**how, "device": "meta"})
        self.device = "cpu"
        self.clear()


def extend(prefix_lens, seq_lens, last_loc, free_pages, out, _, page_size, most):
    from sglang.srt.hardware_backend.npu.allocator_npu import _alloc_extend_naive

    _alloc_extend_naive(prefix_lens, seq_lens, last_loc, free_pages, out, page_size, "cpu")


def on_meta(pool):
    def init(self, *args, **how):
        pool.__init__(self, *args, **{**how, "device": "meta"})

    return type(pool.__name__, (pool,), {"__init__": init})


def without_kernels():
    """Uses the release's torch code instead of its Triton kernels; K, V and states have no memory."""
    common.support_triton = lambda backend: False
    common.get_last_loc_triton = common.get_last_loc_torch
    allocator.alloc_extend_kernel, allocator.alloc_decode_kernel = InTorch(extend), InTorch(decode)
    torch.Tensor.pin_memory = lambda tensor, *args: tensor
    memory_pool.MambaPool = States
    for name in filter(functools.partial(hasattr, pools), KV_POOLS):
        setattr(pools, name, on_meta(getattr(pools, name)))


def worker_for(engine, mem):
    """The parts of a worker that the scheduler uses."""
    runner = engine.runner
    engine.leave(mem)
    runner.device = "cpu"
    ModelRunner.init_memory_pool(runner, engine.free_before)
    return types.SimpleNamespace(
        model_runner=runner, is_hybrid_swa=runner.is_hybrid_swa, sliding_window_size=runner.sliding_window_size,
        get_memory_pool=lambda: (runner.req_to_token_pool, runner.token_to_kv_pool_allocator),
        get_tokens_per_layer_info=lambda: (runner.full_max_total_num_tokens, runner.swa_max_total_num_tokens))


class Driven(driven.Driven):
    tokens = staticmethod(list)

    def __init__(self, engine, mem):
        from sglang.srt.disaggregation.utils import DisaggregationMode
        from sglang.srt.managers.scheduler import Scheduler

        worker = worker_for(engine, mem)
        runner, args, most = worker.model_runner, engine.args, engine.most_requests()
        self.sizes, self.it = engine.sizes(), Scheduler.__new__(Scheduler)
        args.pp_max_micro_batch_size = most
        longest = min(engine.config.context_len, runner.max_token_pool_size) - 1
        vars(self.it).update(
            server_args=args, model_config=engine.config, tp_worker=worker, model_worker=worker, draft_worker=None, device="cpu",
            spec_algorithm=runner.spec_algorithm, page_size=args.page_size, is_generation=True, pp_rank=0, pp_size=1, tp_rank=0,
            attn_tp_rank=0, tp_cpu_group=None, attn_tp_cpu_group=None, tp_group=Ranks(engine.tp), full_tokens_per_layer=None,
            max_total_num_tokens=runner.max_total_num_tokens, max_prefill_tokens=args.max_prefill_tokens, max_running_requests=most,
            max_queued_requests=None, max_req_len=longest, max_req_input_len=longest - 5, schedule_policy=args.schedule_policy,
            enable_priority_scheduling=False, schedule_low_priority_values_first=False, abort_on_priority_when_disabled=False,
            priority_scheduling_preemption_threshold=args.priority_scheduling_preemption_threshold,
            enable_overlap=not args.disable_overlap_schedule, enable_lora=False, enable_hierarchical_cache=False,
            enable_hicache_storage=False, enable_metrics=False, enable_kv_cache_events=False, current_scheduler_metrics_enabled=False,
            dllm_config=None, disaggregation_mode=DisaggregationMode.NULL, require_mlp_sync=False, temp_prefill_info=None,
            num_generated_tokens=0, forward_ct_decode=0, stream_interval=args.stream_interval, stream_output=lambda *args: None,
            grammar_manager=driven.Ignores(has_waiting_grammars=lambda: False), result_queue=collections.deque())
        for step in ("init_cache_with_memory_pool", "init_running_status", "init_chunked_prefill", "init_diffusion_llm",
                     "init_schedule_policy", "init_deterministic_inference_config"):
            getattr(self.it, step)()

    def step(self):
        """One iteration of the scheduler's loop. If the scheduler overlaps batches, it processes a batch's result after choosing the next batch."""
        from sglang.srt.managers.utils import GenerationBatchResult

        it = self.it
        batch = it.get_next_batch_to_run()
        if batch:
            batch.output_ids = torch.full((batch.batch_size(),), 7, dtype=torch.int64)
            it.result_queue.append((batch.copy(), GenerationBatchResult(next_token_ids=batch.output_ids)))
        while len(it.result_queue) > (1 if it.enable_overlap and batch else 0):
            done, result = it.result_queue.popleft()
            handle = it.process_batch_result_decode if done.forward_mode.is_decode() else it.process_batch_result_prefill
            handle(done, result)
        it.last_batch = batch
        return batch


def ask(engine, mem, name):
    scheduler = Driven(engine, mem)
    named = (("tokens", "max_total_num_tokens"), ("max_running_requests",) * 2, ("swa_tokens", "swa_max_total_num_tokens"))
    pools = {ours: scheduler.sizes[its] for ours, its in named if its in scheduler.sizes}
    return {"pools": pools, **scheduler.answer(name)}
