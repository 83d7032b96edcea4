#include "engines/launch_words.h"

#include <cmath>
#include <sstream>

#include "engines/engine.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

static std::string_view online_quantization(std::string_view weights) {
  if (weights == "fp8" || weights == "fp8-channel") return "fp8";
  return weights == "bnb-nf4" ? "bitsandbytes" : "";
}

// Prints at most six digits.
static std::string short_number(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

void Arguments::add_share(std::string_view option, double value) {
  add(option, short_number(value));
}

std::string shares_text(const std::vector<double>& shares) {
  std::ostringstream numbers;
  std::string_view between;
  for (const double share : shares) {
    numbers << between << share;
    between = ",";
  }
  return numbers.str();
}

Launch launch_from_checkpoint(const LaunchInput& input, const ServerImage& container) {
  Launch out;
  out.engine = engine_of(*input.request).name;
  out.container = container;
  if (!input.model.is_hub) out.local_model = input.model.name;
  if (input.model.is_placeholder)
    out.remarks.push_back(input.model.name + " is the directory with the model's weights: replace it with yours");
  return out;
}

Nodes nodes_of(std::uint64_t gpus) {
  Nodes out{ceil_div(gpus, kGpusOfNode), gpus};
  while (gpus % out.count != 0) ++out.count;
  out.gpus_each = gpus / out.count;
  return out;
}

bool is_beyond(const LaunchInput& input) {
  return input.max_model_len > Tokens(0) && input.load.tokens_of_sequence() > input.max_model_len;
}

std::string stretch_factor(const LaunchInput& input) {
  constexpr double kHundredths = 100;
  const double stretch =
      static_cast<double>(input.load.tokens_of_sequence().count()) / static_cast<double>(input.max_model_len.count());
  return short_number(std::ceil(stretch * kHundredths) / kHundredths);
}

std::string yarn_override(const LaunchInput& input, std::string_view rope_key) {
  if (!input.plain_rotation) return "";
  const PlainRotation& rotation = *input.plain_rotation;
  std::string out = "{\"max_position_embeddings\": " + std::to_string(input.load.tokens_of_sequence().count()) +
                    ", \"" + std::string(rope_key) +
                    "\": {\"rope_type\": \"yarn\", \"rope_theta\": " + short_number(rotation.theta) +
                    ", \"factor\": " + stretch_factor(input) +
                    ", \"original_max_position_embeddings\": " + std::to_string(input.max_model_len.count());
  if (rotation.share) out += ", \"partial_rotary_factor\": " + short_number(*rotation.share);
  out += "}}";
  return rotation.section.empty() ? out : "{\"" + rotation.section + "\": " + out + "}";
}

std::string beyond_remark(const LaunchInput& input) {
  return std::to_string(input.load.tokens_of_sequence().count()) + " tokens are beyond the model's maximum of " +
         std::to_string(input.max_model_len.count()) + ", and its positions are not stretched to them";
}

void no_launch_option(std::string_view what, std::string_view why, std::string_view remedy) {
  usage_error("--format args and k8s: " + std::string(what) + ": " + std::string(why), remedy);
}

bool kv_chosen(const Request& request) {
  return request.cache_type_k || request.cache_type_v;
}

void check_kernel(const Request& request) {
  if (request.attention == AttentionKernel::kNaive)
    no_launch_option("--attention naive", std::string(engine_of(request).name) + " has no such option", "leave it out");
}

void add_quantization(const LaunchInput& input, Arguments& out) {
  if (!input.own_weights) out.add("--quantization", online_quantization(input.weights));
}

std::string_view draft_quantization(const LaunchInput& input) {
  return input.own_draft_weights ? "" : online_quantization(input.draft_weights);
}

void add_partition(std::string_view variable, const Parallel& parallel, Launch& launch) {
  if (parallel.layers.empty()) return;
  const auto text = [](std::uint64_t layers) { return std::to_string(layers); };
  launch.environment.emplace_back(variable, join(parallel.layers, ",", text));
}

void add_lora(const ExtrasRequest& extras, std::string_view slots, Arguments& out) {
  out.add_flag("--enable-lora", extras.wants_lora() || !extras.adapters.empty());
  out.add_given(slots, extras.max_loras);
  out.add_given("--max-lora-rank", extras.max_lora_rank);
  if (extras.lora_targets.empty()) return;
  out.add("--lora-target-modules");
  for (const std::string& target : extras.lora_targets) out.add(target);
}

}  // namespace kvplan
