// A constant text with named values, such as "{tokens} tokens * {hidden_size} * 2 B". It says how a figure was
// computed, or is an engine's message. Reports insert the values. "{num_seqs:sequence}" is a count ("1 sequence", "3
// sequences"), "{needed:GiB}" are bytes in GiB, "{needed:size}" bytes in a suitable unit, and "{needed:size_up}" the
// same rounded up.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kvplan/quantity.h"

namespace kvplan {

struct NamedValue {
  using Value = std::variant<std::uint64_t, double, std::string>;
  std::string_view name;
  Value value;

  // std::size_t and std::uint64_t are different types on a 32-bit system.
  template <std::unsigned_integral Number>
  NamedValue(std::string_view of, Number number) : name(of), value(std::uint64_t{number}) {}
  NamedValue(std::string_view of, double number) : name(of), value(number) {}
  NamedValue(std::string_view of, std::string words) : name(of), value(std::move(words)) {}
  NamedValue(std::string_view of, std::string_view words) : name(of), value(std::string(words)) {}
  NamedValue(std::string_view of, const char* words) : name(of), value(std::string(words)) {}
  NamedValue(std::string_view of, Bytes bytes) : name(of), value(bytes.count()) {}
  NamedValue(std::string_view of, Tokens tokens) : name(of), value(tokens.count()) {}
  NamedValue(std::string_view of, Elements elements) : name(of), value(elements.count()) {}
  bool operator==(const NamedValue&) const = default;
};

// One template, or several in a row: "{gate} + " and "{up} x 2 B". Copies share their parts.
class Template {
 public:
  struct Part {
    std::string_view text;  // points at a constant of the program
    std::vector<NamedValue> values;
    bool operator==(const Part&) const = default;
  };

  Template() = default;
  // Every name in braces must be among `values`.
  Template(const char* constant, std::initializer_list<NamedValue> values = {});
  // Text that is not a constant, such as a calibration's source.
  static Template quoted(std::string words) { return {"{words}", {{"words", std::move(words)}}}; }

  Template& operator+=(const Template& more);
  friend Template operator+(Template first, const Template& second) { return first += second; }

  bool empty() const { return parts_ == nullptr; }
  std::span<const Part> parts() const { return empty() ? std::span<const Part>() : std::span<const Part>(*parts_); }
  friend bool operator==(const Template& a, const Template& b);
  bool operator==(const char*) const = delete;  // no rule may depend on the words

 private:
  std::shared_ptr<const std::vector<Part>> parts_;  // null: empty text
};

// The text, with its values put in.
std::string in_words(const Template& text);

}  // namespace kvplan
