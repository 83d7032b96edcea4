// Lines of transformers and of the libraries that it uses: accelerate, bitsandbytes, compressed-tensors. Source:
// transformers/modeling_utils.py, quantizers/*.py, generation/utils.py; accelerate/utils/modeling.py; public threads.
#include "engines/log_lines.h"

namespace kvplan {

using enum LogEventId;

constexpr LogTemplate kEvents[] = {
    {"we will default to dequantizing the model to bf16", kMemoryHint,
     "the MXFP4 weights were dequantized to bfloat16 while loading: three to four times their size",
     "pip install -U kernels triton | MXFP4 then stays packed (compute capability 7.5 or newer); another engine "
     "(llama.cpp, vLLM) | runs MXFP4 as it is stored"},
    {"Decompressing model", kMemoryHint,
     "the checkpoint is decompressed to bfloat16 in memory: transformers has no kernels for its packed weights",
     "another engine (vLLM, SGLang) | runs the packed weights; a GGUF or bitsandbytes 4-bit checkpoint instead"},
    {"You are loading a model in {type:word} by default", kMemoryHint, "the weights were loaded as {type}",
     "dtype=torch.bfloat16 | half the memory of float32"},
    {"Some modules are dispatched on the CPU or the disk", kRefused,
     "the quantized model does not fit the GPU: accelerate put some modules on the CPU, which bitsandbytes refuses",
     "llm_int8_enable_fp32_cpu_offload=True and a device_map | allows modules on the CPU; @smaller_weights; a GPU with "
     "more "
     "memory"},
    {"Some parameters are on the meta device", kMemoryHint,
     "part of the weights was offloaded: the GPU has no memory for all", "@smaller_weights"},
    {"FlashAttention2 has been toggled on, but it cannot be used", kRefused,
     "the script asks for flash_attention_2, and flash_attn is not installed",
     "pip install flash-attn --no-build-isolation; attn_implementation=\"sdpa\" | PyTorch's own kernels"},
    {"FlashAttention only supports Ampere GPUs or newer", kRefused,
     "FlashAttention needs compute capability 8.0; the GPU is older",
     "attn_implementation=\"sdpa\" | PyTorch's own kernels; --attention-backend or VLLM_ATTENTION_BACKEND=XFORMERS in "
     "vLLM"},
    {"Transformers does not recognize this architecture", kUnknownArchitecture,
     "this transformers does not know the model's architecture",
     "pip install -U transformers | newer releases know more architectures; @newer_release"},
    {"Using `bitsandbytes` {bits:text} quantization requires", kRefused, "bitsandbytes is missing or too old",
     "pip install -U bitsandbytes accelerate"},
    {"No GPU found. A GPU is needed for quantization", kRefused, "PyTorch sees no GPU, and the quantization needs one",
     "a PyTorch build with CUDA or ROCm | check torch.cuda.is_available(); a checkpoint of 16 bits"},
    {"requires you to execute the {what:text} file in that repo on your local machine", kRefused,
     "the model brings its own code, which has to be allowed",
     "trust_remote_code=True (--trust-remote-code) | runs the code of the model's repository"},
    {"pass the argument `trust_remote_code=True`", kRefused, "the model brings its own code, which has to be allowed",
     "trust_remote_code=True (--trust-remote-code) | runs the code of the model's repository"},
    {"Error(s) in loading state_dict for", kRefused, "the checkpoint's tensors do not have the shapes of the class",
     "pip install -U transformers; download the checkpoint again"},
    {"safetensors_rust.SafetensorError: {reason:text}", kRefused, "a weight file is damaged or incomplete: {reason}",
     "delete the file and download the checkpoint again"},
    {"Error while deserializing header", kRefused, "a weight file is damaged or incomplete",
     "delete the file and download the checkpoint again"},
    {"You are trying to access a gated repo", kRefused, "the model is gated",
     "accept the model's licence on the Hub and set HF_TOKEN"},
    {"is not a local folder and is not a valid model identifier listed on", kRefused,
     "there is no such model on the Hub, or it is private", "check the model's name; set HF_TOKEN for a private model"},
    {"We couldn't connect to 'https://huggingface.co'", kRefused,
     "the Hub could not be reached, and the files are not in the cache",
     "check the network or proxy; give a local folder | with HF_HUB_OFFLINE=1"},
    {"Torch not compiled with CUDA enabled", kNoKernel, "this PyTorch was built without CUDA",
     "a PyTorch build with CUDA: pip install torch --index-url of your CUDA version"},
    {"does not appear to have a file named {file:word}", kRefused, "the repository has no {file}",
     "check the model's name and folder; a release that reads this format (GGUF, safetensors)"},
    // Lines that show which program wrote the log.
    {"from_pretrained(", kMark},
    {"transformers/modeling_utils.py", kMark},
    {"transformers/generation/", kMark},
    {"accelerate/", kMark},
    {"Loading checkpoint shards:", kMark},
    {"unsloth", kMark},
};

constexpr RemedyRule kRemedies[] = {
    {kOutOfMemory,
     "dtype=torch.bfloat16 (or float16) | from_pretrained loads float32 before transformers 5, twice the size; an Int4 "
     "checkpoint (AWQ, GPTQ) or load_in_4bit | a quarter of the 16-bit weights; device_map=\"auto\" | spreads layers "
     "over "
     "GPUs and main memory; a smaller batch or shorter input | smaller activations and cache"},
};

EngineLog transformers_log() {
  EngineLog out{.events = kEvents};
  out.remedies = kRemedies;
  out.is_library = true;
  return out;
}

}  // namespace kvplan
