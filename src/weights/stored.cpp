#include "weights/stored.h"

#include <cmath>

namespace kvplan {

static double ratio_of(Bytes a, Bytes b) {
  return static_cast<double>(a.count()) / static_cast<double>(b.count());
}

static Bytes sum_of(const PartBytes& parts) {
  Bytes out;
  for (const auto& [part, bytes] : parts) out += bytes;
  return out;
}

// The names of tensors determine their part. If the sizes differ by more than this, the tensors belong to another part.
constexpr double kSamePart = 2;

StoredSizes::StoredSizes(const std::vector<StoredTensors>& stored, const PartBytes& declared) {
  PartBytes files;
  for (const StoredTensors& part : stored) {
    files[part.component] += part.bytes;
    std::string& text = types_[part.component];
    text += (text.empty() ? "" : " + ") + part.type + " " + std::to_string(part.bytes.count());
    is_index_ = is_index_ || part.type == "index";
  }
  stored_ = sum_of(files);
  declared_ = sum_of(declared);
  // An index does not say whether it includes MTP layers, so the sum that is nearer is used.
  PartBytes expected = declared;
  if (const auto mtp = declared.find(Component::kMtp); is_index_ && mtp != declared.end()) {
    const Bytes without = declared_ - mtp->second;
    if (without > Bytes(0) && std::abs(ratio_of(without, stored_) - 1) < std::abs(ratio_of(declared_, stored_) - 1)) {
      own_[Component::kMtp] = {mtp->second, mtp->second};
      expected.erase(Component::kMtp);
      declared_ = without;
    }
  }
  if (!is_index_)
    for (const auto& [part, bytes] : files) {
      const auto known = expected.find(part);
      if (known == expected.end() || known->second == Bytes(0) || bytes == Bytes(0)) continue;
      const double ratio = ratio_of(bytes, known->second);
      if (ratio <= kSamePart && ratio >= 1 / kSamePart) own_[part] = {bytes, known->second};
    }
  const auto pool = [&] {
    pooled_.clear();
    rest_ = {};
    for (const auto& [part, bytes] : files)
      if (!own_.contains(part)) rest_.stored += bytes;
    for (const auto& [part, bytes] : expected) {
      if (own_.contains(part)) continue;
      rest_.declared += bytes;
      pooled_.insert(part);
    }
  };
  pool();
  if (rest_.stored == Bytes(0) || rest_.declared > Bytes(0)) return;
  // Tensors of a part that the config does not declare are divided as the whole model is.
  own_.clear();
  pool();
}

PartBytes StoredSizes::scaled(const PartBytes& computed) const {
  PartBytes out;
  const auto scale = [](const Ratio& ratio, Bytes bytes) {
    if (bytes == ratio.declared) return ratio.stored;
    if (ratio.stored == ratio.declared || ratio.declared == Bytes(0)) return bytes;
    return Bytes(checked_scale(bytes.count(), ratio_of(ratio.stored, ratio.declared), "the weights of a checkpoint"));
  };
  // Parts of one sum are rounded together.
  Bytes before, before_scaled;
  for (const auto& [part, bytes] : computed) {
    if (const auto known = own_.find(part); known != own_.end()) {
      out[part] = scale(known->second, bytes);
      continue;
    }
    if (!pooled_.contains(part)) {  // a copy of a tied head, or a part that the engine adds
      out[part] = bytes;
      continue;
    }
    before += bytes;
    const Bytes now = scale(rest_, before);
    out[part] = now - before_scaled;
    before_scaled = now;
  }
  return out;
}

const std::string& StoredSizes::types(Component part) const {
  static const std::string kNone;
  const auto own = own_.find(part);
  const auto known = types_.find(part);
  return own == own_.end() || known == types_.end() ? kNone : known->second;
}

double StoredSizes::off() const {
  return stored_ == Bytes(0) ? 0 : ratio_of(declared_, stored_) - 1;
}

}  // namespace kvplan
