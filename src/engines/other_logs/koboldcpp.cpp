// Lines of koboldcpp; those of the llama.cpp within it are llama.cpp's. Source: koboldcpp.py, gpttype_adapter.cpp.
#include "engines/log_lines.h"

namespace kvplan {

using enum LogEventId;

constexpr LogTemplate kKoboldEvents[] = {
    {"Please connect to custom endpoint at", kStarted},
    {"Starting Kobold API on port", kStarted},
    {"gpttype_load_model: error: failed to load model", kDied, "koboldcpp could not load the model",
     "--gpulayers lower | layers move to main memory; --contextsize lower | a smaller cache; @newer_release"},
    {"Could not load text model:", kDied, "koboldcpp could not load the model",
     "--gpulayers lower | layers move to main memory; --contextsize lower | a smaller cache; @newer_release"},
    {"Error: Could not load text model", kDied},
    {"Load Text Model OK: False", kDied, "koboldcpp could not load the model",
     "--gpulayers lower | layers move to main memory; --contextsize lower | a smaller cache; @newer_release"},
    {"Welcome to KoboldCpp", kMark},
    {"koboldcpp", kMark},
    {"Initializing dynamic library: koboldcpp", kMark},
    {"gpttype_load_model", kMark},
    {"Load Text Model OK", kMark},
    {"Kobold API", kMark},
};

constexpr RemedyRule kKoboldRemedies[] = {
    {kBufferFailed,
     "--gpulayers lower | layers move to main memory; --contextsize lower; --blasbatchsize 256 | smaller compute "
     "buffers; "
     "--flashattention --quantkv 1 | half the cache"},
    {kComputeFailed,
     "--blasbatchsize 256 | smaller compute buffers; --contextsize lower; --flashattention; --gpulayers lower | layers "
     "move "
     "to main memory"},
    {kCacheFailed,
     "--contextsize lower; --flashattention --quantkv 1 | half the cache; --gpulayers lower | layers move to main "
     "memory"},
    {kWeightsFailed,
     "--gpulayers lower | layers move to main memory; @smaller_weights; --tensor_split | another split"},
    {kOutOfMemory, "--gpulayers lower | layers move to main memory; --contextsize lower; --blasbatchsize 256"},
};

EngineLog koboldcpp_log() {
  EngineLog out{.events = kKoboldEvents};
  out.options = {
      .length = "--contextsize", .batch = "--blasbatchsize", .gpu_layers = "--gpulayers", .split = "--tensor_split"};
  out.options.flash_attention = "--flashattention";
  out.remedies = kKoboldRemedies;
  out.by_device = true;
  return out;
}

}  // namespace kvplan
