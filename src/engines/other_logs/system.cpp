// What Python, PyTorch, CUDA, ROCm, NCCL, Triton, drivers, the kernel and docker print when any engine fails.
// Source: recorded logs of public issue threads; the messages of c10/cuda/CUDACachingAllocator.cpp, of Triton's
// runtime/errors.py, of NCCL's init.cc and socket.cc, of the kernel's OOM killer and of docker.
#include "engines/log_lines.h"

namespace kvplan {

using enum LogEventId;

constexpr std::string_view kNcclRoom =
    "a smaller GPU memory fraction for the engine | NCCL allocates beside it; fewer programs on the GPU; "
    "NCCL_BUFFSIZE=1048576 | smaller buffers; NCCL_DEBUG=INFO | shows which rank it was";
constexpr std::string_view kOwnLimit =
    "a higher memory limit of the container (docker -m, MemoryMax=); "
    "@smaller_weights; @shorter_length";

constexpr LogTemplate kSystemEvents[] = {
    {"{backend:word} out of memory. Tried to allocate {wanted:size}. GPU {gpu} has a total capacity of {total:size} of "
     "which {free:size} is free.{*}this process has {used:size} memory in use.{*}Of the allocated memory "
     "{allocated:size} is allocated by PyTorch,{*}and {unused:size} is reserved by PyTorch but unallocated",
     kOutOfMemory, "", "",
     "CUDA out of memory. Tried to allocate 462.00 MiB. GPU 0 has a total capacity of 79.44 GiB of which 145.19 MiB is "
     "free. Including non-PyTorch memory, this process has 79.29 GiB memory in use. Of the allocated memory 78.78 GiB "
     "is allocated by PyTorch, and 13.27 MiB is reserved by PyTorch but unallocated"},
    {"{backend:word} out of memory. Tried to allocate {wanted:size}. GPU {gpu} has a total capacity of {total:size} of "
     "which {free:size} is free.{*}Of the allocated memory {allocated:size} is allocated by PyTorch, and "
     "{unused:size} is reserved by PyTorch but unallocated",
     kOutOfMemory, "", "",
     "'CUDA out of memory. Tried to allocate 1029.51 GiB. GPU 0 has a total capacity of 79.35 GiB of which 19.23 GiB "
     "is free. Process 145882 has 60.12 GiB memory in use. Of the allocated memory 58.52 GiB is allocated by PyTorch, "
     "and 310.01 MiB is reserved by PyTorch but unallocated"},
    {"{backend:word} out of memory. Tried to allocate {wanted:size}. GPU {gpu} has a total capacity of {total:size} of "
     "which {free:size} is free",
     kOutOfMemory, "", "",
     "CUDA out of memory. Tried to allocate 136.00 MiB. GPU 0 has a total capacity of 22.36 GiB of which 120.88 MiB is "
     "free"},
    {"{backend:word} out of memory. Tried to allocate {wanted:size}. GPU {gpu} has a total capacty of {total:size} of "
     "which {free:size} is free",
     kOutOfMemory, "", "",
     "CUDA out of memory. Tried to allocate 250.00 MiB. GPU 0 has a total capacty of 14.58 GiB of which 123.75 MiB is "
     "free"},
    {"{backend:word} out of memory. Tried to allocate {wanted:size} ({kind:word} {gpu}; {total:size} total capacity; "
     "{allocated:size} already allocated; {active:size} current active; {free:size} free",
     kOutOfMemory, "", "",
     "NPU out of memory. Tried to allocate 3.47 GiB (NPU 0; 60.97 GiB total capacity; 58.92 GiB already allocated; "
     "58.92 GiB current active; 1.66 GiB free"},
    {"{backend:word} out of memory. Tried to allocate {wanted:size} ({kind:word} {gpu}; {total:size} total capacity; "
     "{allocated:size} already allocated; {free:size} free",
     kOutOfMemory, "", "",
     "CUDA out of memory. Tried to allocate 172.00 MiB (GPU 0; 23.65 GiB total capacity; 22.99 GiB already allocated; "
     "154.06 MiB free"},
    {"{backend:word} out of memory. Tried to allocate {wanted:size}. GPU {gpu} has a total capacity of {total:size}. "
     "Of "
     "the allocated memory {allocated:size}",
     kOutOfMemory, "", "",
     "cuda out of memory. Tried to allocate 5.62 GiB. GPU 3 has a total capacity of 5.62 GiB. Of the allocated memory "
     "5.62 GiB"},
    {"{backend:word} out of memory. Tried to allocate {wanted:size}", kOutOfMemory, "", "",
     "CUDA out of memory. Tried to allocate 136.00 MiB"},
    {"{backend:word} error: out of memory", kOutOfMemory, "", "", "CUDA error: out of memory"},
    {"CUDA_ERROR_OUT_OF_MEMORY", kOutOfMemory},
    {"cudaErrorMemoryAllocation", kOutOfMemory},
    {"CUBLAS_STATUS_ALLOC_FAILED", kOutOfMemory, "no memory for cuBLAS's workspace: the GPU is full"},
    {"CUDNN_STATUS_ALLOC_FAILED", kOutOfMemory, "no memory for cuDNN's workspace: the GPU is full"},
    {"would exceed allowed memory", kOutOfMemory},
    {"{backend:word} runtime error in {call:text}: out of memory", kOutOfMemory, "", "",
     "[ERROR] CUDA runtime error in ::cudaMallocAsync(ptr, n, mCudaStream->get()): out of memory"},
    {"HSA_STATUS_ERROR_OUT_OF_RESOURCES", kOutOfMemory},
    {"UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY", kOutOfMemory, "the GPU ran out of memory (Level Zero)"},
    {"UR_RESULT_ERROR_OUT_OF_RESOURCES", kOutOfMemory, "the GPU ran out of memory (Level Zero)"},
    {"NPU out of memory", kOutOfMemory},
    {"aclrtMalloc failed", kOutOfMemory, "the NPU ran out of memory (aclrtMalloc)"},
    {"RESOURCE_EXHAUSTED: {reason:text}", kOutOfMemory, "the device ran out of memory: {reason}", "",
     "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 16.5G of "
     "15.75G"},
    {"MPS backend out of memory (MPS allocated: {allocated:size}, other allocations: {other:size}, max allowed: "
     "{total:size}). Tried to allocate {wanted:size}",
     kOutOfMemory,
     "Metal (MPS) ran out of memory: {allocated} of {total} are allocated, and {wanted} more was requested",
     "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 | lets PyTorch use all memory; a smaller weight type; a shorter context",
     "RuntimeError: MPS backend out of memory (MPS allocated: 17.55 GB, other allocations: 500.00 MB, max allowed: "
     "18.13 "
     "GB). Tried to allocate 256.00 MB on private pool."},
    // The driver.
    {"[NV_ERR_NO_MEMORY]", kOutOfMemory,
     "the NVIDIA driver ran out of memory (NV_ERR_NO_MEMORY): on a GPU that shares main memory, such as GB10, memory "
     "that the system counts as free may not be available",
     "--gpu-memory-utilization lower (vLLM), --mem-fraction-static lower (SGLang) | leaves memory for the system; "
     "--kv-cache-memory-bytes | a KV cache of a fixed size; drop the page cache before the start | sync; echo 3 > "
     "/proc/sys/vm/drop_caches; fewer CUDA graphs | --enforce-eager or a smaller --max-num-seqs",
     "NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051) returned from "
     "_memdescAllocInternal(pMemDesc) @ mem_desc.c:1359"},
    {"NVRM: Xid (PCI:{bus:word}): {xid}, {what:text}", kDied, "the NVIDIA driver reports Xid {xid}: {what}",
     "look up the Xid in NVIDIA's documentation: 13, 31 and 43 are usually the program, 48, 63, 64, 74, 79, 94 and 95 "
     "the hardware; reboot, and check power and cooling | if the GPU has fallen off the bus (79); @newer_release",
     "NVRM: Xid (PCI:0000:65:00): 31, pid=1234, name=python3, MMU Fault"},
    {"NVRM: Xid", kDied, "the NVIDIA driver reports an error of the GPU",
     "look up the Xid in NVIDIA's documentation; reboot, and check power and cooling"},
    {"GPU has fallen off the bus", kDied,
     "the GPU has fallen off the PCIe bus: power, cooling, riser or a hardware fault",
     "reboot, and check power and cooling | nvidia-smi -q -d PERFORMANCE, dmesg"},
    {"uncorrectable ECC error", kDied, "the GPU's memory has an uncorrectable error: a defect of the hardware",
     "reset the GPU (nvidia-smi --gpu-reset) or reboot; have the GPU replaced if it comes back"},
    {"amdgpu: {*}page fault", kDied, "the AMD driver reports a page fault of the GPU",
     "@newer_release; unset HSA_OVERRIDE_GFX_VERSION | if it was set",
     "amdgpu 0000:03:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32770)"},
    {"HW Exception by GPU node", kDied, "the AMD GPU hung (HW exception)", "@newer_release; a newer ROCm and driver"},
    {"Memory access fault by GPU node", kDied, "a kernel on the AMD GPU read memory that is not its own",
     "@newer_release; --enforce-eager | rules graphs out"},
    {"CUDA driver version is insufficient for CUDA runtime version", kRefused,
     "the NVIDIA driver is older than the CUDA of this build",
     "a newer NVIDIA driver; an image or wheel built for the installed driver's CUDA (nvidia-smi shows it)"},
    {"The NVIDIA driver on your system is too old (found version {driver})", kRefused,
     "the NVIDIA driver ({driver}) is older than the CUDA of this build",
     "a newer NVIDIA driver; an image or wheel built for the installed driver's CUDA (nvidia-smi shows it)",
     "RuntimeError: The NVIDIA driver on your system is too old (found version 12020)."},
    {"Found no NVIDIA driver on your system", kRefused, "there is no NVIDIA driver, or the container does not see it",
     "docker run --gpus all (--runtime nvidia) | shows the GPUs to a container; install the NVIDIA driver"},
    {"could not select device driver \"\" with capabilities: [[gpu]]", kRefused, "docker has no NVIDIA runtime",
     "install nvidia-container-toolkit and restart docker",
     "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]]."},
    {"No CUDA GPUs are available", kRefused, "no GPU is visible to the process",
     "docker run --gpus all | shows the GPUs to a container; check CUDA_VISIBLE_DEVICES and nvidia-smi"},
    {"no CUDA-capable device is detected", kRefused, "no GPU is visible to the process",
     "docker run --gpus all | shows the GPUs to a container; check CUDA_VISIBLE_DEVICES and nvidia-smi"},
    {"No HIP GPUs are available", kRefused, "no AMD GPU is visible to the process",
     "docker run --device /dev/kfd --device /dev/dri --group-add video; check HIP_VISIBLE_DEVICES and rocminfo"},
    {"invalid device ordinal", kTooFewCards, "the command asks for a GPU that is not there",
     "@ranks_that_divide; check CUDA_VISIBLE_DEVICES"},
    {"system not yet initialized", kRefused, "the NVSwitch fabric is not running (CUDA error 802)",
     "start nvidia-fabricmanager, in the driver's version"},
    {"CUDA initialization: Unexpected error from cudaGetDeviceCount()", kRefused, "CUDA could not be initialized",
     "check nvidia-smi; the NVIDIA driver and the build's CUDA have to match; start nvidia-fabricmanager | with "
     "NVSwitch"},
    {"Failed to initialize NVML: {reason:text}", kRefused, "the driver's library (NVML) does not answer: {reason}",
     "restart the container or reboot | after a driver update; docker run --gpus all",
     "Failed to initialize NVML: Unknown Error"},
    // Kernels.
    {"no kernel image is available for execution on the device", kNoKernel},
    {"device kernel image is invalid", kNoKernel},
    {"no binary for gpu", kNoKernel, "this build has no kernels for the AMD GPU",
     "HSA_OVERRIDE_GFX_VERSION=10.3.0 or 11.0.0 | for a close relative of a supported GPU; @other_build",
     "\"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!\" no binary for gpu"},
    {"hipErrorNoBinaryForGpu", kNoKernel, "this build has no kernels for the AMD GPU",
     "HSA_OVERRIDE_GFX_VERSION=10.3.0 or 11.0.0 | for a close relative of a supported GPU; @other_build"},
    {"the provided PTX was compiled with an unsupported toolchain", kNoKernel,
     "the NVIDIA driver is older than the CUDA of the kernels", "a newer NVIDIA driver; @other_build"},
    {"CUDA error: invalid device function", kNoKernel},
    {"is not compatible with the current PyTorch installation", kMemoryHint,
     "PyTorch has no kernels for this GPU's compute capability", "@other_build",
     "UserWarning: NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch "
     "installation."},
    {"ptxas fatal : Value '{arch:word}' is not defined for option 'gpu-name'", kNoKernel,
     "the CUDA tools of this build do not know {arch}",
     "a build with a newer CUDA and Triton; TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas | the installed CUDA's own",
     "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'"},
    {"type fp8e4nv not supported in this architecture", kQuantizationNeedsCard,
     "a Triton kernel needs FP8 (e4m3), which takes compute capability 8.9 (Ada, Hopper); this GPU (Ampere or older) "
     "has only fp8e5",
     "--kv-cache-dtype fp8_e5m2 or auto | if the KV cache is the one in FP8; --moe-backend marlin | FP8 weights with "
     "16-bit arithmetic (vLLM); another checkpoint (AWQ, GPTQ, bfloat16); @newer_release",
     "ValueError(\"type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', "
     "'fp8e5')\")"},
    {"The quantization method {method:word} is not supported for the current GPU. Minimum capability: {least}. Current "
     "capability: {capability}",
     kQuantizationNeedsCard, "", "",
     "The quantization method awq is not supported for the current GPU. Minimum capability: 75. Current capability: "
     "70."},
    {"is not supported for quantization method {method:word}", kNoBfloat16, "{method} kernels do not take this type",
     "@float16:--dtype half",
     "ValueError: torch.bfloat16 is not supported for quantization method awq. Supported dtypes: [torch.float16]"},
    {"out of resource: shared memory, Required: {required:B}, Hardware limit: {limit:B}", kSharedMemory, "", "",
     "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 263168, Hardware limit: 232448."},
    {"OutOfResources: shared memory, Required: {required:B}, Hardware limit: {limit:B}", kSharedMemory, "", "",
     "OutOfResources: shared memory, Required: 131072, Hardware limit: 101376."},
    {"CUDA error: an illegal memory access", kRefused,
     "a kernel accessed invalid memory: a bug in a kernel, not a lack of memory",
     "--enforce-eager (vLLM), --disable-cuda-graph (SGLang) | rules graphs out; another attention backend; "
     "@newer_release; "
     "CUDA_LAUNCH_BLOCKING=1 | shows which kernel it was"},
    {"CUDA error: unspecified launch failure", kRefused, "a kernel failed: a bug in the kernel, or a GPU fault",
     "@newer_release; look for Xid in dmesg"},
    {"CUDA error: device-side assert triggered", kRefused,
     "an assertion in a kernel failed: usually a token or index out of range",
     "CUDA_LAUNCH_BLOCKING=1 | shows which kernel it was; check that the tokenizer matches the checkpoint; "
     "@newer_release"},
    {"rocBLAS error: Cannot read {file:word}", kNoKernel, "this rocBLAS has no kernels for the AMD GPU ({file})",
     "HSA_OVERRIDE_GFX_VERSION=11.0.0 or 10.3.0 | for a close relative of a supported GPU; @other_build",
     "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : "
     "gfx1103"},
    {"Unsupported gpu architecture '{arch:word}'", kNoKernel, "the installed CUDA toolkit (nvcc) does not know {arch}",
     "a newer CUDA toolkit; a build of the engine with a newer CUDA; @other_kernels",
     "nvcc fatal : Unsupported gpu architecture 'compute_120a'"},
    {"CUBLAS_STATUS_NOT_SUPPORTED", kNoKernel, "cuBLAS has no such operation for this GPU or type"},
    {"Failed to find C compiler", kRefused, "Triton needs a C compiler to build its kernels",
     "apt-get install build-essential (gcc, python3-dev); --enforce-eager | compiles less"},
    {"Python.h: No such file", kRefused, "Triton needs the headers of Python to build its kernels",
     "apt-get install python3-dev", "fatal error: Python.h: No such file or directory"},
    {"Could not find nvcc", kRefused, "kernels are compiled at the start, and nvcc is missing",
     "install the CUDA toolkit and set CUDA_HOME; VLLM_USE_FLASHINFER_SAMPLER=0 | if FlashInfer's sampler needs it",
     "RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist"},
    {"CUDA_HOME environment variable is not set", kRefused,
     "kernels are compiled at the start, and the CUDA toolkit is missing",
     "install the CUDA toolkit and set CUDA_HOME"},
    {"ninja: build stopped", kRefused, "a kernel could not be compiled; the lines above say why",
     "MAX_JOBS=4 | less main memory for the compiler; a CUDA toolkit that matches PyTorch's",
     "ninja: build stopped: subcommand failed."},
    // Several GPUs.
    {"NCCL error in: {place:text}, {reason:text}, NCCL version {version:word}", kRefused,
     "the GPUs could not communicate (NCCL): {reason}",
     "NCCL_DEBUG=INFO | shows why; --shm-size 10g or --ipc=host | in docker; NCCL_P2P_DISABLE=1 | if peer access "
     "between the GPUs is broken; --disable-custom-all-reduce",
     "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1691, "
     "unhandled "
     "system error, NCCL version 2.19.3"},
    {"NCCL error: {reason:text}", kRefused, "the GPUs could not communicate (NCCL): {reason}",
     "NCCL_DEBUG=INFO | shows why; --shm-size 10g or --ipc=host | in docker; NCCL_P2P_DISABLE=1 | if peer access "
     "between the GPUs is broken; NCCL_SOCKET_IFNAME | the network between nodes",
     "RuntimeError: NCCL error: unhandled cuda error (run with NCCL_DEBUG=INFO for details)"},
    {"NCCL WARN Cuda failure 'out of memory'", kOutOfMemory, "no GPU memory for NCCL's buffers", kNcclRoom},
    {"NCCL WARN Cuda failure {code} 'out of memory'", kOutOfMemory, "no GPU memory for NCCL's buffers", kNcclRoom,
     "host:123:456 [0] init.cc:416 NCCL WARN Cuda failure 2 'out of memory'"},
    {"NCCL WARN Call to posix_fallocate failed : {reason:text}", kRefused, "/dev/shm is too small for NCCL: {reason}",
     "--shm-size 10g or --ipc=host | in docker; NCCL_SHM_DISABLE=1",
     "include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device"},
    {"Error while creating shared memory segment {segment:word} (size {wanted:B})", kRefused,
     "/dev/shm is too small for NCCL ({wanted} needed)", "--shm-size 10g or --ipc=host | in docker; NCCL_SHM_DISABLE=1",
     "misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-x. Error while creating shared memory "
     "segment /dev/shm/nccl-x (size 33030528)"},
    {"NCCL WARN {reason:text}", kRaised, "NCCL: {reason}",
     "NCCL_DEBUG=INFO | shows why; --shm-size 10g or --ipc=host | in docker",
     "host:123:456 [0] transport/net_ib.cc:1 NCCL WARN Failed to open libibverbs.so[.1]"},
    {"Watchdog caught collective operation timeout: {what:text} ran for {ms} milliseconds", kDied,
     "a collective operation hung: one GPU did not answer in time",
     "look at the other ranks' lines | one of them failed first; NCCL_P2P_DISABLE=1 | if peer access hangs; "
     "NCCL_DEBUG=INFO | shows why; --disable-custom-all-reduce",
     "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE) ran for 600029 "
     "milliseconds before timing out."},
    {"unhandled system error", kRefused, "the GPUs could not communicate (NCCL: unhandled system error)",
     "NCCL_DEBUG=INFO | shows why; --shm-size 10g or --ipc=host | in docker; NCCL_SOCKET_IFNAME | the "
     "network between nodes"},
    {"peer access is not supported between these two devices", kRefused, "the GPUs cannot read each other's memory",
     "NCCL_P2P_DISABLE=1; --disable-custom-all-reduce"},
    {"Socket Timeout", kRefused, "another rank or node could not be reached in time",
     "check that all nodes run and that firewalls are open; NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME | the network "
     "between nodes"},
    // The system.
    {"Too many open files", kRefused, "the process may open no more files",
     "ulimit -n 65536 (LimitNOFILE= of a systemd unit)"},
    {"No space left on device", kRefused, "a disk (or /dev/shm) is full",
     "free or enlarge the disk; --shm-size 10g or --ipc=host | if it is /dev/shm, in docker; HF_HOME | the cache on "
     "another disk"},
    {"Bus error", kHostOutOfMemory,
     "the process died of a bus error: usually /dev/shm is too small, or a mapped file was truncated",
     "--shm-size 10g or --ipc=host | in docker; download the checkpoint again"},
    {"Segmentation fault", kDied, "the process crashed (segmentation fault): a bug, not a lack of memory",
     "@newer_release; remove the option that you added last"},
    {"address already in use", kRefused, "another program has the port", "stop the other program, or another --port",
     "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use"},
    {"Address already in use", kRefused, "another program has the port", "stop the other program, or another --port"},
    {"bind: Only one usage of each socket address", kRefused, "another program has the port",
     "stop the other program, or another port"},
    {"not enough memory: you tried to allocate {wanted:B} bytes", kHostOutOfMemory, "", "",
     "RuntimeError: [enforce fail at alloc_cpu.cpp:80] data. DefaultCPUAllocator: not enough memory: you tried to "
     "allocate 90177536 bytes."},
    {"can't allocate memory: you tried to allocate {wanted:B} bytes", kHostOutOfMemory, "", "",
     "DefaultCPUAllocator: can't allocate memory: you tried to allocate 90177536 bytes. Error code 12 (Cannot allocate "
     "memory)"},
    {"exited with exit code {code}", kExited, "", "", "The Python process exited with exit code 137 (SIGKILL)."},
    {"exited with code {code}", kExited, "", "", "vllm-1 exited with code 137"},
    {"exit code: {code}", kExited, "", "", "exit code: 137"},
    {"exitcode: {code}", kExited, "", "", "exitcode: -9"},
    {"exitcode : {code}", kExited, "", "", "exitcode  : -9 (pid: 77)"},
    {"Exit Code: {code}", kExited, "", "", "Exit Code:    137"},
    {"(exit {code})", kExited, "", "", "child process ended (exit 137)"},
    {"Reason: OOMKilled", kHostOutOfMemory,
     "the container was killed: it used more main memory than its limit (OOMKilled)",
     "a higher memory limit of the container (resources.limits.memory, docker -m); @no_graphs | less is compiled; "
     "@smaller_weights",
     "    Reason:       OOMKilled"},
    {"reason: OOMKilled", kHostOutOfMemory,
     "the container was killed: it used more main memory than its limit (OOMKilled)",
     "a higher memory limit of the container (resources.limits.memory, docker -m); @smaller_weights"},
    {"\"OOMKilled\": true", kHostOutOfMemory,
     "the container was killed: it used more main memory than its limit (OOMKilled)",
     "a higher memory limit of the container (resources.limits.memory, docker -m); @smaller_weights"},
    {"Memory cgroup out of memory: Killed process {pid} ({process:word}){*}anon-rss:{rss:size}", kHostOutOfMemory,
     "the kernel killed {process}: it used {rss} of main memory, more than its cgroup (container, slice) allows",
     kOwnLimit,
     "Memory cgroup out of memory: Killed process 4711 (python3) total-vm:98304000kB, anon-rss:62914560kB, "
     "file-rss:71680kB"},
    {"Memory cgroup out of memory: Killed process {pid} ({process:word}", kHostOutOfMemory,
     "the kernel killed {process}: it used more main memory than its cgroup (container, slice) may", kOwnLimit,
     "Memory cgroup out of memory: Killed process 4711 (python3)"},
    {"Out of memory: Killed process {pid} ({process:word}){*}anon-rss:{rss:size}", kHostOutOfMemory,
     "the machine ran out of RAM, not the GPU: the kernel killed {process}, which used {rss}", "",
     "Out of memory: Killed process 2931 (llama-server) total-vm:91234567kB, anon-rss:60123456kB, file-rss:0kB, "
     "shmem-rss:0kB"},
    {"Out of memory: Killed process {pid} ({process:word}", kHostOutOfMemory,
     "the machine ran out of main memory (RAM), not the GPU: the kernel killed {process}", "",
     "Out of memory: Killed process 2931 (llama-server)"},
    {"oom-kill:constraint=CONSTRAINT_MEMCG{*},task={process:word},pid={pid}", kHostOutOfMemory,
     "the kernel killed {process}: it used more main memory than its cgroup (container, slice) may", kOwnLimit,
     "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/kubepods.slice/pod1.slice,task=python3,pid=77"},
    {"has been killed by the OOM killer", kHostOutOfMemory,
     "the kernel killed a process of the service: the machine or its slice ran out of main memory",
     "@more_host_memory; a higher MemoryMax= of the unit; @smaller_weights",
     "ollama.service: A process of this unit has been killed by the OOM killer."},
    {"Failed with result 'oom-kill'", kHostOutOfMemory,
     "the kernel killed a process of the service: the machine or its slice ran out of main memory",
     "@more_host_memory; a higher MemoryMax= of the unit; @smaller_weights"},
    {"invoked oom-killer", kHostOutOfMemory, "", "",
     "python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0"},
    {"oom-kill:", kHostOutOfMemory},
    {"systemd-oomd killed", kHostOutOfMemory,
     "systemd-oomd killed the process: memory pressure of the system, not of the GPU", "",
     "systemd-oomd killed 12 process(es) in this unit."},
    {"std::bad_alloc", kHostOutOfMemory},
    {"Cannot allocate memory", kHostOutOfMemory, "", "", "OSError: [Errno 12] Cannot allocate memory"},
    {"MemoryError", kHostOutOfMemory, "", "",
     "numpy.core._exceptions._ArrayMemoryError: MemoryError: Unable to allocate 12.0 GiB"},
    {"The paging file is too small", kHostOutOfMemory,
     "Windows could not get enough memory: the paging file is too small",
     "a larger paging file | System, Advanced, Performance; @more_host_memory",
     "OSError: [WinError 1455] The paging file is too small for this operation to complete."},
    {"The actor is dead because its worker process has died", kDied,
     "Ray lost a worker process: the kernel killed it for lack of main memory, or it crashed",
     "dmesg | shows whether the OOM killer ended it; @more_host_memory; look at the worker's own log | "
     "/tmp/ray/session_latest/logs"},
    {"a worker in the group died{*}OOM", kHostOutOfMemory, "", "",
     "The actor died: a worker in the group died due to OOM"},
    {"ray.exceptions.OutOfMemoryError", kHostOutOfMemory, "Ray killed a worker: the node's main memory is full",
     "@more_host_memory; RAY_memory_usage_threshold=0.99 | or RAY_memory_monitor_refresh_ms=0, which turns the monitor "
     "off"},
    // Python's modules.
    {"No module named '{module:word}'", kRefused, "the Python package {module} is not installed",
     "pip install {module} | or an image that has it", "ModuleNotFoundError: No module named 'flash_attn'"},
    {"cannot import name '{name:word}' from '{module:word}'", kRefused,
     "{module} has no {name}: the package versions do not match",
     "pip install -U {module} | or the version in the engine's requirements; @newer_release; the engine's own "
     "image | its packages match",
     "ImportError: cannot import name 'ALL_PARALLEL_STYLES' from 'transformers.modeling_utils'"},
    {"{library:word}: cannot open shared object file", kRefused,
     "the library {library} is missing: the build is for another CUDA or system",
     "@other_build; the engine's own image | has its libraries; LD_LIBRARY_PATH | where the library is installed",
     "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"},
    {"undefined symbol: {symbol:word}", kRefused, "an extension was built for another PyTorch (undefined symbol)",
     "the PyTorch version in the engine's requirements; build or install the extension again; the engine's own "
     "image",
     "ImportError: /usr/lib/x.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"},
    {"version `GLIBC_{version:word}' not found", kRefused,
     "the build needs glibc {version}, which this system does not have",
     "a newer system, or the engine's container image; @other_build",
     "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found (required by x.so)"},
    {"error: unrecognized arguments: {option:text}", kRefused, "this release has no option {option}",
     "without the option, or @newer_release; @newer_release",
     "vllm: error: unrecognized arguments: --kv-cache-dtyp fp8"},
    {"error: argument {option:word}: {reason:text}", kRefused, "the option {option} is wrong: {reason}",
     "see --help | for its values", "api_server.py: error: argument --tool-call-parser: invalid choice: 'foo'"},
    {"error: invalid argument: {option:word}", kRefused, "this build has no option {option}",
     "see --help; @newer_release", "error: invalid argument: --foo"},
    {"error: unknown argument: {option:word}", kRefused, "this build has no option {option}",
     "see --help; @newer_release", "error: unknown argument: --foo"},
    {"401 Client Error", kRefused, "the Hub refused access (401): the model is gated or private, or the token is wrong",
     "accept the model's licence on the Hub and set HF_TOKEN",
     "huggingface_hub.errors.GatedRepoError: 401 Client Error."},
    {"403 Client Error", kRefused, "the Hub refused access (403): the model is gated",
     "accept the model's licence on the Hub and set HF_TOKEN",
     "huggingface_hub.errors.GatedRepoError: 403 Client Error."},
    // A failure without a row: the last line of a traceback, or the message of a language's runtime.
    {"Error", kRaised},
    {"Exception", kRaised},
    {"terminate called after throwing an instance of '{kind:word}' what(): {reason:text}", kRaised, "", "",
     "terminate called after throwing an instance of 'std::runtime_error' what():  boom"},
    {"terminating due to uncaught exception of type {kind:word}: {reason:text}", kRaised, "", "",
     "libc++abi: terminating due to uncaught exception of type std::runtime_error: boom"},
    {"panicked at {place:text}", kRaised, "the program panicked at {place}", "",
     "thread 'main' panicked at src/main.rs:1:2: called `Option::unwrap()` on a `None` value"},
    {"panic: {reason:text}", kRaised, "the program panicked: {reason}", "",
     "panic: runtime error: index out of range [5] with length 5"},
    {"Fatal Python error: {reason:text}", kRaised, "Python ended: {reason}", "", "Fatal Python error: Aborted"},
    {"GGML_ASSERT({what:text}) failed", kRaised,
     "an assertion in ggml failed: {what}: a bug in the build, or a file that it does not support",
     "@newer_release; remove the option that you added last",
     "/src/ggml.c:3123: GGML_ASSERT(ggml_can_mul_mat(a, b)) failed"},
    {"GGML_ABORT", kRaised},
    {"Illegal instruction", kDied, "the build uses instructions that this processor does not have",
     "a build for this processor, or one made on this machine; @newer_release", "Illegal instruction (core dumped)"},
    {"Aborted (core dumped)", kDied},
    {"SIGABRT", kDied},
    {"SIGSEGV", kDied},
    {"core dumped", kDied},
    // What the engine was doing, by a line of the traceback.
    {"model_executor/models/{file:word}\", line {line}, in __init__", kPhase, "", "",
     "model_executor/models/qwen2.py\", line 319, in __init__"},
    {"in load_model", kPhase},
    {"in load_weights", kPhase},
    {"in initialize_model", kPhase},
    {"in create_weights", kPhase},
    {"in process_weights_after_loading", kPhase},
    {"in profile_run", kPhase},
    {"in determine_available_memory", kPhase},
    {"in determine_num_available_blocks", kPhase},
    {"in profile_cudagraph_memory", kPhase},
    {"in _allocate_kv_cache_tensors", kPhase},
    {"in initialize_kv_cache", kPhase},
    {"in init_memory_pool", kPhase},
    {"in capture_model", kPhase},
    {"in init_cuda_graphs", kPhase},
    {"in compile_or_warm_up_model", kPhase},
    {"in execute_model", kPhase},
    {"in forward_batch_generation", kPhase},
};

// Topics of unknown failures, by their words.
constexpr LogTopic kSystemTopics[] = {
    {"custom_all_reduce|custom all reduce|custom allreduce|custom_ar|all_reduce|register_graph_buffers",
     "--disable-custom-all-reduce | NCCL then does the all-reduce; @no_graphs; NCCL_P2P_DISABLE=1 | if peer access "
     "between the GPUs is broken"},
    {"moe backend|moe_backend|fused_moe|moe kernel|moe_runner|grouped_gemm|deep_gemm|deepgemm",
     "--moe-backend (vLLM), --moe-runner-backend (SGLang) | other kernels for the experts; @newer_release"},
    {"attention "
     "backend|attn_backend|attention_backend|flashinfer|flash_attn|flashattention|flashmla|fa3|fa2|triton_attn",
     "--attention-backend | other attention kernels; @newer_release"},
    {"kv_cache_dtype|kv cache dtype|kv-cache-dtype|store_dtype|kv cache type|cache dtype",
     "@plain_cache_type auto; @newer_release"},
    {"compute capability|sm_|sm89|sm90|sm100|sm120|gfx|does not support current device|not supported on this "
     "device|hopper|blackwell|unsupported gpu|current device",
     "@newer_release; @other_card; another checkpoint or quantization | with kernels for this GPU"},
    {"block size must|block_size must", "remove --block-size, or use a multiple of 16; @newer_release"},
    {"divisible by|not divisible|must be divisible",
     "fewer GPUs for tensor parallelism | a number that divides; @whole_experts"},
    {"cudagraph|cuda graph|cuda_graph|graph capture|capture_model|stream capture", "@no_graphs; @newer_release"},
    {"speculative|draft model|eagle|num_speculative|mtp|spec_decode",
     "start without speculative decoding; @newer_release"},
    {"mamba|ssm_state|conv_state|linear_attn|gated delta|gdn", "@fewer_sequences; @newer_release"},
    {"lora", "start without LoRA adapters; @newer_release"},
    {"quantiz|fp8|nvfp4|mxfp4|awq|gptq|marlin|bitsandbytes|compressed-tensors|modelopt",
     "@newer_release; another checkpoint or quantization | with kernels for this GPU"},
    {"multimodal|multi_modal|mm_processor|image_processor|vision|limit_mm|processor",
     "--limit-mm-per-prompt '{\"image\": 0}' | text only, if that is enough; @newer_release"},
    {"context_parallel|cp_world_size|dcp|pipeline parallel|pipeline_parallel",
     "another layout: -tp instead of -pp or context parallelism; @newer_release; another image or build of the "
     "engine"},
    {"timed out|timeout",
     "a longer timeout, or a faster disk for the weights; look at the other processes' log | one of them may have "
     "failed first"},
    {"torch.compile|inductor|dynamo|triton",
     "@no_graphs; delete the compile cache | ~/.cache/vllm/torch_compile_cache, ~/.triton; @newer_release"},
    {"tokenizer|chat template|chat_template",
     "pip install -U transformers tokenizers; check that the tokenizer's files match the checkpoint"},
    {"keyerror|attributeerror|weight|parameter|state_dict|has no attribute|unexpected keyword",
     "@newer_release; pip install -U transformers | the version that the model requires"},
};

const std::span<const LogTemplate> kSystemLogEvents = kSystemEvents;
const std::span<const LogTopic> kSystemLogTopics = kSystemTopics;

}  // namespace kvplan
