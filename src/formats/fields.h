// A model's config under Hugging Face's keys: typed look-ups that record which keys were read and where each value came
// from. Other formats are translated to these keys, but facts and errors name the file's own keys.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/note.h"

namespace kvplan {

// A key of a file in another format.
struct OwnKey {
  std::string name;
  std::string value{};  // the file's value, if the translation writes another
  Origin origin = Origin::kFile;
};
// By Hugging Face's key, with its path. May include keys that the file could have but does not.
using OwnKeys = std::map<std::string, OwnKey, std::less<>>;

class Fields {
 public:
  // The parsed JSON, and which parts were read (document.h).
  struct Document;

  // Parses the text of a config. Accepts what Python's json writes (bare Infinity and NaN). Throws Error(kBadInput) for
  // anything that is not an object, nests too deep for a config, or is incomplete.
  static Fields parse(std::string_view text);
  // An object without keys, used only for class defaults.
  static Fields empty();
  static Fields of(std::shared_ptr<Document> document);

  // This object with `defaults` for absent keys ("key=value key=value", values as JSON; the text must outlive the
  // result). They are the defaults of the class `class_name`. A key with the value null is not absent.
  // "key=value<other,other" means that the class computes the value, which applies unless the object has other values
  // for those keys.
  Fields with_defaults(std::string_view class_name, std::string_view defaults) const;
  Fields bare() const { return with_defaults("", ""); }  // without class defaults
  std::string_view class_name() const { return class_; }
  // This object without recording facts, for maps with an entry for each layer.
  Fields quietly() const;

  bool has(std::string_view key) const;       // present, and not null; does not count as reading
  bool is_null(std::string_view key) const;   // present, and null
  bool contains(std::string_view key) const;  // present
  bool is_object(std::string_view key) const;
  bool is_list(std::string_view key) const;
  bool is_string(std::string_view key) const;
  bool is_number(std::string_view key) const;
  bool is_bool(std::string_view key) const;

  // A whole number. Looks for `key`, then its aliases (aliases.h), then the class default. Returns nullopt if it is
  // absent or null. Throws Error if it is not a whole number, is negative, or is beyond 2^62.
  std::optional<std::uint64_t> find_count(std::string_view key) const;
  // As find_count, but throws Error if it is absent or zero.
  std::uint64_t count(std::string_view key) const;
  std::uint64_t count_or(std::string_view key, std::uint64_t fallback) const;

  std::optional<bool> find_bool(std::string_view key) const;
  bool flag(std::string_view key, bool fallback) const { return find_bool(key).value_or(fallback); }
  std::optional<double> find_real(std::string_view key) const;
  std::optional<std::string> find_string(std::string_view key) const;

  // Lists. Throws Error if an element has the wrong type. Returns nullopt if the key is absent, null or not a list.
  std::optional<std::vector<std::string>> strings(std::string_view key) const;
  std::optional<std::vector<std::uint64_t>> counts(std::string_view key) const;  // booleans count as 0 and 1
  std::optional<std::vector<double>> reals(std::string_view key) const;
  std::optional<std::vector<Fields>> objects(std::string_view key) const;  // null elements become empty objects
  std::optional<std::size_t> list_size(std::string_view key) const;
  // One element of a nested list, as a list: attention_types is [[["global", "local"], 12]].
  std::optional<Fields> list_item(std::string_view key, std::size_t index) const;

  std::optional<Fields> child(std::string_view key) const;  // an object; does not count as reading
  // The object's own keys, sorted.
  std::vector<std::string> keys() const;

  // Records a value that follows from others.
  void derived(std::string_view key, std::uint64_t value) const;
  void derived(std::string_view key, std::string_view value) const;
  // Counts a key as read, without using its value.
  void touch(std::string_view key) const;
  // What was read so far in the whole document, in the order of first reading.
  const std::vector<ConfigFact>& facts() const;
  // Keys in the whole document that were only looked up as a kind of value that they do not have: "attn_config is 5".
  std::vector<std::string> misread() const;
  // Keys of this object that were not read and whose value is neither null, false, nor empty.
  std::vector<std::string> unread() const;
  // "text_config." for a nested object, "" for the root.
  const std::string& path() const { return path_; }
  // The file was translated from another format, so absent keys get no defaults of Hugging Face's classes.
  bool is_translated() const;
  // The key in the file's own spelling.
  std::string shown(std::string_view key) const;
  // Turns a sentence about Hugging Face's keys into one about the file's own.
  std::string in_own_words(std::string_view sentence) const;

 private:
  Fields(std::shared_ptr<Document> document, const void* node, std::string path, std::string class_name);

  struct Hit {
    const void* node = nullptr;  // null for a class default
    std::string_view key;        // the name under which the value was found
    std::string_view text;       // of a class default
    Origin origin = Origin::kFile;
  };
  std::optional<Hit> look_up(std::string_view key) const;
  // The result of `read` for the value, or for each entry of the list. Nothing if it is absent or null.
  template <class T, class Read>
  std::optional<T> read_value(std::string_view key, const Read& read) const;
  template <class T, class Read>
  std::optional<std::vector<T>> read_list(std::string_view key, const Read& read) const;
  const OwnKey* own_key(std::string_view key) const;
  void record(std::string_view key, std::string_view text, Origin origin) const;
  void misfit(std::string_view key) const;
  [[noreturn]] void wrong(std::string_view key, std::string_view got, std::string_view wanted) const;

  std::shared_ptr<Document> document_;
  const void* node_ = nullptr;
  std::string path_;
  std::string class_;
  std::string_view defaults_;  // of the class
  bool quiet_ = false;
};

// Other names of a key.

// Other spellings of a key, in order of preference, separated by spaces; "" if there are none.
std::string_view aliases_of(std::string_view key);

// The key of which `key` is another spelling; "" if no row lists it. A row's first key belongs to its own group.
std::string_view alias_group(std::string_view key);

// Parses a config.json, or a params.json (Mistral's own format), which is translated. The members of `overrides`, a
// JSON object or "", replace the config's, those of a nested config one by one, as vLLM's --hf-overrides does.
Fields parse_config(std::string_view text, std::string_view overrides = "");

}  // namespace kvplan
