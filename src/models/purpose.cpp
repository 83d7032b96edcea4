#include "models/purpose.h"

#include <algorithm>

namespace kvplan {

namespace {

// The suffixes by which vLLM recognises pooling models (config/model.py, _SUFFIX_TO_DEFAULTS); a bare "Model" is one
// unless it is part of the name of a generating class.
bool names_embedder(std::string_view architecture) {
  for (const std::string_view suffix :
       {"ForTextEncoding", "EmbeddingModel", "ForSequenceClassification", "ForTokenClassification",
        "ClassificationModel", "ForRewardModeling", "RewardModel", "BidirectionalModel"})
    if (architecture.ends_with(suffix)) return true;
  for (const std::string_view writes : {"Chat", "LMHead", "NVLM"})
    if (architecture.find(writes) != std::string_view::npos) return false;
  return architecture.ends_with("Model");
}

// Whether all tokens attend to each other: nothing of a token is used after its pass.
bool attends_both_ways(const Reader& reader) {
  const Fields& text = reader.text;
  const auto says = [&](std::string_view key, bool value) { return text.is_bool(key) && text.find_bool(key) == value; };
  // PaliGemma's flag is only about its prompt: it has a tower, and generates.
  return says("is_causal", false) || (says("use_bidirectional_attention", true) && reader.model.towers.empty()) ||
         reader.model.architecture.ends_with("BidirectionalModel");
}

}  // namespace

void read_purpose(Reader& reader) {
  ModelSpec& model = reader.model;
  const auto all_are = [&](const auto& holds) {
    return std::all_of(model.layers.begin(), model.layers.end(), [&](const Layer& layer) {
      return std::all_of(layer.mixers.begin(), layer.mixers.end(), holds);
    });
  };
  if (all_are([](const Mixer& mixer) { return std::holds_alternative<None>(mixer); })) return;  // known as an encoder
  if (!all_are([](const Mixer& mixer) { return !std::holds_alternative<Cross>(mixer); })) return;  // has a decoder
  if (attends_both_ways(reader)) {
    model.embeds = true;
    for (Layer& layer : model.layers) layer.mixers = {None{}};
    reader.inform("encoder_only", "attention goes both ways: the input is read at once, and no cache is kept");
  } else if (names_embedder(model.architecture)) {
    model.embeds = true;
    reader.inform("embedding_model",
                  "vectors or scores come out, and no token is written; engines that read prompts in pieces or keep "
                  "prefixes cache what they read all the same");
  }
}

}  // namespace kvplan
