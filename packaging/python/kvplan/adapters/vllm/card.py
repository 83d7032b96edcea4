"""Simulates a CUDA GPU for vLLM on a machine without one: torch, Triton and vLLM's platform answer as on that GPU, and tensors are on the meta
device. play() must run before the import of vllm. The tensor parallel group is simulated; this process is its rank 0."""
import contextlib
import os
import sys

import stubs

CARDS = {  # name, compute capability, bytes, multiprocessors, shared memory that a block may ask for, L2
    "h100": ("NVIDIA H100 80GB HBM3", (9, 0), 85029158912, 132, 232448, 50 << 20),
    "b200": ("NVIDIA B200", (10, 0), 191514607616, 148, 232448, 126 << 20),
    "a100": ("NVIDIA A100-SXM4-80GB", (8, 0), 85100068864, 108, 166912, 40 << 20),
    "rtx-4090": ("NVIDIA GeForce RTX 4090", (8, 9), 25393692672, 128, 101376, 72 << 20),
}
GPUS = 8  # of the machine


def play(source, release, card, flashinfer, cache):
    """Makes the vllm in `source` importable. vLLM writes to the folder `cache`. `card` is a name or a row of CARDS."""
    described = CARDS.get(card, card)
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", VLLM_NO_USAGE_STATS="1", CUDA_VISIBLE_DEVICES="",
                      VLLM_LOGGING_LEVEL="ERROR", VLLM_CONFIGURE_LOGGING="1", VLLM_ENABLE_V1_MULTIPROCESSING="0", VLLM_CACHE_ROOT=cache)
    if source:
        sys.path.insert(0, source)
    stubs.install(release)
    if flashinfer:
        stubs.install_flashinfer()
    import torch
    torch.version.cuda = "13.0"
    stubs.install_kernels(torch, 10 * described[1][0] + described[1][1])
    play_torch(torch, *described)
    play_triton(torch, described[1])
    play_platform(*described[:4])
    play_groups()


class Stream:
    cuda_stream = 0

    def __init__(self, *a, **k): pass
    def __enter__(self): return self
    def __exit__(self, *a): return None
    def wait_stream(self, *a): pass
    def wait_event(self, *a): pass
    def record_event(self, *a): return self
    def record(self, *a): pass
    def synchronize(self): pass
    def query(self): return True


def play_torch(torch, card_name, capability, memory, processors, shared, l2):
    class Properties:
        name, (major, minor) = card_name, capability
        total_memory, multi_processor_count, is_integrated = memory, processors, False
        shared_memory_per_block_optin = shared
        L2_cache_size = l2_cache_size = l2
        warp_size, max_threads_per_multi_processor, regs_per_multiprocessor = 32, 2048, 65536

    cuda, accelerator = torch.cuda, torch.accelerator
    cuda.get_device_properties = lambda *a, **k: Properties
    cuda.get_device_capability = lambda *a, **k: capability
    cuda.get_device_name = lambda *a, **k: card_name
    cuda.current_device = lambda: 0
    cuda.device_count = accelerator.device_count = lambda: GPUS
    cuda.is_available = accelerator.is_available = lambda: True
    cuda.Stream = cuda.Event = Stream
    cuda.current_stream = accelerator.current_stream = lambda *a, **k: Stream()
    cuda.stream = lambda stream: contextlib.nullcontext()
    cuda.mem_get_info = lambda *a, **k: (memory, memory)
    for module in (cuda, accelerator):
        module.synchronize = module.empty_cache = lambda *a, **k: None
    accelerator.current_accelerator = lambda *a, **k: torch.device("cuda")
    accelerator.current_device_index = lambda: 0
    accelerator.set_device_index = lambda *a: None


def play_triton(torch, capability):
    import triton.runtime.driver
    from triton.backends.compiler import GPUTarget

    class Driver:
        def get_current_target(self):
            return GPUTarget("cuda", 10 * capability[0] + capability[1], 32)

        def get_active_torch_device(self):
            return torch.device("cuda")

        def get_current_device(self):
            return 0

        def get_device_interface(self):
            return torch.cuda

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return stubs.any_class(name)()

    triton.runtime.driver.set_active(Driver())


def play_platform(card_name, capability, memory, processors):
    import vllm.platforms as platforms
    import vllm.platforms.cuda as cuda
    from vllm.platforms.interface import DeviceCapability

    class Card(cuda.NonNvmlCudaPlatform):
        get_device_capability = classmethod(lambda cls, device_id=0: DeviceCapability(*capability))
        get_device_name = classmethod(lambda cls, device_id=0: card_name)
        get_device_total_memory = classmethod(lambda cls, device_id=0: memory)
        get_device_uuid = classmethod(lambda cls, device_id=0: "GPU-0")
        num_compute_units = classmethod(lambda cls, device_id=0: processors)
        is_fully_connected = classmethod(lambda cls, ids: True)
        device_count = classmethod(lambda cls: GPUS)
        set_device = classmethod(lambda cls, device: None)

    platforms._current_platform = Card()


def play_groups():
    """Makes process groups without communication and a model registry without its subprocess, and records nothing for a later reload of weights."""
    import torch.distributed as dist
    import vllm.distributed.parallel_state as state
    import vllm.model_executor.model_loader.utils as loading
    import vllm.model_executor.models.registry as registry

    make_group = dist.new_group
    dist.new_group = lambda ranks=None, *a, **k: make_group(ranks, backend="fake")
    init = state.GroupCoordinator.__init__
    names = init.__code__.co_varnames[1:init.__code__.co_argcount]

    def init_alone(self, *a, **k):
        bound = {**dict(zip(names, a)), **k, "use_device_communicator": False}
        if "use_message_queue_broadcaster" in bound:
            bound["use_message_queue_broadcaster"] = False
        init(self, **bound)

    state.GroupCoordinator.__init__ = init_alone
    loading.record_metadata_for_reloading = lambda model: None  # half the time of a large model
    registry._LazyRegisteredModel.inspect_model_cls = lambda self: registry._ModelInfo.from_model_cls(self.load_model_cls())


def start_groups(config, ranks):
    """Makes groups of `ranks` tensor parallel ranks and replaces those of the previous case."""
    import torch.distributed as dist
    import vllm.distributed.parallel_state as state
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from vllm.config import set_current_vllm_config

    if dist.is_initialized():
        state.destroy_model_parallel()
        state._WORLD = None
        dist.destroy_process_group()
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)
    with set_current_vllm_config(config):
        state._WORLD = state.init_world_group(list(range(ranks)), 0, "fake")
        state._NODE_COUNT = 1
        state.initialize_model_parallel(tensor_model_parallel_size=ranks, backend="fake")


def on_meta():
    """A mode in which every cuda device is the meta device."""
    import torch

    def swap(x):
        if isinstance(x, torch.device) and x.type == "cuda":
            return torch.device("meta")
        if isinstance(x, str) and (x == "cuda" or x.startswith("cuda:")):
            return "meta"
        return x

    class OnMeta(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function is torch.Tensor.cuda:
                return args[0].to("meta")
            if function is torch.Tensor.pin_memory:
                return args[0]
            name = getattr(function, "__name__", "")
            if name in ("Tensor.is_pinned", "is_pinned"):
                return False
            if name in ("item", "tolist") and args[0].is_meta:  # a number that some layers compute; no size depends on it
                return 0.0 if name == "item" else torch.zeros(args[0].shape, device="cpu").tolist()
            kwargs = {k: swap(v) if k in ("device", "dtype") else v for k, v in (kwargs or {}).items()}
            if type(kwargs.get("device")) is int:
                kwargs["device"] = "meta"
            if name in ("_parse_to", "to"):
                args = tuple("meta" if type(a) is int else a for a in args)
            if kwargs.get("pin_memory"):
                kwargs["pin_memory"] = False
            if name == "device" and type(args[0]) is int:
                return torch.device("meta")
            if name != "device":
                args = tuple(swap(a) for a in args)
            try:
                return function(*args, **kwargs)
            except NotImplementedError:  # a copy out of meta: there is nothing to copy
                if name in ("to", "cpu") and isinstance(args[0], torch.Tensor):
                    return torch.zeros_like(args[0], device="cpu" if "cpu" in (name, *map(str, args[1:])) else "meta")
                raise

    return OnMeta()
