"""Replaces packages and kernels that a CUDA installation of vLLM imports and this machine lacks. Their names exist; they never run."""
import importlib.machinery
import importlib.metadata
import os
import sys
import types

PACKAGES = ("torchvision", "torchaudio", "torchcodec", "flashinfer", "tilelang", "cutlass", "quack", "tvm", "tvm_ffi", "cuda",
            "flash_attn", "fastsafetensors", "nvidia_cutlass_dsl", "humming", "xformers")
# vLLM's own copy of DeepGEMM: its Python code is present, its library is missing.
SHADOWED = "vllm.third_party.deep_gemm"
LIBRARIES = ("vllm._C_stable_libtorch", "vllm._moe_C_stable_libtorch", "vllm._qutlass_C", "vllm._C", "vllm._moe_C", "vllm._flashmla_C",
             "vllm._flashmla_extension_C", "vllm._flashkda_C", "vllm._deepselect_C", "vllm.vllm_flash_attn._vllm_fa2_C",
             "vllm.vllm_flash_attn._vllm_fa3_C")
ANY_VERSION = "9.9.9"


class AnyClass(type):
    """A class whose every attribute is another such class."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return any_class(name)

    def __iter__(cls):
        return iter(())

    def __len__(cls):
        return 0

    def __or__(cls, other):
        return cls

    __ror__ = __or__


def any_class(name):
    return AnyClass(name, (), {"__init__": lambda self, *a, **k: None, "__call__": lambda self, *a, **k: a[0] if a else None,
                               "__class_getitem__": classmethod(lambda cls, item: cls), "__module__": "stub",
                               "__iter__": lambda self: iter(()), "__len__": lambda self: 0})


def no_bytes(*a, **k):
    """The size of a workspace, which the sums therefore lack."""
    return 0


class AnyModule(types.ModuleType):
    """A module in which every name exists."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        full = self.__name__ + "." + name
        value = sys.modules[full] if full in sys.modules else no_bytes if name.endswith("_bytes") else any_class(name)
        setattr(self, name, value)
        return value


def inside(name, package):
    return name == package or name.startswith(package + ".")


class Finder:
    """Creates the modules of `packages` on import."""

    def __init__(self, packages):
        self.packages = packages

    def find_spec(self, name, path=None, target=None):
        if any(inside(name, package) for package in self.packages):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = AnyModule(spec.name)
        module.__version__ = ANY_VERSION
        return module

    def exec_module(self, module):
        pass


def add_library(name):
    module = AnyModule(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.__file__ = "/dev/null"
    module.__path__ = []
    module.__version__ = "0.0.0"
    sys.modules[name] = module


def install(release):
    sys.meta_path.insert(0, Finder((SHADOWED,)))
    sys.meta_path.append(Finder(PACKAGES))  # last: what is installed is taken
    for name in LIBRARIES:
        add_library(name)
    installed = importlib.metadata.version

    def version(name):
        if name == "vllm":
            return release
        return ANY_VERSION if name.replace("-", "_") in PACKAGES else installed(name)

    importlib.metadata.version = version


def install_flashinfer():
    """Makes FlashInfer look as if nvcc or its cubins were installed: without them vLLM treats the package as missing."""
    os.environ["VLLM_HAS_FLASHINFER_CUBIN"] = "1"
    import flashinfer.mla

    class Wrapper:  # vLLM looks at this signature
        def run(self, *a, ckv_scale=None, ckv_scale_arr=None, **k):
            pass

    flashinfer.mla.BatchMLAPagedAttentionWrapper = Wrapper


class Kernel:
    """Replaces a kernel that never runs. Answers the library's C++ functions that report a GPU's capabilities."""

    capability = 0  # 90 for compute capability 9.0

    def __init__(self, name):
        self.__name__ = self._name = name
        self._schema = None

    def __call__(self, *a, **k):
        can = {"cutlass_scaled_mm_supports_fp8": self.capability >= 89, "cutlass_scaled_mm_supports_block_fp8": self.capability >= 90,
               "cutlass_group_gemm_supported": 90 <= self.capability < 110,
               "cutlass_scaled_mm_supports_fp4": 100 <= self.capability < 130}
        if self._name in can:
            return can[self._name]
        if self._name == "get_cuda_view_from_cpu_tensor":
            return a[0]  # the host's memory, which a card reads
        if "workspace_size" in self._name:
            return 0  # the bytes of such a workspace are missing from the sums
        if "support" in self._name or self._name.startswith("is_"):
            return True
        raise NotImplementedError("kernel " + self._name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Kernel(self._name + "." + name)


def install_kernels(torch, capability):
    Kernel.capability = capability
    find = torch._ops._OpNamespace.__getattr__

    def find_or_make(self, name):
        try:
            return find(self, name)
        except AttributeError:
            if name.startswith("__") or not self.name.startswith("_"):
                raise
            return Kernel(name)

    torch._ops._OpNamespace.__getattr__ = find_or_make
    register = torch.library.register_fake

    def register_known(op, *a, **k):
        if isinstance(op, str) and op.split("::")[0].startswith("_"):
            return None if a else (lambda f: f)
        return register(op, *a, **k)

    torch.library.register_fake = register_known
