// A model's config as a reader sees it, under Hugging Face's keys: typed look-ups that record which keys were read and
// where a value came from. Another format is translated to these keys, and its facts and errors name the file's own.
#ifndef KVPLAN_FORMATS_FIELDS_H_
#define KVPLAN_FORMATS_FIELDS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/note.h"

namespace kvplan {

// What a file of another format calls a key.
struct OwnKey {
  std::string name;
  std::string value{};  // what the file says there, where the translation says it in other words
  Origin origin = Origin::kFile;
};
// By Hugging Face's key, with its path. Keys that the file could have and has not may be among them.
using OwnKeys = std::map<std::string, OwnKey, std::less<>>;

class Fields {
 public:
  // A scalar of a list or an object, already checked.
  struct Document;

  // Parses the text of a config. Accepts what Python's json writes (bare Infinity and NaN). Throws Error(kBadInput)
  // for anything that is not an object, nests deeper than a config does, or breaks off.
  static Fields parse(std::string_view text);
  // An object without keys: class defaults alone.
  static Fields empty();
  // Another format's keys, translated to `json`.
  static Fields translated(std::string_view json, OwnKeys own);

  // The same object, answering absent keys with `defaults` ("key=value key=value", values as JSON; they must outlive
  // it), those of the class `class_name`. A key that is there with the value null is not absent: null is an answer.
  // "key=value<other,other": the class derives it, and the value holds where the object gives the others no other
  // value.
  Fields with_defaults(std::string_view class_name, std::string_view defaults) const;
  Fields bare() const { return with_defaults("", ""); }  // the file alone
  std::string_view class_name() const { return class_; }
  // The same object, whose look-ups write no facts down: for maps with an entry for each layer.
  Fields quietly() const;

  bool has(std::string_view key) const;       // there, and not null; does not count as read
  bool is_null(std::string_view key) const;   // there, and null
  bool contains(std::string_view key) const;  // there at all
  bool is_object(std::string_view key) const;
  bool is_list(std::string_view key) const;
  bool is_string(std::string_view key) const;
  bool is_number(std::string_view key) const;
  bool is_bool(std::string_view key) const;

  // A whole number. Looks for `key`, then its aliases (aliases.h), then the class default. nullopt where nothing is
  // there or it is null. Error where it is no whole number, negative, or beyond 2^62.
  std::optional<std::uint64_t> find_count(std::string_view key) const;
  // The same; Error where it is absent or zero.
  std::uint64_t count(std::string_view key) const;
  std::uint64_t count_or(std::string_view key, std::uint64_t fallback) const;

  std::optional<bool> find_bool(std::string_view key) const;
  bool flag(std::string_view key, bool fallback) const { return find_bool(key).value_or(fallback); }
  std::optional<double> find_real(std::string_view key) const;
  std::optional<std::string> find_string(std::string_view key) const;

  // Lists. Error where an element has the wrong type; nullopt where the key is absent, null or no list.
  std::optional<std::vector<std::string>> strings(std::string_view key) const;
  std::optional<std::vector<std::uint64_t>> counts(std::string_view key) const;  // booleans count as 0 and 1
  std::optional<std::vector<double>> reals(std::string_view key) const;
  std::optional<std::vector<Fields>> objects(std::string_view key) const;  // null elements become empty objects
  std::optional<std::size_t> list_size(std::string_view key) const;
  // One element of a nested list, as a list: attention_types is [[["global", "local"], 12]].
  std::optional<Fields> list_item(std::string_view key, std::size_t index) const;

  std::optional<Fields> child(std::string_view key) const;  // an object; does not count as read
  // The object's own keys, sorted.
  std::vector<std::string> keys() const;

  // Writes down a value that follows from others.
  void derived(std::string_view key, std::uint64_t value) const;
  void derived(std::string_view key, std::string_view value) const;
  // Counts a key as read without a look at its value.
  void touch(std::string_view key) const;
  // What was read so far, over the whole document, in order of first reading.
  const std::vector<ConfigFact>& facts() const;
  // Keys that were asked for as something that they are not, over the whole document, and that nobody read as what they
  // are: "attn_config is 5".
  std::vector<std::string> misread() const;
  // Keys of this object that nobody read and whose value is neither null, false, nor empty.
  std::vector<std::string> unread() const;
  // "text_config." for a nested object, "" for the root.
  const std::string& path() const { return path_; }
  // Another format's: what it lacks no class of Hugging Face's fills.
  bool is_translated() const;
  // The key as the file has it.
  std::string shown(std::string_view key) const;
  // A sentence about Hugging Face's keys as one about the file's own.
  std::string in_own_words(std::string_view sentence) const;

 private:
  Fields(std::shared_ptr<Document> document, const void* node, std::string path, std::string class_name);

  struct Hit {
    const void* node = nullptr;  // null where it is a class default
    std::string_view key;        // as found
    std::string_view text;       // of a class default
    Origin origin = Origin::kFile;
  };
  std::optional<Hit> look_up(std::string_view key) const;
  // What `read` makes of the value, or of each entry of the list; nothing where there is none, or null.
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

}  // namespace kvplan

#endif  // KVPLAN_FORMATS_FIELDS_H_
