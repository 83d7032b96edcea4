"""The types of the answers. Written by packaging/python/make_results.py from `kvplan schema`; do not edit."""

from typing import Any, Dict, List, Literal, Optional, TYPE_CHECKING, Type, TypedDict, Union, overload

from kvplan._result import Result

Kind = Literal["mha", "gqa", "mqa", "sliding_window", "chunked", "attention_sink", "mla", "sparse_mla",
    "sparse_gqa", "compressed", "ssm", "linear", "short_conv", "rwkv", "rg_lru", "cross", "shared", "none"]


class Plan(Result):
    """kvplan MODEL --format json"""

    if TYPE_CHECKING:
        @overload  # type: ignore[override]
        def __getitem__(self, key: Literal["schema_version"], /) -> Literal[1]: ...
        @overload
        def __getitem__(self, key: Literal["kvplan_version"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["model"], /) -> "Model": ...
        @overload
        def __getitem__(self, key: Literal["request"], /) -> "Request": ...
        @overload
        def __getitem__(self, key: Literal["kv_cache"], /) -> "KvCache": ...
        @overload
        def __getitem__(self, key: Literal["engine_settings"], /) -> "EngineSettings": ...
        # a row for each GPU
        @overload
        def __getitem__(self, key: Literal["memory"], /) -> List["GpuMemory"]: ...
        @overload
        def __getitem__(self, key: Literal["host_memory"], /) -> Optional["HostMemory"]: ...
        @overload
        def __getitem__(self, key: Literal["total"], /) -> "Total": ...
        @overload
        def __getitem__(self, key: Literal["capacity"], /) -> Optional["Capacity"]: ...
        @overload
        def __getitem__(self, key: Literal["mix"], /) -> Optional["Mix"]: ...
        @overload
        def __getitem__(self, key: Literal["bounds"], /) -> Optional["Bounds"]: ...
        @overload
        def __getitem__(self, key: Literal["verdict"], /) -> "Verdict": ...
        # estimates replaced by measured figures
        @overload
        def __getitem__(self, key: Literal["calibration"], /) -> Optional["Calibration"]: ...
        # --measure: the plan's cache, allocated on a device
        @overload
        def __getitem__(self, key: Literal["measurement"], /) -> Optional["Measurement"]: ...
        @overload
        def __getitem__(self, key: Literal["notes"], /) -> List["Note"]: ...
        # plans this again; MODEL is the source
        @overload
        def __getitem__(self, key: Literal["command"], /) -> Optional[str]: ...
        def __getitem__(self, key: Any, /) -> Any: ...


class FleetSharedCard(TypedDict):
    """kvplan MODEL + MODEL: models that share a GPU"""

    gpu: Optional[str]
    # of one GPU
    gpu_memory_bytes: int
    # what all models need of it; with sleep mode one of them is awake
    total_bytes: int
    # what engines with --enable-sleep-mode keep of it while they sleep
    asleep_bytes: Optional[int]
    # of it, without what is kept free
    budget_bytes: int
    headroom_bytes: int
    status: Literal["fits", "partly_on_cpu", "does_not_fit", "unknown"]


class Fleet(Result):
    """kvplan MODEL MODEL... or a directory of configs; also with one entry"""

    if TYPE_CHECKING:
        @overload  # type: ignore[override]
        def __getitem__(self, key: Literal["schema_version"], /) -> Literal[1]: ...
        @overload
        def __getitem__(self, key: Literal["kvplan_version"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["plans"], /) -> List[Union["Plan", "Failed"]]: ...
        # kvplan MODEL + MODEL: models that share a GPU
        @overload
        def __getitem__(self, key: Literal["shared_card"], /) -> Optional["FleetSharedCard"]: ...
        def __getitem__(self, key: Any, /) -> Any: ...


class GridCard(TypedDict):
    gpu: str
    gpu_count: int
    # of one GPU
    gpu_memory_bytes: int


class Grid(Result):
    """kvplan MODEL... --gpu A,B: models, engines and weight types as rows, GPUs as columns"""

    if TYPE_CHECKING:
        @overload  # type: ignore[override]
        def __getitem__(self, key: Literal["schema_version"], /) -> Literal[1]: ...
        @overload
        def __getitem__(self, key: Literal["kvplan_version"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["cards"], /) -> List["GridCard"]: ...
        @overload
        def __getitem__(self, key: Literal["rows"], /) -> List[Union["GridRow", "Failed"]]: ...
        def __getitem__(self, key: Any, /) -> Any: ...


class AnswersUsers(TypedDict):
    """--users: what serves them all at once"""

    # at once
    users: int
    users_of_a_copy: int
    # of the layout of the answer "users"
    copies: int
    # of all copies
    gpus: int
    # of 8 GPUs
    nodes: int
    # users that these GPUs serve at once
    max_users: Optional[int]
    # --price: of all GPUs
    price_per_hour: Optional[float]


class Answers(Result):
    """kvplan compare and kvplan fit"""

    if TYPE_CHECKING:
        @overload  # type: ignore[override]
        def __getitem__(self, key: Literal["schema_version"], /) -> Literal[1]: ...
        @overload
        def __getitem__(self, key: Literal["kvplan_version"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["model"], /) -> "Model": ...
        @overload
        def __getitem__(self, key: Literal["request"], /) -> "Request": ...
        @overload
        def __getitem__(self, key: Literal["answers"], /) -> List["Answer"]: ...
        # --users: what serves them all at once
        @overload
        def __getitem__(self, key: Literal["users"], /) -> Optional["AnswersUsers"]: ...
        @overload
        def __getitem__(self, key: Literal["notes"], /) -> List["Note"]: ...
        def __getitem__(self, key: Any, /) -> Any: ...


class Fits(Result):
    """kvplan fit with several engines or GPUs: one answer for each"""

    if TYPE_CHECKING:
        @overload  # type: ignore[override]
        def __getitem__(self, key: Literal["schema_version"], /) -> Literal[1]: ...
        @overload
        def __getitem__(self, key: Literal["kvplan_version"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["fits"], /) -> List[Union["Answers", "Failed"]]: ...
        def __getitem__(self, key: Any, /) -> Any: ...


class DiffTotal(TypedDict):
    before_bytes: int
    after_bytes: int
    change_bytes: int


class DiffMemory(TypedDict):
    part: str
    before_bytes: int
    after_bytes: int
    change_bytes: int


class DiffCapacity(TypedDict):
    what: Literal["tokens", "max_model_len", "max_num_seqs"]
    before: Optional[int]
    after: Optional[int]


class DiffVerdict(TypedDict):
    before: Optional[str]
    after: Optional[str]


class DiffLimit(TypedDict):
    """--fail-over, and whether the total grew by more"""

    bytes: Optional[int]
    percent: Optional[float]
    exceeded: bool


class DiffChange(TypedDict):
    where: Literal["config", "request"]
    key: str
    before: Optional[str]
    after: Optional[str]


class Diff(Result):
    """kvplan diff OLD NEW"""

    if TYPE_CHECKING:
        @overload  # type: ignore[override]
        def __getitem__(self, key: Literal["schema_version"], /) -> Literal[1]: ...
        @overload
        def __getitem__(self, key: Literal["kvplan_version"], /) -> str: ...
        # one sentence for a reviewer
        @overload
        def __getitem__(self, key: Literal["headline"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["total"], /) -> "DiffTotal": ...
        # parts that changed, biggest first
        @overload
        def __getitem__(self, key: Literal["memory"], /) -> List["DiffMemory"]: ...
        # capacity of the GPU, if it changed
        @overload
        def __getitem__(self, key: Literal["capacity"], /) -> List["DiffCapacity"]: ...
        @overload
        def __getitem__(self, key: Literal["verdict"], /) -> "DiffVerdict": ...
        # --fail-over, and whether the total grew by more
        @overload
        def __getitem__(self, key: Literal["limit"], /) -> "DiffLimit": ...
        # the old plan fits, the new one does not
        @overload
        def __getitem__(self, key: Literal["fit_lost"], /) -> bool: ...
        # --max-vram, --min-context and --min-seqs that the new plan breaks
        @overload
        def __getitem__(self, key: Literal["broken_limits"], /) -> List[str]: ...
        @overload
        def __getitem__(self, key: Literal["changes"], /) -> List["DiffChange"]: ...
        def __getitem__(self, key: Any, /) -> Any: ...


class CheckLogDiagnosisCauseValue(TypedDict):
    name: str
    # as the log prints it; null: computed
    text: Optional[str]
    # in the unit; 0 for a word
    value: float
    unit: str


class CheckLogDiagnosisCause(TypedDict):
    """null if nothing went wrong"""

    id: Literal["cache_too_small", "no_cache_memory", "free_memory_short", "out_of_memory", "graphs_failed", "buffer_failed", "compute_failed", "cache_failed", "weights_failed", "buffer_limit", "weights_limit", "fit_failed", "does_not_fit_devices", "component_failed", "memory_unbalanced", "host_out_of_memory", "exited", "leak", "no_bfloat16", "quantization_needs_card", "no_attention_backend", "block_does_not_divide", "heads_do_not_divide", "length_beyond_model", "batch_below_length", "too_few_cards", "cache_type_needs_flash", "no_kernel", "shared_memory", "unknown_architecture", "too_many_sequences", "refused", "died", "raised", "retried", "fit_reduced", "breakdown", "device_free", "projected", "flash_forced_off", "spilled", "no_gpu", "graphs_done", "started", "request_too_long", "preempted", "projector_failed", "traffic", "memory_hint", "room_left", "phase", "compiled", "mark"]
    # from 1
    line_number: int
    # the log's line
    words: str
    values: List["CheckLogDiagnosisCauseValue"]


class CheckLogDiagnosisFigure(TypedDict):
    name: str
    # as the log prints it; null: computed
    text: Optional[str]
    # in the unit; 0 for a word
    value: float
    unit: str


class CheckLogDiagnosisOtherFailureValue(TypedDict):
    name: str
    # as the log prints it; null: computed
    text: Optional[str]
    # in the unit; 0 for a word
    value: float
    unit: str


class CheckLogDiagnosisOtherFailure(TypedDict):
    id: Literal["cache_too_small", "no_cache_memory", "free_memory_short", "out_of_memory", "graphs_failed", "buffer_failed", "compute_failed", "cache_failed", "weights_failed", "buffer_limit", "weights_limit", "fit_failed", "does_not_fit_devices", "component_failed", "memory_unbalanced", "host_out_of_memory", "exited", "leak", "no_bfloat16", "quantization_needs_card", "no_attention_backend", "block_does_not_divide", "heads_do_not_divide", "length_beyond_model", "batch_below_length", "too_few_cards", "cache_type_needs_flash", "no_kernel", "shared_memory", "unknown_architecture", "too_many_sequences", "refused", "died", "raised", "retried", "fit_reduced", "breakdown", "device_free", "projected", "flash_forced_off", "spilled", "no_gpu", "graphs_done", "started", "request_too_long", "preempted", "projector_failed", "traffic", "memory_hint", "room_left", "phase", "compiled", "mark"]
    # from 1
    line_number: int
    # the log's line
    words: str
    values: List["CheckLogDiagnosisOtherFailureValue"]


class CheckLogDiagnosisHintValue(TypedDict):
    name: str
    # as the log prints it; null: computed
    text: Optional[str]
    # in the unit; 0 for a word
    value: float
    unit: str


class CheckLogDiagnosisHint(TypedDict):
    id: Literal["cache_too_small", "no_cache_memory", "free_memory_short", "out_of_memory", "graphs_failed", "buffer_failed", "compute_failed", "cache_failed", "weights_failed", "buffer_limit", "weights_limit", "fit_failed", "does_not_fit_devices", "component_failed", "memory_unbalanced", "host_out_of_memory", "exited", "leak", "no_bfloat16", "quantization_needs_card", "no_attention_backend", "block_does_not_divide", "heads_do_not_divide", "length_beyond_model", "batch_below_length", "too_few_cards", "cache_type_needs_flash", "no_kernel", "shared_memory", "unknown_architecture", "too_many_sequences", "refused", "died", "raised", "retried", "fit_reduced", "breakdown", "device_free", "projected", "flash_forced_off", "spilled", "no_gpu", "graphs_done", "started", "request_too_long", "preempted", "projector_failed", "traffic", "memory_hint", "room_left", "phase", "compiled", "mark"]
    # from 1
    line_number: int
    # the log's line
    words: str
    values: List["CheckLogDiagnosisHintValue"]


class CheckLogDiagnosisRemedy(TypedDict):
    cure: Literal["nothing", "shorter_length", "larger_share", "smaller_share", "smaller_cache_type", "plain_cache_type", "more_ranks", "ranks_that_divide", "pipeline_instead", "whole_experts", "smaller_batch", "larger_batch", "chunked_prefill", "fewer_sequences", "fewer_images", "flash_attention", "no_graphs", "free_the_card", "fixed_cache", "smaller_weights", "other_weights", "across_nodes", "ranks_for_blocks", "fewer_layers_on_gpu", "other_split", "fit_by_itself", "float16", "longer_by_override", "longer_context", "shorter_input", "other_kernels", "other_build", "newer_release", "other_card", "more_host_memory", "as_the_log_says", "other"]
    # the engine's option; null if there is none
    option: Optional[str]
    # null if the log does not give it
    value: Optional[str]
    # tokens, ranks or a fraction, depending on the cure
    figure: Optional[float]
    # whether a plan with it fits; null if not planned
    fits: Optional[bool]
    # what it does, for the cure `other`
    effect: Optional[str]


class CheckLogDiagnosisOtherEventValue(TypedDict):
    name: str
    # as the log prints it; null: computed
    text: Optional[str]
    # in the unit; 0 for a word
    value: float
    unit: str


class CheckLogDiagnosisOtherEvent(TypedDict):
    id: Literal["cache_too_small", "no_cache_memory", "free_memory_short", "out_of_memory", "graphs_failed", "buffer_failed", "compute_failed", "cache_failed", "weights_failed", "buffer_limit", "weights_limit", "fit_failed", "does_not_fit_devices", "component_failed", "memory_unbalanced", "host_out_of_memory", "exited", "leak", "no_bfloat16", "quantization_needs_card", "no_attention_backend", "block_does_not_divide", "heads_do_not_divide", "length_beyond_model", "batch_below_length", "too_few_cards", "cache_type_needs_flash", "no_kernel", "shared_memory", "unknown_architecture", "too_many_sequences", "refused", "died", "raised", "retried", "fit_reduced", "breakdown", "device_free", "projected", "flash_forced_off", "spilled", "no_gpu", "graphs_done", "started", "request_too_long", "preempted", "projector_failed", "traffic", "memory_hint", "room_left", "phase", "compiled", "mark"]
    # from 1
    line_number: int
    # the log's line
    words: str
    values: List["CheckLogDiagnosisOtherEventValue"]


class CheckLogDiagnosis(TypedDict):
    """how the start went, and why"""

    verdict: Literal["started", "as_planned", "less_room", "more_room", "differs", "serves_with_trouble", "did_not_start", "died", "cannot_tell"]
    # what the engine was doing when it failed
    phase: Literal["unknown", "loading", "profiling", "cache", "graphs", "serving"]
    # null if nothing went wrong
    cause: Optional["CheckLogDiagnosisCause"]
    # memory that is short; null if the log does not tell
    missing_bytes: Optional[int]
    # computed from the log's figures
    figures: List["CheckLogDiagnosisFigure"]
    # other lines that report a failure
    other_failures: List["CheckLogDiagnosisOtherFailure"]
    # other lines that help to explain the cause
    hints: List["CheckLogDiagnosisHint"]
    # first what the log suggests, then the smallest change first
    remedies: List["CheckLogDiagnosisRemedy"]
    # other events in the log, not faults
    other_events: List["CheckLogDiagnosisOtherEvent"]


class CheckLogLine(TypedDict):
    # from 1
    line_number: int
    what: str
    # in the unit
    value: float
    # GiB, tokens ...; empty for a fraction
    unit: str
    device: Optional[str]
    rank: Optional[int]
    # the plan's value, in the unit; null if the plan has none
    predicted: Optional[float]
    # not an estimate: any difference is a disagreement
    exact: bool
    # outside the estimate's range
    outside: bool
    reason: Optional[str]


class CheckLogTotalPart(TypedDict):
    what: str
    part: Literal["weights", "kv_cache", "activation", "runtime"]
    observed_bytes: int
    predicted_bytes: int
    low_bytes: int
    high_bytes: int


class CheckLogTotal(TypedDict):
    """one GPU's memory without the KV cache; null if the log prints none of it"""

    observed_bytes: int
    predicted_bytes: int
    low_bytes: int
    high_bytes: int
    parts: List["CheckLogTotalPart"]


class CheckLog(Result):
    """kvplan check-log [MODEL] LOG"""

    if TYPE_CHECKING:
        @overload  # type: ignore[override]
        def __getitem__(self, key: Literal["schema_version"], /) -> Literal[1]: ...
        @overload
        def __getitem__(self, key: Literal["kvplan_version"], /) -> str: ...
        # null if no line names it
        @overload
        def __getitem__(self, key: Literal["engine"], /) -> Optional[str]: ...
        @overload
        def __getitem__(self, key: Literal["engine_version"], /) -> Optional[str]: ...
        # the release that the log names
        @overload
        def __getitem__(self, key: Literal["log_version"], /) -> Optional[str]: ...
        @overload
        def __getitem__(self, key: Literal["max_model_len"], /) -> Optional[int]: ...
        @overload
        def __getitem__(self, key: Literal["tensor_parallel_size"], /) -> Optional[int]: ...
        # how the start went, and why
        @overload
        def __getitem__(self, key: Literal["diagnosis"], /) -> "CheckLogDiagnosis": ...
        # options read from the log
        @overload
        def __getitem__(self, key: Literal["read"], /) -> List[str]: ...
        # options that the log does not give
        @overload
        def __getitem__(self, key: Literal["assumed"], /) -> List[str]: ...
        @overload
        def __getitem__(self, key: Literal["lines"], /) -> List["CheckLogLine"]: ...
        # one GPU's memory without the KV cache; null if the log prints none of it
        @overload
        def __getitem__(self, key: Literal["total"], /) -> Optional["CheckLogTotal"]: ...
        # exact lines that the plan has a value for
        @overload
        def __getitem__(self, key: Literal["compared"], /) -> int: ...
        # exact lines that differ by more than rounding
        @overload
        def __getitem__(self, key: Literal["disagreements"], /) -> int: ...
        # estimates outside their range
        @overload
        def __getitem__(self, key: Literal["outside"], /) -> int: ...
        # an option or release with which they are inside their range
        @overload
        def __getitem__(self, key: Literal["agrees_with"], /) -> Optional[str]: ...
        @overload
        def __getitem__(self, key: Literal["remarks"], /) -> List[str]: ...
        def __getitem__(self, key: Any, /) -> Any: ...


class PickPick(TypedDict):
    id: str
    model: str
    parameters: int
    # the least lossy that fits
    weights_dtype: str
    # the longest context that fits
    max_model_len: int
    # on the fullest GPU
    gpu_bytes: int
    # weights in main memory; 0 if everything is on the GPUs
    host_bytes: int
    # upper bound for all users together; null without a bandwidth
    tokens_per_s: Optional[float]
    # the start command, one string per argument
    command: List[str]


class Pick(Result):
    """kvplan pick"""

    if TYPE_CHECKING:
        @overload  # type: ignore[override]
        def __getitem__(self, key: Literal["schema_version"], /) -> Literal[1]: ...
        @overload
        def __getitem__(self, key: Literal["kvplan_version"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["catalogue_date"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["card"], /) -> str: ...
        # of one GPU
        @overload
        def __getitem__(self, key: Literal["memory_bytes"], /) -> int: ...
        # null: not used
        @overload
        def __getitem__(self, key: Literal["host_memory_bytes"], /) -> Optional[int]: ...
        @overload
        def __getitem__(self, key: Literal["engine"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["engine_version"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["task"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["max_model_len"], /) -> int: ...
        @overload
        def __getitem__(self, key: Literal["users"], /) -> int: ...
        @overload
        def __getitem__(self, key: Literal["picks"], /) -> List["PickPick"]: ...
        # models of older generations, which --all shows
        @overload
        def __getitem__(self, key: Literal["left_out"], /) -> int: ...
        def __getitem__(self, key: Any, /) -> Any: ...


class ModelsModel(TypedDict):
    id: str
    # whatever its types
    model: str
    family: str
    generation: Optional[str]
    tasks: List[str]
    license: Optional[str]
    # of publication
    date: Optional[str]
    # in its files, or else counted from its config
    parameters: Optional[int]
    # repository with GGUF files
    gguf: Optional[str]
    # tag in ollama's library
    ollama_tag: Optional[str]


class Models(Result):
    """kvplan models"""

    if TYPE_CHECKING:
        @overload  # type: ignore[override]
        def __getitem__(self, key: Literal["schema_version"], /) -> Literal[1]: ...
        @overload
        def __getitem__(self, key: Literal["kvplan_version"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["catalogue_date"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["models"], /) -> List["ModelsModel"]: ...
        def __getitem__(self, key: Any, /) -> Any: ...


class GpusGpu(TypedDict):
    vendor: str
    name: str
    aliases: List[str]
    # of one GPU
    memory_bytes: int
    # memory_bytes is what a driver reports; else the nominal size
    memory_reported: bool
    # memory that a program sees
    usable_bytes: Optional[int]
    # 10^9 bytes a second
    bandwidth_gb_s: Optional[float]
    # compute capability of an NVIDIA GPU, times ten: 90 for 9.0
    compute_capability: Optional[int]
    kind: Literal["unified", "discrete"]
    source: str


class Gpus(Result):
    """kvplan gpus"""

    if TYPE_CHECKING:
        @overload  # type: ignore[override]
        def __getitem__(self, key: Literal["schema_version"], /) -> Literal[1]: ...
        @overload
        def __getitem__(self, key: Literal["kvplan_version"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["gpus"], /) -> List["GpusGpu"]: ...
        def __getitem__(self, key: Any, /) -> Any: ...


class FormulasKind(TypedDict):
    kind: "Kind"
    title: str
    # elements of a layer
    formula: str
    config_keys: str
    grows_with: str
    source: str


class Formulas(Result):
    """kvplan formulas"""

    if TYPE_CHECKING:
        @overload  # type: ignore[override]
        def __getitem__(self, key: Literal["schema_version"], /) -> Literal[1]: ...
        @overload
        def __getitem__(self, key: Literal["kvplan_version"], /) -> str: ...
        @overload
        def __getitem__(self, key: Literal["kinds"], /) -> List["FormulasKind"]: ...
        def __getitem__(self, key: Any, /) -> Any: ...


class ModelParameters(TypedDict):
    # unique parameters of the main model
    total: int
    # parameters used for one token
    active: int
    mtp: Optional[int]


class ModelConfig(TypedDict):
    key: str
    value: Any
    origin: Literal["file", "alias", "class_default", "derived"]


class ModelTower(TypedDict):
    what: str
    model_type: Optional[str]
    num_layers: Optional[int]


class Model(TypedDict):
    # a file, - or a Hub id
    source: str
    model_type: Optional[str]
    architecture: Optional[str]
    name: str
    # what its weights were compared with; null: unverified
    checked: Optional[str]
    # the kind of all caching layers, or hybrid if they differ
    attention: Union["Kind", Literal["hybrid"]]
    dtype: str
    num_layers: int
    # null if the config has none
    max_model_len: Optional[int]
    parameters: Optional["ModelParameters"]
    # what the plan read, and from where
    config: List["ModelConfig"]
    # a row for each distinct layer
    layers: List["Layer"]
    # models beside the decoder, without a cache
    towers: List["ModelTower"]


class RequestLora(TypedDict):
    source: str
    # the largest of any module
    rank: Optional[int]
    targets: List[str]
    elements: int
    stored_bytes: int


class Request(TypedDict):
    engine: str
    engine_version: str
    # tokens of one sequence
    max_model_len: int
    num_seqs: int
    max_num_seqs: Optional[int]
    max_num_batched_tokens: Optional[int]
    encoder_len: Optional[int]
    kv_cache_dtype: str
    state_dtype: str
    weights_dtype: str
    tensor_parallel_size: int
    pipeline_parallel_size: int
    data_parallel_size: int
    decode_context_parallel_size: int
    enable_expert_parallel: bool
    enable_dp_attention: bool
    enforce_eager: bool
    # as --attention named it
    attention: Optional[Literal["naive", "flash"]]
    # --margin as a fraction
    margin: Optional[float]
    num_beams: int
    num_samples: int
    speculative_method: Optional[Literal["draft_model", "eagle", "eagle3", "dflash", "dspark", "mtp", "medusa", "ngram"]]
    num_speculative_tokens: Optional[int]
    draft: Optional[str]
    max_loras: Optional[int]
    max_lora_rank: Optional[int]
    loras: List["RequestLora"]
    mmproj: Optional[str]
    gpu: Optional[str]
    gpu_count: int
    gpu_memory_bytes: Optional[int]
    # the fraction of GPU memory that the engine may use
    gpu_memory_utilization: Optional[float]
    kv_cache_memory_bytes: Optional[int]


class KvCacheGap(TypedDict):
    reason: str
    bytes: int


class KvCacheGroup(TypedDict):
    kind: str
    layers: int
    # tokens
    block_size: Optional[int]
    # of one layer and block
    page_bytes: Optional[int]


class KvCache(TypedDict):
    # what one more token adds once every sliding window is full
    bytes_per_token: int
    # the same while every window is still filling
    bytes_per_token_in_window: int
    # fixed state of one sequence
    bytes_per_sequence: int
    # what the architecture needs for the request, whole model
    logical_bytes: int
    # the part of it on the fullest GPU
    logical_bytes_per_gpu: int
    # what the engine takes on the fullest GPU
    reserved_bytes: int
    # the same over all GPUs
    reserved_total_bytes: int
    # from logical_bytes_per_gpu to reserved_bytes; adds up exactly
    gap: List["KvCacheGap"]
    # tokens of the largest group's block
    block_size: Optional[int]
    groups: List["KvCacheGroup"]


class EngineSettings(TypedDict):
    """the engine's settings, requested or default; null if the engine has no such setting"""

    # tokens per step: a prefill chunk, n_batch
    max_num_batched_tokens: Optional[int]
    # the scheduler's cap; null: as many as fit
    max_num_seqs: Optional[int]
    # of GPU memory, or of what is free
    memory_fraction: Optional[float]
    # batch sizes that are captured
    cuda_graph_sizes: Optional[int]
    # graphs of all of them
    cuda_graphs: Optional[int]
    state_slots_per_sequence: Optional[int]
    prefix_caching: Optional[bool]
    attention_backend: Optional[str]
    # tokens computed at once
    n_ubatch: Optional[int]


class GpuMemory(TypedDict):
    """the four parts add up to the total"""

    gpu: int
    weights_bytes: Optional[int]
    kv_cache_bytes: Optional[int]
    activation_bytes: Optional[int]
    runtime_bytes: Optional[int]
    total_bytes: int
    lines: List["Line"]


class HostMemory(TypedDict):
    """what the engine also keeps in host memory, not part of the GPUs' totals; null if nothing"""

    total_bytes: int
    # --host-memory, or this machine's with --gpu auto; null: not checked
    limit_bytes: Optional[int]
    lines: List["Line"]


class Total(TypedDict):
    """all GPUs; the range comes from the estimates"""

    bytes: int
    low_bytes: int
    high_bytes: int


class Capacity(TypedDict):
    """null without a GPU, a size or a KV budget"""

    # per GPU
    kv_cache_memory_bytes: int
    # null if the budget was given or kvplan has no rule for it
    kv_cache_memory_low_bytes: Optional[int]
    kv_cache_memory_high_bytes: Optional[int]
    num_blocks: Optional[int]
    # as the engine's log prints it
    tokens: Optional[int]
    tokens_low: Optional[int]
    tokens_high: Optional[int]
    # at max_model_len
    max_concurrency: float
    # the longest at the requested sequences, at most the model's maximum; null: any length
    max_model_len: Optional[int]
    # the same without the model's maximum; null: any length
    max_model_len_by_memory: Optional[int]
    # the most at the requested length; null: any number
    max_num_seqs: Optional[int]


class Mix(TypedDict):
    """what contiguous and paged caches waste with different sequence lengths; null if all are equal"""

    sequences: int
    # of all sequences
    tokens: int
    # exactly the tokens in use
    needed_bytes: int
    # max_model_len for every sequence
    slab_bytes: int
    slab_waste_bytes: int
    block_size: int
    # block_size is the engine's
    engine_pages: bool
    # whole pages
    page_bytes: int
    page_waste_bytes: int
    page_table_bytes: int
    # tokens
    shared_prefix: int
    # of the pages, where the prefix is stored once
    shared_saving_bytes: int


class Bounds(TypedDict):
    """bounds of speed from the GPU's bandwidth: upper for tokens a second, lower for the first token; null where no
    bandwidth is known"""

    # 10^9 bytes a second of one GPU
    bandwidth_gb_s: float
    num_seqs: int
    # of one rank, all stages, in a step of one sequence
    weights_read_bytes: int
    # in a step of the whole batch: more experts
    weights_read_batch_bytes: int
    # of one sequence at full length, or of the stated mean length
    cache_read_bytes: int
    # one sequence, nothing cached
    tokens_per_s_empty: float
    # one sequence of that length
    tokens_per_s: float
    # all sequences together, each of that length
    tokens_per_s_batch: float
    # sequences from which a step reads more cache than weights
    cache_outweighs_at: Optional[int]
    # of one prompt of that length
    prefill_flops: float
    # 10^12 a second of one GPU, dense
    tflops: Optional[float]
    first_token_s: Optional[float]
    # read from host memory in a step of one sequence of that length
    host_read_bytes: int
    # bandwidth of that read; null if nothing is there
    host_bandwidth_gb_s: Optional[float]


class VerdictSuggestion(TypedDict):
    # option and value
    changes: Dict[str, str]
    # of the fullest GPU, with the change
    total_bytes: int
    headroom_bytes: Optional[int]
    # growth of the headroom
    frees_bytes: Optional[int]
    # what the change costs; null if it is obvious
    cost: Optional[str]
    # the launch command with the changes, if a command was given
    engine_command: Optional[str]


class Verdict(TypedDict):
    status: Literal["fits", "partly_on_cpu", "does_not_fit", "unknown"]
    # the limit lies inside the range
    close: bool
    reason: str
    # negative if memory is missing
    headroom_bytes: Optional[int]
    # the engine starts, whether or not all sequences run at once; null if not known
    starts: Optional[bool]
    # why it does not start, if not for memory
    refusal: Optional[str]
    # the same as a stable name
    refusal_code: Optional[str]
    # sequences like the request's that the engine's scheduler runs together; null if not known
    runs_at_once: Optional[int]
    # the largest --max-num-seqs that the engine starts with, if its cache limits it
    largest_max_num_seqs: Optional[int]
    # what the verdict compares with
    budget_bytes: Optional[int]
    # part of budget_bytes that --reserve keeps free
    reserve_bytes: Optional[int]
    # what makes it fit: one change each, smallest change first
    suggestions: List["VerdictSuggestion"]
    # if it is close: half the width of the range of what a GPU needs
    either_way_bytes: Optional[int]
    # if it is close: what to lower first; if the verdict is not for the given mix of lengths: whether that fits
    advice: Optional[str]


class CalibrationFigure(TypedDict):
    name: str
    # the line that it changed
    what: str
    n: int
    low: float
    high: float
    mean: float
    source: str


class Calibration(TypedDict):
    file: str
    figures: List["CalibrationFigure"]


class MeasurementDevice(TypedDict):
    id: str
    name: str
    driver: Optional[str]
    # memory that the driver's tools report
    nominal_bytes: Optional[int]
    # memory that a program sees
    usable_bytes: int
    # memory taken by opening the device
    context_bytes: Optional[int]
    # allocations are multiples of it
    granularity_bytes: int
    # before anything was allocated
    free_bytes: int
    used_by_others_bytes: int
    other_processes: Optional[int]


class MeasurementLine(TypedDict):
    what: str
    buffers: int
    planned_bytes: int
    # at most this much, from the granularity
    rounding_bytes: int
    measured_bytes: int
    difference_bytes: int
    reason: Optional[str]


class MeasurementBandwidthGbS(TypedDict):
    """reading and writing the cache; null if the cache is too small to tell"""

    n: int
    low: float
    high: float
    mean: float


class MeasurementMaximum(TypedDict):
    """--measure-max: the largest context whose cache allocates"""

    max_model_len: int
    num_seqs: int
    bytes: int
    tries: int
    limited_by: str


class MeasurementRehearsalStepSize(TypedDict):
    bytes: int
    count: int


class MeasurementRehearsalStep(TypedDict):
    what: str
    planned_bytes: int
    # in whole blocks of the engine's allocator
    asked_bytes: int
    blocks: int
    # blocks that were allocated
    held: int
    # block sizes, in the order of the first of each
    sizes: List["MeasurementRehearsalStepSize"]


class MeasurementRehearsal(TypedDict):
    """what the engine allocates at its start, allocated on the device"""

    status: Literal["starts", "tight", "stops"]
    # before the first step
    free_bytes: int
    # left after the last step
    spare_bytes: int
    # what all steps need beyond them
    missing_bytes: int
    # the block that could not be allocated, or that the safety margin kept back
    stopped_at: Optional[str]
    # the driver's message
    reason: Optional[str]
    # in the engine's order
    steps: List["MeasurementRehearsalStep"]


class Measurement(TypedDict):
    device: "MeasurementDevice"
    # planned for opening the device
    planned_context_bytes: Optional[int]
    # the planned GPU whose memory was allocated
    gpu: int
    # as measured
    max_model_len: int
    num_seqs: int
    # why less was measured than planned
    scaled: Optional[str]
    lines: List["MeasurementLine"]
    planned_bytes: int
    measured_bytes: int
    # change of the device's counter after everything was freed: memory of other programs
    left_bytes: int
    # (measured - planned) / planned
    difference: float
    tolerance: float
    # reading and writing the cache; null if the cache is too small to tell
    bandwidth_gb_s: Optional["MeasurementBandwidthGbS"]
    # --measure-max: the largest context whose cache allocates
    maximum: Optional["MeasurementMaximum"]
    # what the engine allocates at its start, allocated on the device
    rehearsal: Optional["MeasurementRehearsal"]
    status: Literal["agrees", "disagrees", "refused", "failed"]
    reason: Optional[str]


class Note(TypedDict):
    level: Literal["info", "warning"]
    # stable, for programs
    code: str
    message: str


class Failed(TypedDict):
    """what has no plan"""

    source: str
    error: str
    # the exit code for only this model
    exit: int


class GridRowCell(TypedDict):
    """if the engine refuses, all but gpu, error and command are null"""

    gpu: str
    # why the engine refuses
    error: Optional[str]
    # tokens of a sequence that it was planned with: the row's max_model_len, or the cell's, if that is auto
    planned_model_len: int
    tensor_parallel_size: Optional[int]
    pipeline_parallel_size: Optional[int]
    data_parallel_size: Optional[int]
    decode_context_parallel_size: Optional[int]
    enable_expert_parallel: Optional[bool]
    enable_dp_attention: Optional[bool]
    # of the fullest GPU
    total_bytes: Optional[int]
    # the longest that fits at the requested sequences, at most the model's maximum
    max_model_len: Optional[int]
    # the same without the model's maximum
    max_model_len_by_memory: Optional[int]
    # the most at the requested length
    max_num_seqs: Optional[int]
    verdict: Optional["Verdict"]
    # plans this again; MODEL is the source
    command: Optional[str]


class GridRow(TypedDict):
    source: str
    engine: str
    engine_version: str
    weights_dtype: Optional[str]
    kv_cache_dtype: str
    # as requested
    max_model_len: int
    # of the main model; null where not known
    parameters: Optional[int]
    num_seqs: int
    # one per GPU, in the order of `cards`
    cells: List["GridRowCell"]


class Answer(TypedDict):
    """a plan, with the options in which it differs from the request"""

    name: str
    # option and value
    changes: Dict[str, str]
    weights_dtype: Optional[str]
    kv_cache_dtype: str
    # as people write it
    layout: str
    # why this layout
    note: Optional[str]
    # these weights need another checkpoint
    other_checkpoint: bool
    # models in local stores with such weights
    stored: List[str]
    # of a layout: the longest context that fits at the requested sequences
    max_model_len: Optional[int]
    # of a layout: the most sequences that fit at the requested length
    max_num_seqs: Optional[int]
    # --users: of the layout, each a separate server
    copies: Optional[int]
    kv_cache: "KvCache"
    # a row for each GPU
    memory: List["GpuMemory"]
    total: "Total"
    capacity: Optional["Capacity"]
    verdict: "Verdict"
    # plans this again; MODEL is the source
    command: Optional[str]


class LayerTerm(TypedDict):
    name: str
    role: Literal["key", "value", "state", "index"]
    elements: int
    per: Literal["token", "source_token", "sequence"]
    dtype: str
    # of one entry
    bytes: int
    # tokens for one entry
    stride: int
    # tokens beyond it cost nothing
    token_limit: Optional[int]


class Layer(TypedDict):
    """layers that are alike"""

    kind: "Kind"
    variant: Optional[str]
    count: int
    indices: str
    # of one such layer
    bytes_per_token: int
    # fixed state of one such layer
    bytes_per_sequence: int
    # tokens beyond it cost nothing
    token_limit: Optional[int]
    terms: List["LayerTerm"]


class Line(TypedDict):
    # stable name, for programs
    id: str
    # where the figure comes from
    basis: Literal["exact", "estimate", "log", "calibrated"]
    part: Literal["weights", "kv_cache", "activation", "runtime"]
    what: str
    bytes: int
    low_bytes: int
    high_bytes: int
    formula: str
    source: str


# A key that a form alone has.
FORMS: Dict[str, Type[Result]] = {
    "kv_cache": Plan,
    "plans": Fleet,
    "cards": Grid,
    "answers": Answers,
    "fits": Fits,
    "headline": Diff,
    "log_version": CheckLog,
    "card": Pick,
    "models": Models,
    "gpus": Gpus,
    "kinds": Formulas,
}
