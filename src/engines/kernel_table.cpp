#include "engines/kernel_table.h"

#include <algorithm>
#include <array>
#include <string>

#include "kvplan/gpus.h"
#include "kvplan/strings.h"
#include "weights/types.h"

namespace kvplan {

namespace {

// "75+" and "100-109": the lowest and the highest capability.
struct CardRange {
  std::uint64_t least = 0, most = ~std::uint64_t{0};
};
CardRange card_range(std::string_view text) {
  const std::size_t dash = text.find_first_of("-+");
  CardRange out;
  out.least = whole_number(text.substr(0, dash)).value_or(0);
  if (text[dash] == '-') out.most = whole_number(text.substr(dash + 1)).value_or(0);
  return out;
}

bool is_of_experts(KernelPart part) {
  return part == KernelPart::kExperts || part == KernelPart::kPlainExperts || part == KernelPart::kClampedExperts;
}

// Whether the row is about weights of this format, in the request's release.
bool covers(const KernelRow& row, const QuantDeclaration& quantization, Release release) {
  if (release < row.since || release >= row.until) return false;
  if (row.methods.empty()) return true;
  if (!is_declared(quantization) || !has_word(row.methods, quantization.dialect)) return false;
  if (row.types.empty()) return true;
  const auto& scheme =
      is_of_experts(row.part) && quantization.expert_scheme ? quantization.expert_scheme : quantization.scheme;
  const auto types = split(row.types);
  return scheme &&
         std::any_of(types.begin(), types.end(), [&](std::string_view type) { return scheme->type.starts_with(type); });
}

bool has_part(const KernelRow& row, const EngineInput& input, const QuantDeclaration& quantization, ExpertKinds kinds) {
  const bool has_experts = input.model.experts.count > 0;
  switch (row.part) {
    case KernelPart::kWeights: return true;
    case KernelPart::kBlocks: return quantization.scheme && quantization.scheme->block_rows > 0;
    case KernelPart::kAsymmetric: return quantization.scheme && !quantization.scheme->is_symmetric;
    case KernelPart::kFp4Activations: return quantization.scheme && quantization.scheme->has_fp4_activations;
    case KernelPart::kExperts: return has_experts;
    case KernelPart::kPlainExperts: return has_experts && kinds.plain;
    case KernelPart::kClampedExperts: return has_experts && kinds.clamped;
    case KernelPart::kHead: return quantization.has_head;
  }
  return false;
}

// Without quant_method, an engine that only reads that key sees no quantization.
QuantDeclaration seen_quantization(const EngineInput& input) {
  const QuantDeclaration out = planned_quantization(input);
  const bool is_seen = out.names_method || !engine_of(input.request).loading.asks_quant_method;
  return is_seen ? out : QuantDeclaration{};
}

std::string capability_text(std::uint64_t capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

std::string_view name_of(KernelPart part) {
  switch (part) {
    case KernelPart::kWeights: return "weights";
    case KernelPart::kBlocks: return "weights with a scale for each block";
    case KernelPart::kAsymmetric: return "asymmetric weights";
    case KernelPart::kFp4Activations: return "weights with FP4 activations";
    case KernelPart::kExperts: return "experts";
    case KernelPart::kPlainExperts: return "experts without a gate";
    case KernelPart::kClampedExperts: return "experts with a clamped SwiGLU";
    case KernelPart::kHead: return "a quantized output projection";
  }
  return "";
}

}  // namespace

bool is_among(std::string_view ranges, std::uint64_t number) {
  const auto texts = split(ranges);
  return std::any_of(texts.begin(), texts.end(), [&](std::string_view text) {
    const CardRange range = card_range(text);
    return number >= range.least && number <= range.most;
  });
}

std::optional<Refusal> kernel_refusal(std::span<const KernelRow> table, const EngineInput& input, ExpertKinds kinds) {
  const unsigned capability = input.request.card.capability();
  if (capability == 0) return std::nullopt;
  const QuantDeclaration quantization = seen_quantization(input);
  const Release release = release_of(input.request);
  for (const KernelRow& row : table) {
    if (!covers(row, quantization, release) || !has_part(row, input, quantization, kinds) ||
        is_among(row.cards, capability))
      continue;
    const std::uint64_t least = row.cards.empty() ? 0 : card_range(split(row.cards).front()).least;
    const char* const words = row.words != nullptr
                                  ? row.words
                                  : "The quantization method {method} is not supported for the current GPU. Minimum "
                                    "capability: {least}. Current capability: {capability}";
    Template cure = row.cure != nullptr ? Template(row.cure)
                                        : Template("use a GPU of compute capability {least} or newer",
                                                   {{"least", capability_text(least)}});
    return Refusal{row.methods.empty()             ? "card"
                   : row.part == KernelPart::kHead ? "quantized_head"
                                                   : "quantization",
                   {words,
                    {{"method", quantization.dialect},
                     {"least", least},
                     {"capability", std::uint64_t{capability}},
                     {"floor", capability_text(least)},
                     {"current", capability_text(capability)}}},
                   std::move(cure)};
  }
  return std::nullopt;
}

void note_unasked_kernels(std::span<const KernelRow> table, const EngineInput& input, std::vector<Note>& notes) {
  const Gpu* const card = input.request.card.gpu;
  const QuantDeclaration quantization = seen_quantization(input);
  if (card == nullptr || !is_declared(quantization)) return;
  const Release release = release_of(input.request);
  const bool is_nvidia = input.request.card.capability() > 0;
  const bool asked = is_nvidia && std::any_of(table.begin(), table.end(), [&](const KernelRow& row) {
                       return !row.methods.empty() && !row.cards.empty() && covers(row, quantization, release);
                     });
  if (asked) return;
  inform(notes, "kernel_not_checked",
         {"kvplan does not know whether {engine} has kernels for {method} weights on {card}: its code was not checked "
          "for this pair",
          {{"engine", engine_of(input.request).name}, {"method", quantization.dialect}, {"card", card->name}}});
}

std::vector<RuleRow> kernel_rule_rows(std::span<const KernelRow> table) {
  std::vector<RuleRow> out;
  for (const KernelRow& row : table) {
    RuleRow made = rule_row(row.since, row.until, 1, true, "", row.evidence, row.basis);
    std::string what(row.methods.empty() ? "Any model" : row.methods);
    if (!row.types.empty()) what += " (" + std::string(row.types) + ")";
    if (!row.methods.empty()) what += ", " + std::string(name_of(row.part));
    made.what = what + ": runs on " + (row.cards.empty() ? "no GPU" : "compute capability " + std::string(row.cards)) +
                " (times ten).";
    out.push_back(std::move(made));
  }
  return out;
}

namespace {

// The quant_method of a checkpoint in this type: that of the first row whose word begins the type's name.
struct Method {
  std::string_view type, dialect;
};
constexpr std::array kMethods{
    Method{"fp8-channel", "compressed-tensors"},
    Method{"fp8", "fp8"},
    Method{"mxfp8", "modelopt"},
    Method{"nvfp4", "modelopt"},
    Method{"mxfp4", "mxfp4"},
    Method{"bnb-", "bitsandbytes"},
    Method{"gptq-", "gptq"},
    Method{"awq-", "awq"},
    Method{"hqq-", "hqq"},
    Method{"int", "compressed-tensors"},
};

}  // namespace

QuantDeclaration planned_quantization(const EngineInput& input) {
  const std::optional<std::string>& asked = input.request.weights;
  if (!asked) return input.model.quantization;
  QuantDeclaration out;
  const WeightType* type = find_weight_type(*asked);
  if (type == nullptr || type->scope == Scope::kEverything) return out;
  const auto row =
      std::find_if(kMethods.begin(), kMethods.end(), [&](const Method& m) { return type->name.starts_with(m.type); });
  out.dialect = row == kMethods.end() ? type->name : row->dialect;
  WeightScheme scheme;
  scheme.type = type->name;
  scheme.block_rows = scheme.block_columns = type->block;
  out.experts_only = type->scope == Scope::kExperts;
  out.scheme = std::move(scheme);
  return out;
}

}  // namespace kvplan
