"""Runs SGLang's own arguments, model classes and pools until 0.5.16, as far as they work without a GPU.

Its ModelRunner sizes and builds the pools itself: its own constructor runs, with the steps that need a card or other
ranks left out, up to the pools. worker.py makes an Engine of a case and asks resolve(), load() and then pools() or
built_in(); at_once_of_runner.py goes on from there.
"""
import types

import torch
import words
from described_card import CARD, GIB, answer
from sglang.srt.model_executor.model_runner import ModelRunner
from without_card import OnMeta, Ranks, become_first_rank, fitting, held, name_of, nbytes


def import_engine():
    """Imports everything that a case needs, once: the cases run in forks of this process."""
    import sglang.srt.managers.scheduler  # noqa: F401
    from sglang.srt.model_executor import model_runner
    from sglang.srt.models.registry import ModelRegistry

    model_runner.compute_initial_expert_location_metadata = lambda **how: None  # on which rank an expert lies
    ModelRegistry.get_supported_archs()  # imports every model
    answer()


class Loaded(Exception):
    """Raised when the runner has its model and would build its pools next."""


class Runner(ModelRunner):
    """The first rank's ModelRunner on a simulated GPU."""

    def init_torch_distributed(self):
        self.tp_group = self.pp_group = Ranks(1)
        self.attention_tp_group = become_first_rank(self.server_args, self.tp_size, self.moe_ep_size)
        return CARD.free

    def load_model(self):
        """The model's class on the meta device: one rank's bytes before any repacking."""
        from sglang.srt.configs.load_config import LoadConfig
        from sglang.srt.model_loader import loader
        from sglang.srt.model_loader.utils import set_default_torch_dtype

        self.said, how, config = {}, LoadConfig(), self.model_config
        try:
            with set_default_torch_dtype(config.dtype), torch.device("meta"), OnMeta():
                # Since 0.5.9 the caller passes the weights' quantization.
                quantization = loader._get_quantization_config(config, how)
                self.model = fitting(loader._initialize_model, model_config=config, load_config=how, quant_config=quantization)
            self.said["weights_built"] = {"parameters": sum(map(nbytes, self.model.parameters())),
                                          "buffers": sum(map(nbytes, self.model.buffers()))}
        except Exception as error:
            if not words.is_doubtful(error):
                raise
            self.said["not_built"] = words.of(error)  # the pools need no more of a model than its config
            self.model = types.SimpleNamespace(config=config.hf_config, modules=lambda: (), **self.quantization_alone(how))
        self.dtype = config.dtype
        self.sliding_window_size = self.window()

    def quantization_alone(self, how):
        from sglang.srt.model_loader.weight_utils import get_quant_config

        config = self.model_config
        return {"quant_config": get_quant_config(config, how, {}, None)} if config.quantization else {}

    def window(self):
        """The window, as ModelRunner.load_model() finds it."""
        config = self.model_config
        if hasattr(self.model, "get_attention_sliding_window_size"):
            return self.model.get_attention_sliding_window_size()
        if config.is_hybrid_swa and config.sliding_window_size is not None:
            return config.sliding_window_size
        return config.attention_chunk_size

    def init_memory_pool(self, total_gpu_memory):
        self.free_before = total_gpu_memory
        raise Loaded


class Engine:
    def __init__(self, case):
        self.case, self.tp = case, case["tp"]
        self.free_before = case["mib"] / 1024 - case["context_gib"]
        CARD.tell(case["mib"], case["sm"], case["gpu"], self.free_before)

    def resolve(self):
        """The arguments as the server resolves them, and what it reads from the config."""
        from sglang.srt.configs.model_config import ModelConfig
        from sglang.srt.server_args import ServerArgs

        given = dict(self.case.get("given", {}))
        self.args = args = ServerArgs(model_path=self.case["folder"], tp_size=self.tp, **given)
        self.said = arguments(args)
        yield "args", self.said
        self.config = config = ModelConfig.from_server_args(args)
        yield "model", {"is_hybrid_swa": bool(config.is_hybrid_swa), "multimodal": bool(config.is_multimodal),
                        "mla": str(config.attention_arch).endswith("MLA"), "context_len": config.context_len,
                        "dtype": name_of(config.dtype)}
        if config.quantization:
            yield "quantization", config.quantization

    def load(self):
        """Runs ModelRunner's constructor up to the pools, with the model on the meta device; returns the cache's type."""
        from sglang.srt.managers.scheduler import Scheduler
        from sglang.srt.server_args import set_global_server_args_for_scheduler

        args = self.args
        set_global_server_args_for_scheduler(args)
        Scheduler.init_moe_gemm_config(types.SimpleNamespace(model_config=self.config, server_args=args))
        self.runner = Runner.__new__(Runner)
        try:
            fitting(self.runner.__init__, model_config=self.config, mem_fraction_static=args.mem_fraction_static, gpu_id=0, tp_rank=0,
                                 tp_size=self.tp, moe_ep_rank=0, moe_ep_size=args.ep_size, pp_rank=0, pp_size=1, nccl_port=0,
                                 server_args=args)
        except Loaded:
            pass
        # The runner turns chunked prefill off if the model's class does not support it (model_specific_adjustment).
        yield "args", {**self.said, "chunked_prefill_size": args.chunked_prefill_size}
        self.runner.check_quantized_moe_compatibility()
        yield from self.runner.said.items()
        yield "kv_dtype", name_of(self.runner.kv_cache_dtype)

    def pools(self):
        """Bytes of a token, capacities with the given weights, and bytes of the pools."""
        runner = self.runner
        states = runner.mambaish_config
        if states is not None:
            yield "state_slot", int(states.mamba2_cache_params.mamba_cache_per_req)
            yield "mamba_ratio", self.states_of_a_request()
        CARD.free = self.free_before - self.case["weights"] / GIB
        yield "free_before", self.free_before
        yield "weights", self.case["weights"]
        self.build()
        yield "pool", self.sizes()
        if states is not None:
            yield "state_slots", self.args.max_mamba_cache_size
        yield "built", self.built()

    def states_of_a_request(self):
        """As ModelRunner.init_memory_pool() does without speculation."""
        from sglang.srt.model_executor import model_runner_kv_cache_mixin as pools

        more = pools.MAMBA_CACHE_V2_ADDITIONAL_RATIO_OVERLAP if self.args.enable_mamba_extra_buffer() else 0
        return 1 if self.args.disable_radix_cache else pools.MAMBA_CACHE_SIZE_MAX_RUNNING_REQUESTS_RATIO + more

    def build(self):
        """The runner's own sizes and pools; its GPU tensors are on the meta device."""
        self.runner.device = "meta"
        with torch.device("meta"), OnMeta():
            ModelRunner.init_memory_pool(self.runner, self.free_before)

    def leave(self, bytes_for_the_cache):
        """Chooses the simulated free memory so that exactly these bytes are left."""
        CARD.free = bytes_for_the_cache / GIB + self.free_before * (1 - self.args.mem_fraction_static)

    def sizes(self):
        runner = self.runner
        swa = {name: getattr(runner, name) for name in ("full_max_total_num_tokens", "swa_max_total_num_tokens") if runner.is_hybrid_swa}
        return {"max_total_num_tokens": runner.max_total_num_tokens, "max_running_requests": self.most_requests(), **swa}

    def most_requests(self):
        """As ModelRunner.initialize() limits them after it builds the pools."""
        args, runner = self.args, self.runner
        ranks = args.dp_size if args.enable_dp_attention else 1
        asked = runner.max_total_num_tokens // 2 if args.max_running_requests is None else args.max_running_requests // ranks
        return min(asked, runner.req_to_token_pool.size)

    def built(self):
        requests, pool = self.runner.req_to_token_pool, self.runner.token_to_kv_pool
        out, seen = {"req_pool": type(requests).__name__, "req_table_bytes": nbytes(requests.req_to_token)}, set()
        states = getattr(requests, "mamba_pool", None)
        if states is not None:
            out["state_bytes"] = held(states.mamba_cache.__dict__, set())
            out["state_pool"] = type(states).__name__
            held(states, seen)
        return {**out, "kv_pool": type(pool).__name__, "kv_bytes": held(pool, seen)}

    def built_in(self, bytes_for_the_cache):
        """A start with enough memory: checks that the attention backends accept the GPU, and builds the pools."""
        backends = list(dict.fromkeys(self.args.get_attention_backends()))
        for backend in backends:
            self.check(backend)
        self.leave(bytes_for_the_cache)
        self.build()
        yield "backends", backends
        yield "kv_pool", type(self.runner.token_to_kv_pool).__name__

    def check(self, backend):
        """Runs the backend factory's checks of model and GPU. The checks in the backend's class do not run."""
        from sglang.srt.layers.attention.attention_registry import ATTENTION_BACKENDS

        make = ATTENTION_BACKENDS[backend]  # the parser would refuse a name that the release does not have
        try:
            make(self.runner)
        except (AssertionError, ValueError) as error:
            if words.file_of(error).endswith("attention_registry.py"):
                raise
        except Exception:  # the class itself, which wants more of a runner than there is here
            pass


def arguments(args):
    names = ("mem_fraction_static", "chunked_prefill_size", "max_prefill_tokens", "page_size", "kv_cache_dtype", "attention_backend",
             "max_running_requests", "swa_full_tokens_ratio", "mamba_full_memory_ratio", "disable_radix_cache")
    return {**{name: getattr(args, name) for name in names}, "decode_graph": decode_graph(args)}


def decode_graph(args):
    """The kind of graphs, the largest batch size, and how many sizes are captured."""
    if hasattr(args, "cuda_graph_config"):  # since 0.5.13
        its = args.cuda_graph_config.decode
        return [name_of(its.backend), its.max_bs, len(its.bs or ())]
    return None if args.disable_cuda_graph else ["full", args.cuda_graph_max_bs, len(args.cuda_graph_bs)]
