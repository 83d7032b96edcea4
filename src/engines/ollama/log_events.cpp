// Lines of ollama's own log; those of its runner are llama.cpp's. Source: server/sched.go, llm/server.go,
// runner/*runner/runner.go.
#include "engines/log_lines.h"

namespace kvplan {

namespace {

using enum LogEventId;

constexpr LogTemplate kEvents[] = {
    {"model requires more system memory ({needed:size}) than is available ({available:size})", kHostOutOfMemory},
    {"model requires more system memory than is currently available ({available:size})", kHostOutOfMemory},
    {"msg=\"truncating input prompt\" limit={longest:tokens} prompt={asked:tokens}", kRequestTooLong},
    {"layers.model={all:layers} layers.offload={on:layers}", kSpilled},
    {"llama runner started in", kStarted},
    {"process has terminated: signal: killed", kHostOutOfMemory},
    {"llama runner process has terminated: {reason:text}", kDied},
    {"llama-server process has terminated: {reason:text}", kDied},
    // These tell which engine wrote the log.
    {"source=server.go", kMark},
    {"source=sched.go", kMark},
    {"source=runner.go", kMark},
    {"source=ggml.go", kMark},
    {"ollama[", kMark},
};

constexpr StageMark kStages[] = {
    {"load_tensors: loading model tensors", StartStage::kProcess},
    {"llama_context: constructing", StartStage::kWeights},
    {"graph splits =", StartStage::kCache},
    {"llama runner started in", StartStage::kServing},
};

}  // namespace

const std::span<const LogTemplate> kOllamaLogEvents = kEvents;
const std::span<const StageMark> kOllamaStages = kStages;

}  // namespace kvplan
