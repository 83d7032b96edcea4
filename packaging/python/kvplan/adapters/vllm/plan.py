"""Runs one case through vLLM's own planning: configuration, model on the meta device, cache specs, grouping, check, sizes.

A case: {"config": FOLDER of config.json, "card", "tp", "args": {fields of EngineArgs}, "mem": [bytes for the cache, ...]}
"""
import contextlib
import json
import re

import card
import torch
import vllm.platforms as platforms
from vllm.config import set_current_vllm_config
from vllm.engine.arg_utils import EngineArgs
from vllm.usage.usage_lib import UsageContext

DRAFT_METHODS = ("mtp", "eagle", "eagle3", "deepseek_mtp")


class Fields(dict):
    """An object with the keys as attributes; other attributes are None."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = self.get(name)
        return Fields(value) if isinstance(value, dict) else value


def register_configs():
    """Registers model types whose code is in the model's repository, where that code does almost nothing."""
    from transformers import AutoConfig, LlamaConfig, PretrainedConfig, Qwen2Config

    def nemotron_nas(self, block_configs=(), **given):
        LlamaConfig.__init__(self, **{k: v for k, v in given.items() if v is not None})
        self.block_configs = [Fields({**block, "ffn": {"hidden_act": "silu", **block["ffn"]}}) for block in block_configs]

    for name, base, more in (("mimo", Qwen2Config, {}), ("sarvam_mla", PretrainedConfig, {}), ("nemotron-nas", LlamaConfig, {"__init__": nemotron_nas})):
        with contextlib.suppress(ValueError):  # a release that knows it
            AutoConfig.register(name, type(name, (base,), {"model_type": name, **more}))


def planning(name):
    """A function of the planner, whose module was split in two after 0.30."""
    import vllm.v1.core.kv_cache_utils as utils
    if hasattr(utils, name):
        return getattr(utils, name)
    import vllm.v1.core.kv_cache_planning as plan
    return getattr(plan, name)


def engine_config(case):
    args = dict(model=case["config"], skip_tokenizer_init=True, load_format="dummy", trust_remote_code=False,
                tensor_parallel_size=case["tp"])
    if case["tp"] > 1:
        args["distributed_executor_backend"] = "mp"
    if "swap_space" in EngineArgs.__dataclass_fields__:
        args["swap_space"] = 0  # of this machine's memory, which a release before 0.18 asks for a share of
    return EngineArgs(**{**args, **case["args"]}).create_engine_config(UsageContext.OPENAI_API_SERVER)


def settled(config):
    """The engine's configuration from its arguments."""
    model, cache, scheduler = config.model_config, config.cache_config, config.scheduler_config
    sizes = config.compilation_config.cudagraph_capture_sizes or []
    return {"arch": model.architecture, "quant": model.quantization, "cache_dtype": cache.cache_dtype, "max_model_len": model.max_model_len,
            "max_num_batched_tokens": scheduler.max_num_batched_tokens, "max_num_seqs": scheduler.max_num_seqs,
            "mamba_mode": getattr(cache, "mamba_cache_mode", None), "v2": bool(getattr(config, "use_v2_model_runner", False)),
            "graphs": [max(sizes, default=0), len(sizes)],
            "in_flight": getattr(scheduler, "max_in_flight_tokens", getattr(config, "max_in_flight_tokens", None))}


def without_tokenizer(model):
    """Replaces the tokenizer: DeepSeek-V4.1 derives the hashes of its n-grams from it, and only its number of words affects memory."""
    with contextlib.suppress(ImportError):
        import transformers
        from vllm.models.deepseek_v41.common import engram
        words = getattr(model, "engram_compressed_vocab_size", None)
        if words:
            transformers.AutoTokenizer = type("AutoTokenizer", (), {"from_pretrained": staticmethod(lambda *_, **__: None)})
            engram.build_compressed_token_map = lambda tokenizer: ([0] * model.vocab_size, words)


def build(config):
    """(the model, its draft model or None), without weights."""
    without_tokenizer(config.model_config.hf_config)
    from vllm.model_executor.model_loader.utils import initialize_model
    from vllm.utils.torch_utils import set_default_torch_dtype
    with contextlib.suppress(ImportError):
        from vllm.v1.worker.workspace import init_workspace_manager
        init_workspace_manager(torch.device("meta"), 1)
    with set_current_vllm_config(config, check_compile=False), set_default_torch_dtype(config.model_config.dtype), \
            torch.device("meta"), card.on_meta():
        model = initialize_model(vllm_config=config, model_config=config.model_config)
        spec = config.speculative_config
        if spec is None or spec.draft_model_config is None or spec.method not in DRAFT_METHODS:
            return model, None
        from vllm.compilation.backends import set_model_tag
        with set_model_tag("eagle_head"):
            of_draft = config
            with contextlib.suppress(ImportError):
                from vllm.v1.worker.gpu.spec_decode.speculator import create_vllm_config_for_draft_model
                of_draft = create_vllm_config_for_draft_model(config)
            return model, initialize_model(vllm_config=of_draft, model_config=spec.draft_model_config)


def tensors(model):
    """Parameters, buffers, and tensors that are plain attributes of the modules."""
    parameters, buffers, plain = [], [], []
    for module in model.modules():
        parameters += [p for p in module._parameters.values() if p is not None]
        buffers += [b for b in module._buffers.values() if b is not None]
        plain += [v for v in vars(module).values() if isinstance(v, torch.Tensor) and v.device.type == "meta"]
    return parameters, buffers, plain


def storage(found):
    """Bytes of distinct storages, and the same with each rounded up to 512 bytes, as torch's allocator does."""
    sizes = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in found}
    return sum(sizes.values()), sum(-(-size // 512) * 512 for size in sizes.values())


def weights_row(model):
    parameters, buffers, plain = tensors(model)
    p, b, (all_bytes, rounded) = storage(parameters)[0], storage(parameters + buffers)[0], storage(parameters + buffers + plain)
    return {"parameters": p, "buffers": b - p, "plain": all_bytes - b, "rounded": rounded}


SPEC_FIELDS = ("num_kv_heads", "head_size", "head_size_v", "sliding_window", "attention_chunk_size", "shapes", "mamba_cache_mode",
               "num_speculative_blocks", "page_size_padded", "compress_ratio", "cache_dtype_str")


def spec_row(spec):
    row = {"kind": type(spec).__name__, "block_size": spec.block_size, "page": spec.page_size_bytes}
    for key in SPEC_FIELDS:
        value = getattr(spec, key, None)
        if value is not None:
            row[key] = str(value) if key == "shapes" else value
    row["dtype"] = str(getattr(spec, "dtype", None) or getattr(spec, "dtypes", None)).replace("torch.", "")
    return row


def counted(rows):
    """Groups equal rows, with their number of layers."""
    layers = {}
    for row in rows:
        key = json.dumps(row, default=str)
        layers[key] = layers.get(key, 0) + 1
    return [{**json.loads(key), "layers": n} for key, n in layers.items()]


def cache_specs(config):
    with contextlib.suppress(ImportError):
        from vllm.v1.worker.gpu.attn_utils import get_kv_cache_spec
        return get_kv_cache_spec(config)
    from vllm.config import get_layers_from_vllm_config
    from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase
    found = {name: layer.get_kv_cache_spec(config) for name, layer in get_layers_from_vllm_config(config, AttentionLayerBase).items()}
    return {name: spec for name, spec in found.items() if spec}


def layout(config, specs):
    """What the engine's core does before it groups layers, in releases that have layouts."""
    try:
        from vllm.distributed.kv_transfer.kv_connector.utils import get_current_attn_backends
        from vllm.v1.attention.backends.utils import get_supported_kv_cache_layouts, resolve_kv_cache_layout
    except ImportError:
        return None
    supported = [[x.name for x in get_supported_kv_cache_layouts(get_current_attn_backends(config))]]
    return resolve_kv_cache_layout(config, supported, list(specs.values())).name


def block_bytes(config, kv):
    with contextlib.suppress(AttributeError, ImportError, TypeError):  # 0.26 has no such function
        return planning("_pool_bytes_per_block")(config, kv.kv_cache_groups)
    return None


def capacity(config, kv):
    """(tokens, concurrency) as the log prints them. Releases before 0.24 only print them."""
    with contextlib.suppress(AttributeError, ImportError):
        return planning("get_kv_cache_capacity")(config, kv)
    import vllm.v1.core.kv_cache_utils as utils
    said = []

    class Listener:
        def __getattr__(self, level):
            return lambda message, *values, **how: said.append(message % values if values else message)

    printed, utils.logger = utils.logger, Listener()
    try:
        utils._report_kv_cache_config(config, kv)
    finally:
        utils.logger = printed
    tokens = re.search(r"KV cache size: ([\d,]+) tokens", " ".join(said))[1]
    return int(tokens.replace(",", "")), utils.get_max_concurrency_for_kv_cache_config(config, kv)


def size(config, specs, mem):
    """(row, the cache's config or None) for `mem` bytes."""
    configs = planning("get_kv_cache_configs")
    try:
        groups = ()
        if configs.__code__.co_argcount > 3:  # the groups of all ranks together, in newer releases
            groups = (planning("get_global_kv_cache_groups")(config, [dict(specs)]),)
        kv = configs(config, [dict(specs)], [mem], *groups)
        scheduled = planning("generate_scheduler_kv_cache_config")(kv)
        tokens, concurrency = capacity(config, kv[0])  # what the log prints is of a worker's groups
    except ValueError as error:
        return {"mem": mem, **gate(str(error))}, None
    row = {"mem": mem, "tokens": tokens, "blocks": scheduled.num_blocks, "concurrency": concurrency, "block_bytes": block_bytes(config, kv[0]),
           "groups": [[type(g.kv_cache_spec).__name__, len(g.layer_names), g.kv_cache_spec.block_size, g.kv_cache_spec.page_size_bytes]
                      for g in scheduled.kv_cache_groups]}
    return {k: v for k, v in row.items() if v is not None}, scheduled


def gate(words):
    """The figures, if the length was refused; the message of any other refusal."""
    needed = re.search(r"([\d.]+) GiB KV", words)
    longest = re.search(r"maximum model length is (\d+)", words)
    if not needed:
        return {"refused": clean(words)}
    return {"needed_gib": float(needed[1]), **({"longest": int(longest[1])} if longest else {})}


def clean(words):
    """One line of at most 300 characters, without paths, addresses and pydantic's frame."""
    words = re.sub(r"\w+: \d+ validation errors? for \w+\s+", "", words)
    words = re.sub(r"\s*\[type=.*", "", words, flags=re.S)
    words = re.sub(r"(/[\w.+-]+){2,}/?", "PATH", words)
    words = re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", words)
    return " ".join(words.split())[:300]


def name_of(backend):
    try:
        return backend.get_name()
    except NotImplementedError:  # those of states, in older releases
        return backend.__name__


def backends(config):
    layers = config.compilation_config.static_forward_context.values()
    return sorted({name_of(layer.get_attn_backend()) for layer in layers if hasattr(layer, "get_attn_backend")})


def unasked(config):
    """Whether a layer uses a backend that does not list this GPU: some models set it without a check."""
    capability = platforms.current_platform.get_device_capability()
    layers = config.compilation_config.static_forward_context.values()
    return any(not layer.get_attn_backend().supports_compute_capability(capability) for layer in layers if hasattr(layer, "get_attn_backend"))


def fell_back(config, model):
    """Whether transformers' code replaces a class of the release because its module could not be imported here."""
    from vllm import ModelRegistry

    known = [ModelRegistry.models[name] for name in config.model_config.hf_config.architectures or () if name in ModelRegistry.models]
    return bool(known) and ".transformers" in type(model).__module__ and not any(".transformers" in entry.module_name for entry in known)


def run(case):
    return planned(engine_config(case), case["tp"], case["mem"])


def planned(config, ranks, memories):
    """(row, config, [the cache's config for each memory size, or None])"""
    row = settled(config)
    card.start_groups(config, ranks)
    model, draft = build(config)
    row["weights"] = weights_row(model)
    if fell_back(config, model):
        row["artefact"] = True
    if draft is not None:
        row["draft"] = config.speculative_config.draft_model_config.architecture
    with set_current_vllm_config(config, check_compile=False), card.on_meta():
        with contextlib.suppress(ImportError):
            from vllm.v1.kv_cache_spec_registry import register_all_kvcache_specs
            register_all_kvcache_specs(config)
        update = getattr(platforms.current_platform, "update_block_size_for_backend", None)
        if update is not None:  # since 0.18; before, create_engine_config does it
            update(config)
        specs = cache_specs(config)
        row["specs"] = counted(map(spec_row, specs.values()))
        row["backends"] = backends(config)
        row["layout"] = layout(config, specs)
        row["cache_block_size"] = config.cache_config.block_size
        sized = []
        for mem in memories if specs else ():  # an encoder has no cache
            config.model_config.max_model_len = row["max_model_len"]  # a gate may leave the length that it looked for
            sized.append(size(config, specs, mem))
    row["plans"] = [plan for plan, _ in sized]
    return {k: v for k, v in row.items() if v is not None}, config, [kv for _, kv in sized]
