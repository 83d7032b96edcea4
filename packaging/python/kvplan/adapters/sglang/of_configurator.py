"""Runs SGLang's own arguments, model classes and pools since 0.5.17, as far as they work without a GPU.

The memory code was moved about in every second release: what is called takes those of its arguments that a release has
(fitting). worker.py makes an Engine of a case and asks resolve(), load() and then pools() or built_in();
at_once_of_configurator.py goes on from there.
"""
import types

import torch
import words
from described_card import CARD, GIB, answer
from without_card import OnMeta, Ranks, become_first_rank, fitting, held, name_of, nbytes


def import_engine():
    """Imports everything that a case needs, once: the cases run in forks of this process."""
    import sglang.srt.managers.scheduler  # noqa: F401
    import sglang.srt.mem_cache.kv_cache_configurator  # noqa: F401
    import sglang.srt.model_executor.model_runner  # noqa: F401
    import sglang.srt.model_executor.pool_configurator  # noqa: F401
    from sglang.srt.models.registry import ModelRegistry

    ModelRegistry.get_supported_archs()  # imports every model
    answer()


class Engine:
    def __init__(self, case):
        self.case, self.tp = case, case["tp"]
        self.free_before = case["mib"] / 1024 - case["context_gib"]
        CARD.tell(case["mib"], case["sm"], case["gpu"], self.free_before)

    def resolve(self):
        """The arguments as the server resolves them, and what it reads from the config."""
        from sglang.srt import runtime_context as context
        from sglang.srt.arg_groups import overrides
        from sglang.srt.server_args import ServerArgs

        args = ServerArgs(model_path=self.case["folder"], tp_size=self.tp, **self.case.get("given", {}))
        if hasattr(args, "resolve_once"):  # since 0.5.19; before, the constructor does it
            args.resolve_once()
        self.args, self.settled = args, overrides.resolved_view(args)
        yield "args", arguments(self.settled)
        if hasattr(context, "SpawnRanks"):
            self.join_ranks()
        else:  # before 0.5.21
            context.publish(args, role="scheduler")
            become_first_rank(self.settled, self.tp)
            context.get_flags().dp.enabled = self.settled.enable_dp_attention
        self.config = config = overrides.model_config_of(args) if hasattr(overrides, "model_config_of") else args.get_model_config()
        yield "model", {"is_hybrid_swa": bool(config.is_hybrid_swa), "multimodal": bool(config.is_multimodal),
                        "mla": str(config.attention_arch).endswith("MLA"), "context_len": config.context_len,
                        "dtype": name_of(config.dtype)}
        if config.quantization:
            yield "quantization", config.quantization

    def join_ranks(self):
        from sglang.srt import runtime_context as context
        from sglang.srt.layers import dp_attention

        context.publish(self.args, role="scheduler", ranks=context.SpawnRanks(world_rank=0, gpu_id=0))
        parallel = context.get_parallel()
        parallel.override_permanently(
            world_group=Ranks(self.tp), tp_group=Ranks(self.tp), attn_tp_group=Ranks(parallel.attn_tp_size),
            shared_experts_tp_group=Ranks(self.tp), moe_tp_group=Ranks(parallel.moe_tp_size),
            moe_ep_group=Ranks(parallel.moe_ep_size), moe_dp_group=Ranks(parallel.moe_dp_size), attn_cp_group=Ranks(1),
            dcp_group=Ranks(1), pp_group=Ranks(1))
        if hasattr(dp_attention, "initialize_dp_attention_flags"):
            dp_attention.initialize_dp_attention_flags(self.args)
        else:
            context.get_flags().dp.enabled = parallel.enable_dp_attention
            dp_attention._ATTN_DP_RANK, dp_attention._ATTN_DP_SIZE = 0, parallel.attn_dp_size

    def load(self):
        """The model's class on the meta device: one rank's bytes before any repacking, then the cache's type."""
        from sglang.srt.configs.load_config import LoadConfig
        from sglang.srt.distributed import bootstrap
        from sglang.srt.managers.scheduler import Scheduler
        from sglang.srt.model_loader import loader
        from sglang.srt.model_loader.utils import set_default_torch_dtype

        if hasattr(bootstrap, "init_layer_runtime"):
            bootstrap.init_layer_runtime(model_config=self.config)
        Scheduler.init_moe_gemm_config(types.SimpleNamespace(model_config=self.config, server_args=self.args))
        how = LoadConfig()
        try:
            quantization = loader._get_quantization_config(self.config, how)
            with set_default_torch_dtype(self.config.dtype), torch.device("meta"), OnMeta():
                self.model = loader._initialize_model(self.config, how, quantization)
            yield "weights_built", {"parameters": sum(map(nbytes, self.model.parameters())),
                                    "buffers": sum(map(nbytes, self.model.buffers()))}
        except Exception as error:
            if not words.is_doubtful(error):
                raise
            yield "not_built", words.of(error)  # the pools need no more of a model than its config
            self.model = types.SimpleNamespace(config=self.config.hf_config, **self.quantization_alone(how))
        self.check_experts()
        self.kv_dtype_name, self.kv_dtype = kv_type(self.model, self.config)
        yield "kv_dtype", name_of(self.kv_dtype)

    def check_experts(self):
        """ModelRunner's own check, which comes after the weights and the pools."""
        from sglang.srt import runtime_context as context
        from sglang.srt.model_executor.model_runner_components.moe_ep_setup import check_quantized_moe_compatibility

        ranks = context.get_parallel()
        check_quantized_moe_compatibility(model_config=self.config, tp_size=self.tp, moe_ep_size=ranks.moe_ep_size,
                                          moe_dp_size=ranks.moe_dp_size)

    def ranks(self):
        """The ranks and sizes that functions until 0.5.20 take as one argument."""
        from sglang.srt import runtime_context as context

        dp = context.get_parallel().attn_dp_size
        sizes = {"tp_size": self.tp, "dp_size": dp, "attn_dp_size": dp, "attn_tp_size": self.tp // dp}
        names = ("tp", "pp", "dp", "attn_tp", "attn_cp", "attn_dp", "moe_ep", "moe_dp", "dcp")
        return types.SimpleNamespace(**{f"{name}_size": sizes.get(f"{name}_size", 1) for name in names}, **{f"{name}_rank": 0 for name in names},
                                     gpu_id=0)

    def uses_mla(self):
        from sglang.srt import runtime_context as context

        return (getattr(context, "uses_mla_backend", None) or self.args.use_mla_backend)()

    def quantization_alone(self, how):
        from sglang.srt.model_loader.weight_utils import get_quant_config

        return {"quant_config": get_quant_config(self.config, how, {})} if self.config.quantization else {}

    def configurator(self):
        """The object that sizes and builds the pools, made as ModelRunner makes it."""
        from sglang.srt import runtime_context as context
        from sglang.srt.mem_cache import kv_cache_configurator
        from sglang.srt.model_executor.model_runner_components.layer_setup import resolve_layer_indices
        from sglang.srt.model_executor.model_runner_components.load_model_utils import resolve_sliding_window_size
        from sglang.srt.model_executor.model_runner_components.spec_aux_hidden_state import SpecAuxHiddenStateConfig
        from sglang.srt.speculative.spec_info import SpeculativeAlgorithm

        config, algorithm = self.config, SpeculativeAlgorithm.from_string(self.settled.speculative_algorithm)
        return fitting(
            kv_cache_configurator.KVCacheConfigurator, device="cuda", gpu_id=0, ps=self.ranks(), attn_dp_size=context.get_parallel().attn_dp_size, pp_size=1, pp_group=Ranks(1),
            model=self.model, model_config=config, server_args=self.args, kv_cache_dtype=self.kv_dtype,
            kv_cache_dtype_str=self.kv_dtype_name or self.settled.kv_cache_dtype, model_dtype=config.dtype,
            page_size=context.get_schedule().page_size,
            sliding_window_size=resolve_sliding_window_size(self.model, config),
            spec_algorithm=algorithm, is_draft_worker=False,
            post_capture_kv_active=False, spec_aux_config=SpecAuxHiddenStateConfig(), is_hybrid_swa=config.is_hybrid_swa,
            is_hybrid_swa_compress=getattr(config, "is_hybrid_swa_compress", False),
            use_mla_backend=self.uses_mla(),
            layer_info=fitting(resolve_layer_indices, model=self.model, model_config=config, is_draft_worker=False, spec_algorithm=algorithm),
            forward_stream=None, req_to_token_pool=None, token_to_kv_pool_allocator=None, memory_pool_config=None)

    def pools(self):
        """Bytes of a token, capacities with the given weights, and bytes of the pools."""
        from sglang.srt import runtime_context as context
        from sglang.srt.model_executor.pool_configurator import create_memory_pool_configurator

        made = self.configurator()
        states = made.mambaish_config
        if states is not None:
            yield "state_slot", int(states.mamba2_cache_params.mamba_cache_per_req)
            yield "mamba_ratio", made._calculate_mamba_ratio()
        sizer = create_memory_pool_configurator(made)
        yield "configurator", type(sizer).__name__
        cells = {name: getattr(sizer, name) for name in CELLS if getattr(sizer, name, None) is not None}
        if cells:
            yield "cells", cells
        CARD.free = self.free_before - self.case["weights"] / GIB
        yield "free_before", self.free_before
        yield "weights", self.case["weights"]
        sized = made._resolve_memory_pool_config(self.free_before)
        yield "pool", {k: v for k, v in vars(sized).items() if v not in (None, 0)}
        if states is not None:
            yield "state_slots", context.get_schedule().max_mamba_cache_size
        yield "built", built(made, sized)

    def sized_for(self, bytes_for_the_cache):
        """(configurator, sizes), with the simulated free memory chosen to leave exactly these bytes."""
        from sglang.srt import runtime_context as context
        from sglang.srt.mem_cache import kv_cache_configurator as its

        made, images = self.configurator(), 0
        slack = self.free_before * (1 - context.get_schedule().mem_fraction_static)
        if hasattr(its, "mm_runtime_reservation_gb"):  # since 0.5.18
            images = its.mm_runtime_reservation_gb(is_multimodal=self.config.is_multimodal,
                                                   mm_feature_transport=context.get_mm().mm_feature_transport)
        CARD.free = bytes_for_the_cache / GIB + slack + images
        return made, made._resolve_memory_pool_config(self.free_before)

    def built_in(self, bytes_for_the_cache):
        """A start with enough memory: checks that the attention backends accept the GPU, and builds the pools."""
        from sglang.srt.arg_groups.overrides import attention_backends_of

        backends = list(dict.fromkeys(attention_backends_of(self.settled)))
        for backend in backends:
            self.check(backend)
        made, sized = self.sized_for(bytes_for_the_cache)
        yield "backends", backends
        yield "kv_pool", built(made, sized)["kv_pool"]

    def check(self, backend):
        """Runs the backend factory's checks of model and GPU. The checks in the backend's class do not run."""
        from sglang.srt import runtime_context as context
        from sglang.srt.layers.attention.attention_registry import ATTENTION_BACKENDS

        runner = types.SimpleNamespace(use_mla_backend=self.uses_mla(), server_args=self.args,
                                       model_config=self.config, kv_cache_dtype=self.kv_dtype, is_draft_worker=False)
        make = ATTENTION_BACKENDS[backend]  # the parser would refuse a name that the release does not have
        try:
            make(runner)
        except (AssertionError, ValueError) as error:
            if words.file_of(error).endswith("attention_registry.py"):
                raise
        except Exception:  # the class itself, which wants more of a runner than there is here
            pass


CELLS = ("_cell_size", "_full_per_token", "_swa_per_token", "bytes_per_full_token", "swa_ratio", "_swa_ratio",
         "bytes_per_swa_token")


def arguments(settled):
    graphs = settled.cuda_graph_config
    names = ("mem_fraction_static", "chunked_prefill_size", "max_prefill_tokens", "page_size", "kv_cache_dtype",
             "attention_backend", "max_running_requests", "decode_graph", "prefill_graph", "swa_full_tokens_ratio",
             "mamba_full_memory_ratio", "disable_radix_cache")
    captured = {f"{phase}_graph": [name_of(it.backend), it.max_bs, len(it.bs or ())]
                for phase, it in (("decode", graphs.decode), ("prefill", graphs.prefill))}
    return {name: captured[name] if name in captured else getattr(settled, name) for name in names}


def kv_type(model, config):
    from sglang.srt import runtime_context as context
    from sglang.srt.mem_cache import kv_cache_dtype

    return fitting(
        kv_cache_dtype.configure_kv_cache_dtype, server_args_kv_cache_dtype=context.get_model().kv_cache_dtype, model=model, model_dtype=config.dtype,
        is_draft_worker=False, is_dflash=False, speculative_draft_attention_backend=None,
        speculative_draft_kv_cache_dtype=None)


def kv_pool(made, sizes, requests):
    """The pool of K and V without memory."""
    from sglang.srt.mem_cache import kv_cache_configurator as its

    hf = made.model_config.hf_config
    made.device, made.req_to_token_pool = "meta", requests
    with torch.device("meta"):
        pool = made._build_token_to_kv_pool(sizes=sizes, req_to_token_pool=requests, is_dsa_model=its.is_deepseek_dsa(hf),
                                            is_dsv4_model=its.is_deepseek_v4(hf))
    return pool[0] if isinstance(pool, tuple) else pool


def built(made, sized):
    """Bytes of the real pools, built on the meta device: the table of requests, K and V, states."""
    made.device, sizes = "meta", made._derive_pool_sizes(config=sized)
    with torch.device("meta"):
        requests = made._build_req_to_token_pool(max_num_reqs=sizes.max_running_requests)
    out, seen = {"req_pool": type(requests).__name__, "req_table_bytes": nbytes(requests.req_to_token)}, set()
    states = getattr(requests, "mamba_pool", None)
    if states is not None:
        out["state_bytes"] = held(getattr(states, "mamba_cache", states).__dict__, set())
        out["state_pool"] = type(states).__name__
        held(states, seen)
    pool = kv_pool(made, sizes, requests)
    out["kv_pool"] = type(pool).__name__
    out["kv_bytes"] = held(pool, seen)
    return out
