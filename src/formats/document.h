// The JSON that a Fields reads, for code that writes it: the parser, and translators of other formats.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "formats/fields.h"

namespace kvplan {

struct Fields::Document {
  nlohmann::json root = nlohmann::json::object();
  OwnKeys own;  // of a translated file
  std::vector<ConfigFact> facts;
  std::unordered_map<const void*, std::set<std::string, std::less<>>> read;  // an object's keys
  std::unordered_set<std::string> named;                                     // the keys of facts
  struct Misfit {
    const void* node;
    std::string key, path;
  };
  std::vector<Misfit> misfits;

  bool was_read(const void* node, std::string_view key) const {
    const auto keys = read.find(node);
    return keys != read.end() && keys->second.contains(key);
  }
};

// Throws as Fields::parse does.
std::shared_ptr<Fields::Document> parse_document(std::string_view text);

}  // namespace kvplan
