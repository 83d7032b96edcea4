// Models of the built-in catalogue, and those that run on a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

struct PublishedModel {
  std::string_view id;     // "nvidia/Qwen3.6-27B-NVFP4"
  std::string_view model;  // the name without types: "Qwen3.6-27B"
  std::string_view family, generation;
  std::string_view tasks;          // separated by spaces: chat, vision, code, embedding, reranking, speech
  std::string_view license, date;  // as its page on the Hub has them; empty if no record was found
  std::uint64_t parameters = 0;    // in its files; 0: not known
  std::string gguf;                // a repository with its GGUF files
  std::string_view ollama;         // its tag in ollama's library
  std::string_view tags;           // all its tags, separated by spaces: "llama3.1:8b llama3.1"
  std::string_view like;           // the entry whose description it shares; empty if none
  std::string_view difference;     // how it differs from that entry
};

// `kvplan models`: the entries that have all words in their names or facts.
struct ModelList {
  std::vector<PublishedModel> models;
  std::string_view date;  // of the catalogue
};

struct PickedModel {
  PublishedModel model;
  std::string generation_date;  // of the oldest model in its generation
  std::uint64_t parameters = 0;
  std::string type;                    // of its weights
  std::uint64_t longest = 0;           // the longest context that fits
  Bytes gpu;                           // on the fullest GPU
  Bytes host;                          // weights in main memory; 0 if all of it is on the GPUs
  std::optional<double> tokens_per_s;  // upper bound for all users together
  std::vector<std::string> command;
};

// `kvplan pick`: the models that run on a GPU, in the order of the answer.
struct Pick {
  std::string card;  // "2 x rtx-3060"
  Bytes memory;      // of one GPU
  std::optional<Bytes> host_memory;
  std::string engine, engine_version;
  std::string task;
  std::uint64_t max_model_len = 0, users = 1;
  std::vector<PickedModel> models;
  std::string server;        // that the commands need: "OLLAMA_CONTEXT_LENGTH=8192 ollama serve"; empty: none
  std::size_t left_out = 0;  // of older generations, which --all shows
  std::string_view date;     // of the catalogue
};

}  // namespace kvplan
