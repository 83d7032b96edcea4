// How values of each type are written: as JSON, and in the schema.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "kvplan/plan.h"
#include "kvplan/quantity.h"
#include "report/fields.h"
#include "report/names.h"

namespace kvplan {

// A value given as JSON text, as in a config.
struct Spelled {
  std::string_view text;
};

Json parsed(std::string_view text);  // a string if the text is not JSON
// Schemas of plain types, of lists, and of words (a list that ends with an empty word).
Json plain_schema(const char* type);
Json count_schema();
Json list_schema(Json item);
Json words_schema(std::string_view (*word)(int));
// The schema, extended to allow null.
Json nullable(Json schema);

// A struct is written with its table.
template <class T>
struct ValueOf {
  static constexpr bool has_fields = true, is_list = false;
  static Json json(const T& value) { return Schema<T>::table.json(value); }
  static Json schema(Json& definitions) { return Schema<T>::table.schema(definitions); }
  static void cells(const T* value, Cells& out) { Schema<T>::table.cells(value, out); }
};

struct Plain {
  static constexpr bool has_fields = false, is_list = false;
};

template <>
struct ValueOf<bool> : Plain {
  static Json json(bool value) { return value; }
  static Json schema(Json&) { return plain_schema("boolean"); }
};

template <std::integral T>
struct ValueOf<T> : Plain {
  static Json json(T value) { return value; }
  static Json schema(Json&) { return std::is_signed_v<T> ? plain_schema("integer") : count_schema(); }
};

template <>
struct ValueOf<double> : Plain {
  static Json json(double value) { return value; }  // null for infinity and NaN
  static Json schema(Json&) { return plain_schema("number"); }
};

template <std::convertible_to<std::string_view> T>
struct ValueOf<T> : Plain {
  static Json json(std::string_view value) { return std::string(value); }
  static Json schema(Json&) { return plain_schema("string"); }
};

template <class Tag>
struct ValueOf<Quantity<Tag>> : Plain {
  static Json json(Quantity<Tag> value) { return value.count(); }
  static Json schema(Json& definitions) { return ValueOf<std::uint64_t>::schema(definitions); }
};

// An enumeration, by its names. The list of names ends with an empty one.
template <class T>
requires std::is_enum_v<T>
struct ValueOf<T> : Plain {
  static Json json(T value) { return std::string(name(value)); }
  static Json schema(Json&) {
    return words_schema([](int i) { return name(static_cast<T>(i)); });
  }
};

template <>
struct ValueOf<Template> : Plain {
  static Json json(const Template& words) { return in_words(words); }
  static Json schema(Json&) { return plain_schema("string"); }
};

template <>
struct ValueOf<Spelled> : Plain {
  static Json json(Spelled value) { return parsed(value.text); }
  static Json schema(Json&) { return Json::object(); }
};

// Options with their values.
template <>
struct ValueOf<std::vector<std::pair<std::string, std::string>>> : Plain {
  static Json json(const std::vector<std::pair<std::string, std::string>>& list) {
    Json out = Json::object();
    for (const auto& [option, value] : list) out[option] = value;
    return out;
  }
  static Json schema(Json&) { return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}}; }
};

template <class List, class T>
struct ValueOfList : Plain {
  static constexpr bool is_list = true;
  static Json json(const List& list) {
    Json out = Json::array();
    for (const T& item : list) out.push_back(ValueOf<T>::json(item));
    return out;
  }
  static void items(const List& list, const std::function<void(const Json&)>& take) {
    for (const T& item : list) take(ValueOf<T>::json(item));
  }
  static Json schema(Json& definitions) { return list_schema(ValueOf<T>::schema(definitions)); }
};
template <class T>
struct ValueOf<std::vector<T>> : ValueOfList<std::vector<T>, T> {};
template <class T>
struct ValueOf<std::span<const T>> : ValueOfList<std::span<const T>, T> {};

template <class T>
struct ValueOf<std::optional<T>> {
  static constexpr bool has_fields = ValueOf<T>::has_fields, is_list = false;
  static Json json(const std::optional<T>& value) { return value ? ValueOf<T>::json(*value) : Json(nullptr); }
  static Json schema(Json& definitions) { return nullable(ValueOf<T>::schema(definitions)); }
  static void cells(const std::optional<T>* value, Cells& out) requires has_fields {
    ValueOf<T>::cells(value != nullptr && *value ? &**value : nullptr, out);
  }
};

template <class T>
struct ValueOf<const T*> : Plain {
  static Json json(const T* value) { return ValueOf<T>::json(*value); }
  static Json schema(Json& definitions) { return ValueOf<T>::schema(definitions); }
};

template <class... T>
struct ValueOf<std::variant<T...>> : Plain {
  static Json json(const std::variant<T...>& value) {
    return std::visit([](const auto& one) { return ValueOf<std::remove_cvref_t<decltype(one)>>::json(one); }, value);
  }
  static Json schema(Json& definitions) { return {{"oneOf", {ValueOf<T>::schema(definitions)...}}}; }
};

// Null for an empty text or a count of 0.
inline std::optional<std::string_view> if_any(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional(text);
}
template <class Number>
requires std::is_arithmetic_v<Number> std::optional<Number> if_any(Number number) {
  return number > 0 ? std::optional(number) : std::nullopt;
}
inline std::optional<Template> if_any(const Template& words) {
  return words.empty() ? std::nullopt : std::optional(words);
}
template <class Tag>
std::optional<Quantity<Tag>> if_any(Quantity<Tag> count) {
  return count == Quantity<Tag>(0) ? std::nullopt : std::optional(count);
}
// Reads a member, or a member of a member, also through a pointer: at<&Answer::plan, &Plan::total>.
template <auto first, auto... more>
struct At {
  decltype(auto) operator()(const auto& whole) const {
    if constexpr (sizeof...(more) == 0)
      return std::invoke(first, whole);
    else
      return At<more...>()(std::invoke(first, whole));
  }
};
template <auto... members>
constexpr At<members...> at;
// As `at`, with if_any applied.
template <auto... members>
struct OrNull {
  auto operator()(const auto& whole) const { return if_any(At<members...>()(whole)); }
};
template <auto... members>
constexpr OrNull<members...> or_null;
// As if_any, and null if any number fits.
inline std::optional<std::uint64_t> if_bounded(std::optional<std::uint64_t> count) {
  return count && *count >= kAnyCount ? std::nullopt : count;
}
template <auto... members>
struct Bounded {
  auto operator()(const auto& whole) const { return if_bounded(At<members...>()(whole)); }
};
template <auto... members>
constexpr Bounded<members...> bounded;

}  // namespace kvplan
