"""Counts the requests that SGLang's own scheduler (since 0.5.17) runs at once in pools of a given size. driven.py says how."""
import array
import collections
import types

import driven
import torch
from driven import Ignores, InTorch, decode
from of_configurator import kv_pool
from without_card import fitting


def without_pinning(function):
    return lambda *args, pin_memory=False, **kwargs: function(*args, **kwargs)


def without_kernels():
    """Uses the release's torch code instead of its Triton kernels, and states without memory."""
    from sglang.srt.mem_cache import allocation, memory_pool
    from sglang.srt.mem_cache.allocator import paged, swa

    allocation.support_triton = lambda backend: False
    allocation.get_last_loc_triton = allocation.get_last_loc_torch
    real = paged.PagedTokenToKVPoolAllocator.__init__

    def init(self, *args, **kwargs):
        real(self, *args, **kwargs)
        self.use_triton_kernels = False

    paged.PagedTokenToKVPoolAllocator.__init__ = init  # since 0.5.22
    paged.alloc_extend_kernel = InTorch(lambda prefixes, lengths, last, free, out, _, page_size: paged.alloc_extend_naive(
        prefixes, lengths, last, free, out, page_size, "cpu"))
    paged.alloc_decode_kernel = InTorch(decode)
    torch.Tensor.pin_memory = lambda tensor, *args: tensor
    torch.tensor = without_pinning(torch.tensor)
    states = memory_pool.HybridReqToTokenPool.mamba_pool_cls
    memory_pool.HybridReqToTokenPool.mamba_pool_cls = staticmethod(lambda **how: states(**{**how, "device": "meta"}))


def worker_for(engine, mem):
    """The parts of a worker that the scheduler uses: its pools and their sizes."""
    from sglang.srt import runtime_context as context
    from sglang.srt.mem_cache import kv_cache_configurator as its

    made, sized = engine.sized_for(mem)
    sizes = made._derive_pool_sizes(config=sized)
    made.device = "cpu"
    requests = made._build_req_to_token_pool(max_num_reqs=sizes.max_running_requests)
    pool = kv_pool(made, sizes, requests)
    made.device = "cpu"
    allocator = made._build_token_to_kv_pool_allocator(
        sizes=sizes, token_to_kv_pool=pool, is_dsv4_model=its.is_deepseek_v4(engine.config.hf_config),
        req_to_token_pool=requests, token_to_kv_pool_allocator=None)
    runner = types.SimpleNamespace(
        token_to_kv_pool=pool, model_config=engine.config, mtp_draft_device_pools=(), mtp_draft_mamba_pools=(),
        spec_algorithm=made.spec_algorithm, attn_backend=None, prefill_aware_swa=False)
    tokens = sizes.max_total_num_tokens
    if hasattr(made, "logical_token_capacity"):
        tokens = made.logical_token_capacity(max_total_num_tokens=tokens)
    return types.SimpleNamespace(
        model_runner=runner, is_hybrid_swa=made.is_hybrid_swa, sliding_window_size=made.sliding_window_size,
        get_memory_pool=lambda: (requests, allocator),
        get_tokens_per_layer_info=lambda: (sizes.full_max_total_num_tokens, sizes.swa_max_total_num_tokens),
        tokens=tokens,
        page_size=context.get_schedule().page_size, spec_algorithm=made.spec_algorithm, sizes=sizes)


class Driven(driven.Driven):

    @staticmethod
    def tokens(prompt):
        return array.array("q", prompt)

    def __init__(self, engine, mem):
        from sglang.srt import runtime_context as context
        from sglang.srt.disaggregation.utils import DisaggregationMode
        from sglang.srt.managers.scheduler import Scheduler
        from sglang.srt.mem_cache import kv_cache_builder

        self.worker = worker = worker_for(engine, mem)
        self.it = it = Scheduler.__new__(Scheduler)
        schedule = context.get_schedule()
        caches = fitting(
            kv_cache_builder.build_kv_cache, server_args=engine.args, model_config=engine.config, tp_worker=worker, page_size=worker.page_size,
            spec_algorithm=worker.spec_algorithm, enable_metrics=False, enable_kv_cache_events=False,
            enable_hierarchical_cache=False, pp_group=types.SimpleNamespace(cpu_group=None), ps=engine.ranks())
        for name in ("is_hybrid_swa", "is_hybrid_ssm", "sliding_window_size", "full_tokens_per_layer", "swa_tokens_per_layer",
                     "req_to_token_pool", "token_to_kv_pool_allocator", "disable_radix_cache", "tree_cache"):
            setattr(it, name, getattr(caches, name))
        context.get_context().override("at_once", pp_max_micro_batch_size=worker.sizes.max_running_requests)
        longest = min(engine.config.context_len, worker.tokens) - 1
        vars(it).update(
            server_args=engine.args, model_config=engine.config, tp_worker=worker, model_worker=worker, draft_worker=None, ps=engine.ranks(),
            spec_algorithm=worker.spec_algorithm, page_size=worker.page_size, device="cpu", is_generation=True,
            max_total_num_tokens=worker.tokens, max_prefill_tokens=schedule.max_prefill_tokens,
            max_running_requests=worker.sizes.max_running_requests, max_queued_requests=None, max_req_len=longest,
            max_req_input_len=longest - 5, max_new_tokens_limit=None, schedule_policy=schedule.schedule_policy,
            enable_priority_scheduling=False, schedule_low_priority_values_first=False, abort_on_priority_when_disabled=False,
            priority_scheduling_preemption_threshold=schedule.priority_scheduling_preemption_threshold,
            enable_overlap=not schedule.disable_overlap_schedule, enable_overlap_mlx=False, enable_lora=False,
            enable_hierarchical_cache=False, enable_hicache_storage=False, enable_lmcache=False, enable_hisparse=False,
            enable_unified_cache_external_linker=False, enable_unified_memory=False, attn_dp_enabled=False,
            hisparse_coordinator=None, decode_offload_manager=None, dllm_config=None, min_free_slots_delayer=None,
            disaggregation_mode=DisaggregationMode.NULL, require_mlp_sync=False, processed_tokens_counter=0,
            metrics_collector=None, metrics_reporter=Ignores(enable_metrics=False, num_generated_tokens=0, forward_ct_decode=0,
                                                             current_scheduler_metrics_enabled=False),
            grammar_manager=Ignores(has_waiting_grammars=lambda: False), output_streamer=Ignores(), future_map=None,
            scheduler_stage_metrics=None, ipc_channels=None, gpu_id=0, enable_fpm=False, result_queue=collections.deque(),
            dynamic_chunk_sizer=None, load_inquirer=Ignores(_get_num_pending_tokens=lambda **how: 0),
            dp_attn_adapter=Ignores(maybe_prepare_mlp_sync_batch=lambda batch, **how: batch,
                                    maybe_convert_decode_to_extend=lambda batch: batch),
            ngram_embedding_manager=Ignores(prepare_for_forward=lambda batch, **how: batch))
        for step in ("init_running_status", "init_chunked_prefill", "init_schedule_policy", "init_deterministic_inference_config",
                     "init_dsa_kpool_truncation_align", "init_mamba_truncation_align", "init_batch_result_processor"):
            getattr(it, step, lambda: None)()  # those of its own that the release has
        it.enable_skip_finishing_decode = it.enable_overlap

    def step(self):
        """One iteration of the scheduler's loop. If the scheduler overlaps batches, it processes a batch's result after choosing the next batch."""
        from sglang.srt.managers.utils import GenerationBatchResult

        it = self.it
        plan = it.get_next_batch_to_run(running_batch=it.running_batch, last_batch=it.last_batch)
        it.running_batch, batch = plan.running_batch, plan.batch_to_run
        if batch:
            sevens = torch.full((batch.batch_size(),), 7, dtype=torch.int64)
            it.result_queue.append((batch.copy(), GenerationBatchResult(next_token_ids=sevens)))
            batch.input_ids = None
        while len(it.result_queue) > (1 if it.enable_overlap and batch else 0):
            done, result = it.result_queue.popleft()
            handle = it.batch_result_processor
            if done.forward_mode.is_decode():
                handle.process_batch_result_decode(done, result)
            else:
                handle.process_batch_result_prefill(done, result)
        it.last_batch = batch
        return batch


def ask(engine, mem, name):
    scheduler = Driven(engine, mem)
    sizes = scheduler.worker.sizes
    pools = {"tokens": sizes.max_total_num_tokens, "max_running_requests": sizes.max_running_requests}
    if sizes.swa_max_total_num_tokens:
        pools["swa_tokens"] = sizes.swa_max_total_num_tokens
    return {"pools": pools, **scheduler.answer(name)}
