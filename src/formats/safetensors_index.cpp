// model.safetensors.index.json, parsed as a stream: of a hundred thousand tensors only the names of the shards are
// kept.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "formats/json_bounds.h"
#include "formats/safetensors.h"
#include "kvplan/error.h"

namespace kvplan {

namespace {

using Json = nlohmann::json;
constexpr const char* kIndexAgain = "download the index again";
constexpr std::size_t kMaxIndexValues = 2'000'000;  // one for each tensor; they are not kept
constexpr std::size_t kMaxFileName = 255;           // the limit of file systems

class IndexReader : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t number) override {
    if (in_metadata() && key_ == "total_size") out_.total_size = number;
    return value();
  }
  bool number_float(number_float_t number, const string_t&) override {
    if (in_metadata() && key_ == "total_size" && number >= 0.0 && number < 9.0e18)
      out_.total_size = static_cast<std::uint64_t>(number);
    return value();
  }
  bool string(string_t& text) override {
    if (!in_map()) return value();
    if (text.empty() || text.find('/') != std::string::npos || text.find('\\') != std::string::npos || text == "." ||
        text == ".." || text.find('\0') != std::string::npos || text.size() > kMaxFileName)
      fail("the index names \"" + one_line(text, 60) + "\", which is no file beside it", kIndexAgain);
    if (files_.empty() || *last_ != text) last_ = files_.insert(text).first;
    if (files_.size() > kMaxCheckpointFiles)
      fail("the index names more than " + std::to_string(kMaxCheckpointFiles) + " files", kIndexAgain);
    return true;
  }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override {
    value();
    if (depth_ == 0) is_object_ = true;
    if (depth_ == 1) section_ = key_;
    if (depth_ == 1 && section_ == "weight_map") has_map_ = true;
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (--depth_ == 1) section_.clear();
    return true;
  }
  bool start_array(std::size_t) override {
    value();
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ <= 2) key_ = name;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

  SafetensorsIndex take() {
    if (!is_object_ || !has_map_) fail("the index of the shards has no weight_map", kIndexAgain);
    out_.files.assign(files_.begin(), files_.end());
    return std::move(out_);
  }

 private:
  bool in_map() const { return depth_ == 2 && section_ == "weight_map"; }
  bool in_metadata() const { return depth_ == 2 && section_ == "metadata"; }
  // The map must contain only names of files.
  bool value() const {
    if (in_map()) fail("the index names no file for \"" + one_line(key_, 60) + '"', kIndexAgain);
    return true;
  }

  SafetensorsIndex out_;
  std::set<std::string> files_;
  std::set<std::string>::const_iterator last_;
  std::string key_, section_;  // of the root's objects
  std::size_t depth_ = 0;
  bool is_object_ = false, has_map_ = false;
};

}  // namespace

SafetensorsIndex parse_safetensors_index(std::string_view text) {
  refuse_nul(text);
  if (const std::string excess = excess_of(text, {8, kMaxIndexValues}); !excess.empty())
    fail("the index " + excess, kIndexAgain);
  IndexReader reader;
  if (!Json::sax_parse(text.begin(), text.end(), &reader))
    fail("the index of the shards is not valid JSON", kIndexAgain);
  return reader.take();
}

}  // namespace kvplan
