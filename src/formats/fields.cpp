#include "formats/fields.h"

#include <cmath>

#include "formats/document.h"
#include "formats/json_bounds.h"
#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 62;

static const Json& as_json(const void* node) {
  return *static_cast<const Json*>(node);
}

// The value in an object, or null if it has no such key.
static const Json* value_at(const void* node, std::string_view key) {
  const Json& object = as_json(node);
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

static bool value_is(const void* node, std::string_view key, bool (Json::*kind)() const noexcept) {
  const Json* value = value_at(node, key);
  return value != nullptr && (value->*kind)();
}

// Python's json module writes bare Infinity, -Infinity and NaN. They become strings, which are refused only if a number
// is needed.
static std::string without_python_numbers(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < text.size())
        out += text[++i];
      else if (c == '"')
        in_string = false;
      continue;
    }
    bool replaced = false;
    for (const std::string_view word :
         {std::string_view("-Infinity"), std::string_view("Infinity"), std::string_view("NaN")}) {
      if (text.substr(i, word.size()) == word) {
        ((out += '"') += word) += '"';
        i += word.size() - 1;
        replaced = true;
        break;
      }
    }
    if (replaced) continue;
    in_string = c == '"';
    out += c;
  }
  return out;
}

static Json parse_json(std::string_view text) {
  refuse_nul(text);
  if (const std::string excess = excess_of(text, {}); !excess.empty())
    fail("the JSON " + excess, "give a model's config.json");
  return Json::parse(text.data(), text.data() + text.size());
}

// nlohmann's messages begin with a bracketed prefix and quote the token. Only the position is useful.
static std::string reason(const Json::exception& error) {
  std::string_view text = error.what();
  if (const auto close = text.find("] "); close != std::string_view::npos) text.remove_prefix(close + 2);
  if (const auto dash = text.find(" - "); dash != std::string_view::npos) text = text.substr(0, dash);
  return one_line(text, 120);
}

// Whether the value has more than `left` parts. Stops counting there.
static bool is_larger(const Json& value, std::size_t& left) {
  if (!value.is_structured()) return false;
  for (const Json& item : value) {
    if (left == 0) return true;
    --left;
    if (is_larger(item, left)) return true;
  }
  return false;
}

static std::string text_of(const Json& value) {
  if (value.is_number_unsigned()) return std::to_string(value.get<std::uint64_t>());  // dump() is slower
  // A map with an entry for each layer would be written out in full before it is cut.
  std::size_t parts = 400;
  if (is_larger(value, parts))
    return (value.is_object() ? "an object of " : "a list of ") + std::to_string(value.size()) + " entries";
  return one_line(value.dump(-1, ' ', false, Json::error_handler_t::replace), 200);
}

static bool is_empty_value(const Json& value) {
  return value.is_null() || (value.is_boolean() && !value.get<bool>()) ||
         ((value.is_array() || value.is_object()) && value.empty()) ||
         (value.is_number() && value.get<double>() == 0.0);
}

// A class's entry for a key: "value" or "value<other,other".
static std::optional<std::string_view> entry_of(std::string_view defaults, std::string_view key) {
  for (const std::string_view field : split(defaults))
    if (field.starts_with(key) && field.substr(key.size()).starts_with('=')) return field.substr(key.size() + 1);
  return std::nullopt;
}

static std::string_view value_of(std::string_view entry) {
  return entry.substr(0, entry.find('<'));
}

// The class's default for a key of an object.
static std::optional<std::string_view> default_of(std::string_view defaults, std::string_view key, const Json& object) {
  const auto entry = entry_of(defaults, key);
  if (!entry) return std::nullopt;
  const std::string_view value = value_of(*entry);
  if (value.size() == entry->size()) return value;
  for (const std::string_view source : split(entry->substr(value.size() + 1), ',')) {
    const auto given = object.find(source);
    if (given != object.end() && text_of(*given) != value_of(entry_of(defaults, source).value_or("")))
      return std::nullopt;
  }
  return value;
}

Fields::Fields(std::shared_ptr<Document> document, const void* node, std::string path, std::string class_name)
    : document_(std::move(document)), node_(node), path_(std::move(path)), class_(std::move(class_name)) {}

std::shared_ptr<Fields::Document> parse_document(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    fail("the config is empty", "give a model's config.json");
  auto document = std::make_shared<Fields::Document>();
  // Two exceptions may be thrown: parse_error, and out_of_range for a literal such as 1e999.
  try {
    document->root = parse_json(text);
  } catch (const Json::exception& first) {
    try {
      document->root = parse_json(without_python_numbers(text));
    } catch (const Json::exception&) {
      fail("not valid JSON (" + reason(first) + ")", "give a whole config.json");
    }
  }
  if (!document->root.is_object()) fail("valid JSON, but not an object", "give a model's config.json");
  return document;
}

Fields Fields::parse(std::string_view text) {
  return of(parse_document(text));
}

Fields Fields::empty() {
  return of(std::make_shared<Document>());
}

Fields Fields::of(std::shared_ptr<Document> document) {
  const void* node = &document->root;
  return {std::move(document), node, "", ""};
}

bool Fields::is_translated() const {
  return !document_->own.empty();
}

const OwnKey* Fields::own_key(std::string_view key) const {
  const auto found = document_->own.find(path_ + std::string(key));
  return found == document_->own.end() ? nullptr : &found->second;
}

std::string Fields::shown(std::string_view key) const {
  const OwnKey* own = own_key(key);
  return own == nullptr ? path_ + std::string(key) : one_line(own->name, 80);
}

std::string Fields::in_own_words(std::string_view sentence) const {
  const auto in_word = [](char c) { return c == '_' || c == '.' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  std::string out;
  while (!sentence.empty()) {
    std::size_t length = 0;
    while (length < sentence.size() && in_word(sentence[length])) ++length;
    while (length > 1 && sentence[length - 1] == '.') --length;
    const auto own = length == 0 ? document_->own.end() : document_->own.find(sentence.substr(0, length));
    if (length == 0) length = 1;
    out += own == document_->own.end() ? sentence.substr(0, length) : std::string_view(own->second.name);
    sentence.remove_prefix(length);
  }
  return out;
}

Fields Fields::with_defaults(std::string_view class_name, std::string_view defaults) const {
  Fields out = *this;
  out.class_ = class_name;
  out.defaults_ = defaults;
  return out;
}

Fields Fields::quietly() const {
  Fields out = *this;
  out.quiet_ = true;
  return out;
}

bool Fields::contains(std::string_view key) const {
  return value_at(node_, key) != nullptr;
}

bool Fields::is_null(std::string_view key) const {
  return value_is(node_, key, &Json::is_null);
}

bool Fields::has(std::string_view key) const {
  return contains(key) && !is_null(key);
}

bool Fields::is_object(std::string_view key) const {
  return value_is(node_, key, &Json::is_object);
}

bool Fields::is_list(std::string_view key) const {
  return value_is(node_, key, &Json::is_array);
}

bool Fields::is_string(std::string_view key) const {
  return value_is(node_, key, &Json::is_string);
}

bool Fields::is_number(std::string_view key) const {
  return value_is(node_, key, &Json::is_number);
}

bool Fields::is_bool(std::string_view key) const {
  return value_is(node_, key, &Json::is_boolean);
}

std::optional<Fields::Hit> Fields::look_up(std::string_view key) const {
  const Json& object = as_json(node_);
  if (const Json* value = value_at(node_, key)) return Hit{value, key, {}, Origin::kFile};
  const std::vector<std::string_view> aliases = split(aliases_of(key));
  for (const std::string_view alias : aliases)
    if (const Json* value = value_at(node_, alias); value != nullptr && !value->is_object())
      return Hit{value, alias, {}, Origin::kAlias};
  if (defaults_.empty()) return std::nullopt;
  if (const auto text = default_of(defaults_, key, object)) return Hit{nullptr, key, *text, Origin::kClassDefault};
  for (const std::string_view alias : aliases)
    if (const auto text = default_of(defaults_, alias, object))
      return Hit{nullptr, alias, *text, Origin::kClassDefault};
  return std::nullopt;
}

void Fields::record(std::string_view key, std::string_view text, Origin origin) const {
  if (quiet_) return;
  if (origin == Origin::kFile || origin == Origin::kAlias) {
    if (!document_->read[node_].emplace(key).second) return;
  }
  const OwnKey* own = own_key(key);
  if (own == nullptr && is_translated()) return;  // no key of the file has it
  std::string full = own == nullptr ? path_ + std::string(key) : own->name;
  if (own != nullptr && origin != Origin::kDerived) {
    if (!own->value.empty()) text = own->value;
    origin = own->origin;
  }
  if (document_->named.insert(full).second) document_->facts.push_back({std::move(full), std::string(text), origin});
}

// Notes that a value is not of the expected kind. It may still be read under another name, as its actual kind.
void Fields::misfit(std::string_view key) const {
  if (quiet_ || is_null(key) || !contains(key)) return;
  for (const Document::Misfit& known : document_->misfits)
    if (known.node == node_ && known.key == key) return;
  document_->misfits.push_back({node_, std::string(key), path_});
}

std::vector<std::string> Fields::misread() const {
  std::vector<std::string> out;
  for (const Document::Misfit& misfit : document_->misfits) {
    if (document_->was_read(misfit.node, misfit.key)) continue;
    const Json& value = as_json(misfit.node).at(misfit.key);
    if (is_empty_value(value)) continue;
    out.push_back(misfit.path + misfit.key + " (" + one_line(text_of(value), 40) + ")");
  }
  return out;
}

void Fields::wrong(std::string_view key, std::string_view got, std::string_view wanted) const {
  fail("\"" + shown(key) + "\" is " + one_line(got, 60) + ", not " + std::string(wanted), "correct the config");
}

template <class T, class Read>
std::optional<T> Fields::read_value(std::string_view key, const Read& read) const {
  const auto hit = look_up(key);
  if (!hit) return std::nullopt;
  const Json parsed = hit->node == nullptr ? Json::parse(hit->text) : Json();
  const Json& value = hit->node == nullptr ? parsed : as_json(hit->node);
  record(hit->key, text_of(value), hit->origin);
  if (value.is_null()) return std::nullopt;
  return read(*hit, value);
}

template <class T, class Read>
std::optional<std::vector<T>> Fields::read_list(std::string_view key, const Read& read) const {
  const auto hit = look_up(key);
  if (!hit || hit->node == nullptr) return std::nullopt;
  if (!as_json(hit->node).is_array()) {
    misfit(hit->key);
    return std::nullopt;
  }
  const Json& list = as_json(hit->node);
  record(hit->key, text_of(list), hit->origin);
  std::vector<T> out;
  for (const Json& item : list) out.push_back(read(*hit, item));
  return out;
}

std::optional<std::uint64_t> Fields::find_count(std::string_view key) const {
  return read_value<std::uint64_t>(key, [&](const Hit& hit, const Json& value) -> std::uint64_t {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() < kMaxCount) return value.get<std::uint64_t>();
    // Some tools write 4096.0, which counts as a whole number.
    if (value.is_number_float()) {
      const double real = value.get<double>();
      if (real >= 0 && real < 9.0e15 && real == std::floor(real)) return static_cast<std::uint64_t>(real);
    }
    wrong(hit.key, text_of(value), "a whole number below 2^62");
  });
}

std::uint64_t Fields::count(std::string_view key) const {
  const auto value = find_count(key);
  if (!value) fail("\"" + shown(key) + "\" is missing", "add it to the config");
  if (*value == 0) wrong(key, "0", "a positive number");
  return *value;
}

std::uint64_t Fields::count_or(std::string_view key, std::uint64_t fallback) const {
  return find_count(key).value_or(fallback);
}

std::optional<bool> Fields::find_bool(std::string_view key) const {
  return read_value<bool>(key, [&](const Hit& hit, const Json& value) -> bool {
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number_unsigned() && value.get<std::uint64_t>() <= 1) return value.get<std::uint64_t>() == 1;
    wrong(hit.key, text_of(value), "true or false");
  });
}

std::optional<double> Fields::find_real(std::string_view key) const {
  return read_value<double>(key, [&](const Hit& hit, const Json& value) -> double {
    if (value.is_number()) return value.get<double>();
    wrong(hit.key, text_of(value), "a number");
  });
}

std::optional<std::string> Fields::find_string(std::string_view key) const {
  const auto hit = look_up(key);
  if (!hit) return std::nullopt;
  const Json parsed = hit->node == nullptr ? Json::parse(hit->text) : Json();
  const Json& value = hit->node == nullptr ? parsed : as_json(hit->node);
  if (!value.is_string() && !value.is_null()) {
    if (hit->node != nullptr) misfit(hit->key);
    return std::nullopt;
  }
  record(hit->key, text_of(value), hit->origin);
  if (value.is_null()) return std::nullopt;
  return value.get<std::string>();
}

std::optional<std::vector<std::string>> Fields::strings(std::string_view key) const {
  return read_list<std::string>(key, [&](const Hit& hit, const Json& item) -> std::string {
    if (!item.is_string()) wrong(hit.key, "a list with " + text_of(item), "a list of words");
    return item.get<std::string>();
  });
}

std::optional<std::vector<std::uint64_t>> Fields::counts(std::string_view key) const {
  return read_list<std::uint64_t>(key, [&](const Hit& hit, const Json& item) -> std::uint64_t {
    if (item.is_boolean()) {
      return item.get<bool>() ? 1 : 0;
    } else if (item.is_number_unsigned() && item.get<std::uint64_t>() < kMaxCount) {
      return item.get<std::uint64_t>();
    } else if (item.is_null()) {
      return 0;
    } else {
      wrong(hit.key, "a list with " + text_of(item), "a list of whole numbers");
    }
  });
}

std::optional<std::vector<double>> Fields::reals(std::string_view key) const {
  return read_list<double>(key, [&](const Hit& hit, const Json& item) -> double {
    if (!item.is_number()) wrong(hit.key, "a list with " + text_of(item), "a list of numbers");
    return item.get<double>();
  });
}

std::optional<std::vector<Fields>> Fields::objects(std::string_view key) const {
  if (!is_list(key)) {
    misfit(key);
    return std::nullopt;
  }
  const Json& list = as_json(node_)[std::string(key)];
  touch(key);
  static const Json kNothing = Json::object();
  std::vector<Fields> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_object() && !list[i].is_null()) wrong(key, "a list with " + text_of(list[i]), "a list of objects");
    const Json* item = list[i].is_object() ? &list[i] : &kNothing;
    out.push_back(Fields(document_, item, path_ + std::string(key) + "[" + std::to_string(i) + "].", ""));
  }
  return out;
}

std::optional<std::size_t> Fields::list_size(std::string_view key) const {
  if (!is_list(key)) return std::nullopt;
  return value_at(node_, key)->size();
}

std::optional<Fields> Fields::list_item(std::string_view key, std::size_t index) const {
  const Json* found = value_at(node_, key);
  if (found == nullptr || !found->is_array() || index >= found->size()) return std::nullopt;
  touch(key);
  // The element is wrapped in an object, so that it can be read under a name.
  auto wrapped = std::make_shared<Document>();
  wrapped->root[std::string(key)] = (*found)[index];
  Fields out = of(std::move(wrapped));
  out.path_ = path_;
  return out;
}

std::optional<Fields> Fields::child(std::string_view key) const {
  const Json* found = value_at(node_, key);
  if (found == nullptr) return std::nullopt;
  if (!found->is_object()) {
    misfit(key);
    return std::nullopt;
  }
  Fields out(document_, found, path_ + std::string(key) + ".", "");
  out.quiet_ = quiet_;
  return out;
}

std::vector<std::string> Fields::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : as_json(node_).items()) out.push_back(key);
  return out;
}

void Fields::derived(std::string_view key, std::uint64_t value) const {
  record(key, std::to_string(value), Origin::kDerived);
}

void Fields::derived(std::string_view key, std::string_view value) const {
  record(key, text_of(Json(std::string(value))), Origin::kDerived);
}

void Fields::touch(std::string_view key) const {
  const Json* found = value_at(node_, key);
  if (found != nullptr) record(key, text_of(*found), Origin::kFile);
}

const std::vector<ConfigFact>& Fields::facts() const {
  return document_->facts;
}

std::vector<std::string> Fields::unread() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : as_json(node_).items())
    if (!is_empty_value(value) && !document_->was_read(node_, key)) out.push_back(key);
  return out;
}

}  // namespace kvplan
