// Adds the tensors that towers.txt lists. That file begins with an explanation of its lines.
#include <algorithm>
#include <map>
#include <stdexcept>
#include <vector>

#include "kvplan/strings.h"
#include "models/class_defaults.h"
#include "models/towers/tower.h"

namespace kvplan {

namespace {

using Line = std::string_view;

struct Paragraph {
  Line kind, words, types;  // "tower", the words after it, and those after " for "
  std::vector<Line> lines;
};

[[noreturn]] void wrong(Line line) {
  throw std::logic_error("towers.txt: " + std::string(line));
}

// The text before and after a separator. Without a separator, the whole text and nothing.
std::pair<Line, Line> parted(Line text, Line separator) {
  text = trimmed(text);
  const std::size_t at = text.find(separator);
  if (at == Line::npos) return {text, {}};
  return {trimmed(text.substr(0, at)), trimmed(text.substr(at + separator.size()))};
}

const std::vector<Paragraph>& paragraphs() {
  static const std::vector<Paragraph> all = [] {
    std::vector<Paragraph> out;
    for (const Line line : tower_lines()) {
      if (line.empty() || trimmed(line).starts_with('#')) continue;
      if (line.front() == ' ') {
        out.back().lines.push_back(trimmed(line));
        continue;
      }
      const auto [kind, rest] = parted(line, " ");
      const auto [words, types] = parted(rest, " for ");
      out.push_back({kind, words, types, {}});
    }
    return out;
  }();
  return all;
}

// Whether a list of types names this one: "siglip* -siglip2_vision_model".
bool takes(Line types, Line own) {
  if (types.empty()) return true;
  bool out = false;
  for (const Line type : split(types)) {
    if (type.front() == '-' && type.substr(1) == own) return false;
    out = out || (type.ends_with('*') ? own.starts_with(type.substr(0, type.size() - 1)) : type == own);
  }
  return out;
}

class Writer {
 public:
  using Numbers = TowerNumbers;
  Writer(const TowerWriter& side, Numbers numbers) : s_(side), numbers_(std::move(numbers)) {}

  void write(const std::vector<Line>& lines) {
    for (const Line line : lines) write(line);
  }
  // The numbers of "a = 1, b = 2)".
  Numbers assigned(Line list) {
    Numbers out;
    for (rest_ = list; !rest_.empty() && !take(")"); take(",")) {
      const std::string name(take_word());
      if (!take("=")) wrong(list);
      out[name] = number();
    }
    return out;
  }

 private:
  void write(Line line) {
    const auto [word, rest] = parted(line, " ");
    if (word == "if") {
      const auto [condition, then] = parted(rest, ": ");
      if (number_of(condition) != 0) write(then);
    } else if (word == "t" || word == "p") {
      write_tensor(word == "t" ? s_.t : s_.p, rest);
    } else if (word == "use") {
      write_part(rest);
    } else if (word == "call") {
      write_special_tower(rest, s_);
    } else if (word == "config") {
      const auto [name, path] = parted(rest, " = ");
      configs_.insert_or_assign(std::string(name), config_at(path));
    } else if (word == "class") {
      s_.v = with_class(s_.v, rest);
    } else if (word == "touch") {
      s_.root.touch(rest);
    } else if (word == "whole") {
      s_.t.cuts = false;
    } else {
      const auto [name, value] = parted(line, " = ");
      numbers_[std::string(name)] = number_of(value);
    }
  }

  void write_tensor(const Tower& to, Line line) {
    const auto [name, text] = parted(line, " = ");
    const auto [sizes, words] = parted(text, ";");
    if (sizes.starts_with("blocks ")) return write_blocks(to, name, sizes.substr(7), words);
    const auto [rows_text, columns_text] = parted(sizes, " x ");
    const std::uint64_t rows = number_of(rows_text);
    const std::uint64_t columns = columns_text.empty() ? 0 : number_of(columns_text);
    std::uint64_t bias = 0, copies = 1;
    Split cut = Split::kNone;
    for (const Line each : split(words, ';')) {
      const auto [word, value] = parted(each, " ");
      if (word == "bias")
        bias = value.empty() ? 1 : number_of(value);
      else if (word == "copies")
        copies = number_of(value);
      else if (word == "rows" || word == "columns")
        cut = word == "rows" ? Split::kRows : Split::kColumns;
      else if ((word != "derived" && word != "float32") || !columns_text.empty())
        wrong(line);
      else if (rows > 0)
        to.derived(name, rows).is_float32 = word == "float32";
      if (word == "derived" || word == "float32") return;
    }
    if (columns_text.empty()) return to.plain(name, rows, copies, cut);
    to.linear(name, rows, columns, bias != 0, copies, cut);
  }

  void write_blocks(const Tower& to, Line name, Line sizes, Line words) {
    rest_ = sizes;
    Blocks out;
    for (std::uint64_t Blocks::*size : {&Blocks::width, &Blocks::inner, &Blocks::layers}) {
      out.*size = number();
      take(",");
    }
    for (const Line each : split(words, ';')) {
      const auto [word, text] = parted(each, " ");
      if (word == "llama") {
        out = llama_blocks(out);
        continue;
      }
      const std::uint64_t value = number_of(text);
      if (word == "bias") out.set_biases(value != 0, value != 0);
      using Size = std::pair<Line, std::uint64_t Blocks::*>;
      using Flag = std::pair<Line, bool Blocks::*>;
      bool is_known = word == "bias";
      for (const auto& [known, size] :
           {Size{"qkv_bias", &Blocks::qkv_bias}, Size{"norms", &Blocks::norms}, Size{"extra", &Blocks::extra},
            Size{"heads", &Blocks::heads}, Size{"attention", &Blocks::attention}, Size{"keys", &Blocks::keys}})
        if (known == word) out.*size = value, is_known = true;
      for (const auto& [known, flag] : {Flag{"out_bias", &Blocks::out_bias}, Flag{"mlp_bias", &Blocks::mlp_bias},
                                        Flag{"gated", &Blocks::gated}, Flag{"layer_norm", &Blocks::layer_norm}})
        if (known == word) out.*flag = value != 0, is_known = true;
      if (!is_known) wrong(each);
    }
    to.blocks(std::string(name), out);
  }

  // "NAME(a = 1) in CONFIG as CLASS"
  void write_part(Line text) {
    const auto [what, config] = parted(text, " in ");
    const auto [name, list] = parted(what, "(");
    const Numbers given = assigned(list);
    TowerWriter side = s_;
    if (!config.empty()) side.v = config_at(config);
    write_tower_part(name, side, given);
  }

  // The config that a text names: "root.key as CLASS", "key" in the tower's config, or a name given earlier. If the key
  // is absent it is an empty config, or the tower's own if the key is looked for there.
  Fields config_at(Line text) {
    const auto [path, type] = parted(text, " as ");
    if (const auto named = configs_.find(path); named != configs_.end()) return named->second;
    const bool is_beside = path.starts_with("root.");
    std::optional<Fields> out = is_beside ? s_.root : s_.v;
    for (const Line key : split(is_beside ? path.substr(5) : path, '.'))
      if (out) out = out->child(key);
    if (!type.empty()) return with_class(out.value_or(Fields::empty()), type);
    if (is_beside || !out) return out.value_or(is_beside ? Fields::empty() : s_.v);
    return with_class(*out, out->find_string("model_type").value_or(""));
  }

  // Arithmetic, from the text in rest_.
  std::uint64_t number_of(Line text) {
    rest_ = text;
    const std::uint64_t out = number();
    if (!trimmed(rest_).empty()) wrong(text);
    return out;
  }
  std::uint64_t number() {
    const std::uint64_t left = sum();
    if (take("==")) return left == sum() ? 1 : 0;
    if (take("!=")) return left != sum() ? 1 : 0;
    if (take(">")) return left > sum() ? 1 : 0;
    return take("<") ? (left < sum() ? 1 : 0) : left;
  }
  std::uint64_t sum() {
    std::uint64_t out = product();
    for (bool adds; (adds = take("+")) || take("-");)
      out = adds ? checked_add(out, product(), "the sizes of a tower") : checked_sub(out, product(), "a tower's size");
    return out;
  }
  std::uint64_t product() {
    std::uint64_t out = power();
    for (bool multiplies; (multiplies = take("*")) || take("/");) {
      const std::uint64_t by = power();
      out = multiplies ? times(out, by) : by == 0 ? 0 : out / by;
    }
    return out;
  }
  std::uint64_t power() {
    const std::uint64_t base = atom();
    return take("^2") ? square(base) : base;
  }
  std::uint64_t atom() {
    if (take("(")) {
      const std::uint64_t out = number();
      if (!take(")")) wrong(rest_);
      return out;
    }
    const Line word = take_word();
    if (word.empty()) wrong(rest_);
    if (word.front() >= '0' && word.front() <= '9') return whole_number(word).value_or(0);
    if (rest_.starts_with('(')) return function(word);
    const bool is_flag = rest_.starts_with('?');
    if (!is_flag && !rest_.starts_with(':')) {
      if (word == "out") return s_.out;
      const auto found = numbers_.find(word);
      if (found == numbers_.end()) wrong(word);
      return found->second;
    }
    rest_.remove_prefix(1);
    return value_of(word, is_flag, atom());
  }

  std::uint64_t value_of(Line word, bool is_flag, std::uint64_t usual) {
    const std::size_t dot = word.rfind('.');
    const Line place = dot == Line::npos ? Line() : word.substr(0, dot);
    Line key = word.substr(dot + 1);
    const Fields config = source_of(place);
    if (key.starts_with('#')) return config.list_size(key.substr(1)).value_or(usual);
    if (is_flag) return config.flag(key, usual != 0) ? 1 : 0;
    if (!place.empty()) return config.count_or(key, usual);
    return s_.count(split(key, '|'), usual);
  }
  Fields source_of(Line place) const {
    if (place.empty() || place == "v") return s_.v;
    if (place == "root") return s_.root;
    if (place == "text") return s_.t.inventory.text;
    if (place == "file") return s_.t.inventory.reader.root;
    if (place == "bare") return s_.v.bare();
    const auto found = configs_.find(place);
    if (found == configs_.end()) wrong(place);
    return found->second;
  }

  std::uint64_t function(Line name) {
    rest_.remove_prefix(1);
    if (name == "max" || name == "min" || name == "ceil" || name == "divided") return function_of_numbers(name);
    if (name == "unread" || name == "halvings") {
      std::uint64_t value = number();
      take(")");
      if (name == "unread") return unread_layers(value);
      std::uint64_t out = 0;
      for (; value > 1; value /= 2) ++out;
      return out;
    }
    if (name == "scaled") {
      const std::uint64_t width = number();
      take(",");
      const Line key = trimmed(take_until(','));
      const double ratio = s_.v.find_real(key).value_or(static_cast<double>(number()));
      take(")");
      return whole_width(ratio * static_cast<double>(width), key);
    }
    const Line words = take_until(')');
    if (name == "root_is") return has_word(words, s_.root_type) ? 1 : 0;
    if (name == "own_is") return has_word(words, s_.own) ? 1 : 0;
    if (name == "text_is") return has_word(words, s_.t.inventory.text.class_name()) ? 1 : 0;
    if (name == "has") return s_.v.has(words) ? 1 : 0;
    const auto [key, value] = parted(words, ",");
    if (name == "says") {
      const auto [wanted, usual] = parted(value, ",");
      return s_.v.find_string(key).value_or(std::string(usual)) == wanted ? 1 : 0;
    }
    if (name != "largest") wrong(name);
    std::uint64_t out = 0;  // the sum of the values of a map
    const auto map = s_.root.child(key.substr(key.find('.') + 1));
    for (const std::string& each : map ? map->keys() : std::vector<std::string>())
      out = std::max(out, map->count_or(each, 0));
    return out;
  }
  std::uint64_t function_of_numbers(Line name) {
    std::vector<std::uint64_t> values;
    do values.push_back(number());
    while (take(","));
    take(")");
    if (name == "max") return std::max(values[0], values[1]);
    if (name == "min") return std::min(values[0], values[1]);
    if (name == "ceil") return ceil_div(values[0], values[1]);
    for (std::uint64_t i = 0; i < values[2]; ++i) values[0] /= values[1];
    return values[0];
  }

  // vision_feature_layer is the last layer used, counted from the end. Engines leave out the layers after it. If it is
  // a list, the last layer counts, which is not modelled.
  std::uint64_t unread_layers(std::uint64_t usual) const {
    const double last = s_.root.is_number("vision_feature_layer")
                            ? s_.root.find_real("vision_feature_layer").value_or(-1)
                        : s_.root.has("vision_feature_layer") ? -1
                                                              : -1 - static_cast<double>(usual);
    return last < -1 && last > -64 ? static_cast<std::uint64_t>(-last) - 1 : 0;
  }

  bool take(Line word) {
    rest_ = trimmed(rest_);
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  Line take_word() {
    rest_ = trimmed(rest_);
    const auto end = std::find_if(rest_.begin(), rest_.end(),
                                  [](char c) { return !is_letter_or_digit(c) && Line("_.#|").find(c) == Line::npos; });
    const Line out = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(out.size());
    return out;
  }
  Line take_until(char end) {
    const Line out = rest_.substr(0, rest_.find(end));
    rest_.remove_prefix(std::min(out.size() + 1, rest_.size()));
    return out;
  }

  TowerWriter s_;
  Numbers numbers_;
  std::map<std::string, Fields, std::less<>> configs_;
  Line rest_;
};

}  // namespace

bool write_tower(std::string_view kind, const TowerWriter& side) {
  for (const Paragraph& paragraph : paragraphs()) {
    if (paragraph.kind != kind || !takes(paragraph.types, side.own)) continue;
    if (!has_word(paragraph.words, side.root_type) && !has_word(paragraph.words, side.own)) continue;
    Writer(side, {}).write(paragraph.lines);
    return true;
  }
  return false;
}

void write_tower_part(std::string_view name, const TowerWriter& side, const TowerNumbers& given) {
  for (const Paragraph& paragraph : paragraphs()) {
    const auto [own, list] = parted(paragraph.words, "(");
    if (paragraph.kind != "part" || own != name) continue;
    TowerNumbers numbers = Writer(side, {}).assigned(list);
    for (const auto& [word, number] : given)
      if (const auto known = numbers.find(word); known != numbers.end())
        known->second = number;
      else
        wrong(name);
    return Writer(side, std::move(numbers)).write(paragraph.lines);
  }
  wrong(name);
}

void write_encoder_part(std::string_view name, const Tower& tower, const Fields& config, const TowerNumbers& given) {
  write_tower_part(name, {tower, tower, config, config, tower.inventory.hidden, "", ""}, given);
}

}  // namespace kvplan
