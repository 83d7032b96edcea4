// What PyTorch, CUDA, ROCm, Triton and the system print when any engine fails.
// Source: recorded logs of public issue threads; the messages of c10/cuda/CUDACachingAllocator.cpp, of Triton's
// runtime/errors.py and of the kernel's OOM killer.
#include "engines/log_lines.h"

namespace kvplan {

namespace {

using enum LogEventId;

constexpr LogTemplate kEvents[] = {
    {"{backend:word} out of memory. Tried to allocate {wanted:size}. GPU {gpu} has a total capacity of {total:size} of "
     "which {free:size} is free.{*}this process has {used:size} memory in use.{*}Of the allocated memory "
     "{allocated:size} is allocated by PyTorch,{*}and {unused:size} is reserved by PyTorch but unallocated",
     kOutOfMemory},
    {"{backend:word} out of memory. Tried to allocate {wanted:size}. GPU {gpu} has a total capacity of {total:size} of "
     "which {free:size} is free.{*}Of the allocated memory {allocated:size} is allocated by PyTorch, and "
     "{unused:size} is reserved by PyTorch but unallocated",
     kOutOfMemory},
    {"{backend:word} out of memory. Tried to allocate {wanted:size}. GPU {gpu} has a total capacity of {total:size} of "
     "which {free:size} is free",
     kOutOfMemory},
    {"{backend:word} out of memory. Tried to allocate {wanted:size}. GPU {gpu} has a total capacty of {total:size} of "
     "which {free:size} is free",
     kOutOfMemory},
    {"{backend:word} out of memory. Tried to allocate {wanted:size} ({kind:word} {gpu}; {total:size} total capacity; "
     "{allocated:size} already allocated; {active:size} current active; {free:size} free",
     kOutOfMemory},
    {"{backend:word} out of memory. Tried to allocate {wanted:size} ({kind:word} {gpu}; {total:size} total capacity; "
     "{allocated:size} already allocated; {free:size} free",
     kOutOfMemory},
    {"{backend:word} out of memory. Tried to allocate {wanted:size}. GPU {gpu} has a total capacity of {total:size}. "
     "Of "
     "the allocated memory {allocated:size}",
     kOutOfMemory},
    {"{backend:word} out of memory. Tried to allocate {wanted:size}", kOutOfMemory},
    {"{backend:word} error: out of memory", kOutOfMemory},
    {"CUDA_ERROR_OUT_OF_MEMORY", kOutOfMemory},
    {"would exceed allowed memory", kOutOfMemory},
    {"{backend:word} runtime error in {call:text}: out of memory", kOutOfMemory},
    {"cudaErrorMemoryAllocation", kOutOfMemory},
    {"HSA_STATUS_ERROR_OUT_OF_RESOURCES", kOutOfMemory},
    {"no kernel image is available for execution on the device", kNoKernel},
    {"out of resource: shared memory, Required: {required:B}, Hardware limit: {limit:B}", kSharedMemory},
    {"CUDA error: an illegal memory access", kRefused},
    {"[Errno 98]{*}ddress already in use", kRefused},
    {"not enough memory: you tried to allocate {wanted:B} bytes", kHostOutOfMemory},
    {"can't allocate memory: you tried to allocate {wanted:B} bytes", kHostOutOfMemory},
    {"exited with exit code {code}", kExited},
    {"exited with code {code}", kExited},
    {"exit code: {code}", kExited},
    {"exitcode: {code}", kExited},
    {"exitcode : {code}", kExited},
    {"Exit Code: {code}", kExited},
    {"Reason: OOMKilled", kHostOutOfMemory},
    {"reason: OOMKilled", kHostOutOfMemory},
    {"\"OOMKilled\": true", kHostOutOfMemory},
    {"Out of memory: Killed process {pid} ({process:word}", kHostOutOfMemory},
    {"oom-kill:", kHostOutOfMemory},
    {"std::bad_alloc", kHostOutOfMemory},
    {"[Errno 12] Cannot allocate memory", kHostOutOfMemory},
    // The last line of a traceback.
    {"{kind:word}Error: {reason:text}", kRaised},
    {"{kind:word}Exception: {reason:text}", kRaised},
    {"Error: {reason:text}", kRaised},
    // What the engine was doing, by a line of the traceback.
    {"model_executor/models/{file:word}\", line {line}, in __init__", kPhase},
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

}  // namespace

const std::span<const LogTemplate> kSystemLogEvents = kEvents;

}  // namespace kvplan
