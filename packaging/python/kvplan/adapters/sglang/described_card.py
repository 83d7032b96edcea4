"""Makes SGLang's Python importable without CUDA, with substitutes for the kernel packages and a simulated GPU.

    described_card.install()          before any import of sglang
    described_card.CARD.tell(...)     what the driver reports from now on
    described_card.answer()           after the import of sglang: its memory queries go to CARD

SGLang keeps the platform's answers, some from its import, so each compute capability needs its own process.
"""
import abc
import importlib.abc
import importlib.machinery
import sys
import types

GIB = 1 << 30
PROCESSORS = 132

# Packages for kernels, media and tracing that a machine without a GPU lacks and that affect none of the figures.
STOOD_IN_FOR = set("""
addict aiter anthropic apache_tvm_ffi av blobfile causal_conv1d cuda cuda_bindings cupy cutlass cv2 datasets decord decord2
deep_ep deep_gemm deepseek_recipe easydict fast_hadamard_transform fla flash_attn flash_mla flashinfer grpc humming kernels
librosa llguidance loguru mamba_ssm matplotlib mistral_common modelscope mooncake mscclpp ninja nixl numba nvidia_cutlass_dsl
nvshmem openai_harmony opentelemetry outlines outlines_core pandas py_spy pyarrow quack scipy sentence_transformers
sgl_deep_gemm sgl_flash_mla sgl_kernel sglang_kernel sklearn smg_grpc_servicer soundfile tilelang timm tml_renderers
torch_memory_saver torchao torchaudio torchcodec torchvision triton tvm tvm_ffi xgrammar""".split())


class Anything:
    """Replaces any object of a missing package. As a decorator it returns the function unchanged."""

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        return args[0] if len(args) == 1 and not kwargs and callable(args[0]) else self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __getitem__(self, key):
        return Anything()

    def __iter__(self):
        return iter(())

    def __or__(self, other):
        return Anything

    __ror__ = __or__

    def __add__(self, other):
        return Anything()

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __add__

    def __bool__(self):
        return False

    def __mro_entries__(self, bases):
        return (object,)


class Kind(abc.ABCMeta):
    """The metaclass of a class that replaces an enumeration: every name exists."""

    def __getattr__(cls, name):
        if name[:1].isupper():
            return Anything()
        raise AttributeError(name)


class Base(metaclass=Kind):
    """The base class for classes that derive from a missing package's class: it takes any arguments, and has only the attributes that are set."""

    def __init__(self, *args, **kwargs):
        pass

    def __class_getitem__(cls, key):
        return cls

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        from pydantic_core import core_schema

        return core_schema.any_schema()


class StandIn(types.ModuleType):
    """A module in which every name exists: as a class if the name begins with a capital letter, else as Anything."""

    __path__ = []

    def __getattr__(self, name):
        if name == "__version__":
            return "99.0"
        if name.startswith("__"):
            raise AttributeError(name)
        if name[:1].isupper():
            bits = "".join(c for c in name if c.isdigit())  # Uint32.width, BFloat16.width
            made = type(name, (Base,), {"width": int(bits)} if bits else {})
        else:
            made = Anything()
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in STOOD_IN_FOR:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


class Card:
    """What the driver reports: the GPU's MiB, compute capability and name, and the GiB that are free now."""

    def tell(self, mib, capability, name, free):
        self.mib, self.capability, self.name, self.free = mib, tuple(capability), name, free


CARD = Card()


def on_meta(value):
    """Replaces a CUDA device by the meta device; other values stay unchanged."""
    import torch

    is_cuda = isinstance(value, str) and value.startswith("cuda") or isinstance(value, torch.device) and value.type == "cuda"
    return "meta" if is_cuda else value


def of_missing(cls, key):
    """Replaces a class that transformers defines only with a missing package (AutoImageProcessor), because SGLang registers its own classes with
    it."""
    try:
        return type.__getattribute__(cls, key)
    except AttributeError:
        return Anything()


def jit(function=None, **how):
    """Replaces triton.jit: a kernel stays the function that it is."""
    if function is None:
        return jit
    function.fn = function
    return function


def install():
    import torch
    import transformers.image_utils  # before the stand-ins, so that transformers finds those packages missing
    import transformers.modeling_utils
    import transformers.models.llama.modeling_llama  # noqa: F401

    transformers.utils.import_utils.DummyObject.__getattribute__ = of_missing
    sys.meta_path.append(Finder())
    import triton.runtime  # a stand-in now; kernels ask it which card they are compiled for

    target = types.SimpleNamespace(backend="cuda", arch=10 * CARD.capability[0] + CARD.capability[1], warp_size=32)
    driver = types.SimpleNamespace(get_current_target=lambda: target, get_current_device=lambda: 0, utils=Anything())
    triton.runtime.driver = types.SimpleNamespace(active=driver)
    import triton.runtime.jit

    triton.jit, triton.runtime.jit.JITFunction = jit, types.FunctionType

    import deep_gemm

    deep_gemm.get_num_sms = lambda: PROCESSORS
    torch.meta = torch.cuda  # torch.get_device_module("meta")
    torch._C._cuda_getCurrentRawStream = lambda *args: 0
    described = torch.library.register_fake

    def register_fake(op, *args, **kwargs):  # an operator of a package that is stood in for has nothing to describe
        missing = isinstance(op, str) and op.split("::")[0] in STOOD_IN_FOR
        return (lambda function: function) if missing else described(op, *args, **kwargs)

    torch.library.register_fake = register_fake
    torch.version.cuda = "13.0"
    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.device_count = lambda: 8
    cuda.current_device = lambda: 0
    cuda.Stream = cuda.Event = Base
    for name in ("set_device", "synchronize", "empty_cache"):
        setattr(cuda, name, lambda *args: None)
    cuda.get_device_capability = lambda *args: CARD.capability
    cuda.get_device_name = lambda *args: CARD.name
    cuda.mem_get_info = lambda *args: (int(CARD.free * GIB), CARD.mib << 20)
    cuda.get_device_properties = lambda *args: types.SimpleNamespace(
        name=CARD.name, major=CARD.capability[0], minor=CARD.capability[1], total_memory=CARD.mib << 20,
        multi_processor_count=PROCESSORS, shared_memory_per_block_optin=232448, is_integrated=False, warp_size=32,
        L2_cache_size=50 << 20, gcnArchName="", max_threads_per_multi_processor=2048)


def answer():
    """Lets CARD answer SGLang's memory queries in all modules that have imported them by name."""
    answers = {"get_available_gpu_memory": lambda *args, **kwargs: CARD.free, "get_nvgpu_memory_capacity": lambda: CARD.mib}
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("sglang."):
            for name, function in answers.items():
                if name in module.__dict__:
                    setattr(module, name, function)
