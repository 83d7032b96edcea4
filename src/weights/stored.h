// A checkpoint's own sizes next to those that its config declares. An index gives one sum, headers give a sum for each
// part. A rank's part is computed from the config and scaled by the difference between the two.
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
  // `declared`: what the config's tensors take in files, including MTP layers and towers.
  StoredSizes(const std::vector<StoredTensors>& stored, const PartBytes& declared);

  // The bytes of a rank's parts, scaled from the config's. For the whole model they are exactly the files' sum.
  PartBytes scaled(const PartBytes& computed) const;
  // What the files say about the part: "BF16 1024 + F32 64". Empty if they have one sum for several parts.
  const std::string& types(Component part) const;

  bool is_index() const { return is_index_; }
  Bytes stored() const { return stored_; }
  Bytes declared() const { return declared_; }  // the same parts by the config; 0: it declares none
  // How much larger the config's sum is than the files': 0.01 is one percent.
  double off() const;

 private:
  struct Ratio {
    Bytes stored, declared;
  };
  std::map<Component, Ratio> own_;  // parts whose sizes in the files match the config
  std::set<Component> pooled_;      // the other parts that the config declares
  Ratio rest_;                      // the other parts together, with everything else in the files
  std::map<Component, std::string> types_;
  Bytes stored_, declared_;
  bool is_index_ = false;
};

}  // namespace kvplan
