// A checkpoint's own sizes beside those that its config declares. An index gives one sum, headers give a sum for each
// part; what a rank holds of them is computed from the config and scaled by how the two differ.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kvplan/quantity.h"
#include "kvplan/tensors.h"

namespace kvplan {

// Bytes of each part.
using PartBytes = std::map<Component, Bytes>;

class StoredSizes {
 public:
  // `declared`: what the config's tensors take in files, MTP layers and towers included.
  StoredSizes(const std::vector<StoredTensors>& stored, const PartBytes& declared);

  // The bytes of a rank's parts, given what the config comes to there. The whole model comes to the files' sum exactly.
  PartBytes scaled(const PartBytes& computed) const;
  // What the files say of the part: "BF16 1024 + F32 64"; empty where they have one sum for several parts.
  const std::string& types(Component part) const;

  bool is_index() const { return is_index_; }
  Bytes stored() const { return stored_; }
  Bytes declared() const { return declared_; }  // the same parts by the config; 0: it declares none
  // How much more the config comes to than the files: 0.01 is one percent.
  double off() const;

 private:
  struct Ratio {
    Bytes stored, declared;
  };
  std::map<Component, Ratio> own_;  // parts that files and config agree about
  std::set<Component> pooled_;      // the other parts that the config declares
  Ratio rest_;                      // of those, with all that the files have beside
  std::map<Component, std::string> types_;
  Bytes stored_, declared_;
  bool is_index_ = false;
};

}  // namespace kvplan
