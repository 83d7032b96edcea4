// A field is one row of a table: its key, how it is read from the answer, and what it means. JSON, the JSON Schema and
// CSV are made of the rows, so that they say the same.
#ifndef KVPLAN_REPORT_FIELDS_H_
#define KVPLAN_REPORT_FIELDS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace kvplan {

using Json = nlohmann::ordered_json;
// A line of CSV: titles and texts.
using Cells = std::vector<std::pair<std::string_view, std::string>>;

// What a row says beside its value.
struct Extra {
  bool is_column = false;  // of CSV
  bool is_json = true;
  std::string_view title;   // of the column; empty: its key
  std::string_view limits;  // what the schema asks of it besides its type: members of a JSON object

  constexpr Extra limit(std::string_view members) const { return {is_column, is_json, title, members}; }
};
constexpr Extra limit(std::string_view members) {
  return Extra{}.limit(members);
}
constexpr std::string_view kFromZero = R"("minimum": 0)";
constexpr std::string_view kFromOne = R"("minimum": 1)";
constexpr Extra column(std::string_view title = "") {
  return {true, true, title, ""};
}
// A figure that a spreadsheet wants beside those of JSON; of a part, the columns that the part has.
constexpr Extra csv_only() {
  return {true, false, "", ""};
}

// How a value of type T is written: fields_values.h.
template <class T>
struct ValueOf;

// A row for values of a type that only its functions know.
struct AnyRow {
  std::string_view key, description;
  Extra extra;
  Json (*schema)(Json& definitions) = nullptr;
  Json (*json)(const void* whole) = nullptr;
  void (*items)(const void* whole, const std::function<void(const Json&)>& take) = nullptr;  // of a list, one by one
  void (*cells)(const void* whole, Cells& out) = nullptr;  // of a part with fields of its own
};

template <class T>
struct Row : AnyRow {
  // `Get` is at<&T::member>, or a function object without a state that takes a T.
  template <class Get>
  requires std::is_empty_v<Get>
  constexpr Row(std::string_view of_key, Get, std::string_view meaning = "", Extra beside = {})
      : AnyRow{of_key, meaning, beside, Value<Get>::schema, {}, {}, {}} {
    json = [](const void* whole) { return Value<Get>::json(Get()(*static_cast<const T*>(whole))); };
    if constexpr (Value<Get>::is_list)
      items = [](const void* whole, const std::function<void(const Json&)>& take) {
        Value<Get>::items(Get()(*static_cast<const T*>(whole)), take);
      };
    if constexpr (Value<Get>::has_fields)
      cells = [](const void* whole, Cells& out) {
        if (whole == nullptr) return Value<Get>::cells(nullptr, out);
        const auto& part = Get()(*static_cast<const T*>(whole));
        Value<Get>::cells(&part, out);
      };
  }

 private:
  template <class Get>
  using Value = ValueOf<std::remove_cvref_t<std::invoke_result_t<Get, const T&>>>;
};

template <class T, std::size_t count>
constexpr std::array<AnyRow, count> rows_of(const Row<T> (&rows)[count]) {
  std::array<AnyRow, count> out{};
  for (std::size_t i = 0; i < count; ++i) out[i] = rows[i];
  return out;
}

enum class TableKind : std::uint8_t {
  kPart,
  kReport  // a whole one, which says first what it is
};

class AnyTable {
 public:
  // A table with a name is a definition of the schema.
  constexpr AnyTable(const char* name, std::string_view description, std::span<const AnyRow> rows,
                     TableKind kind = TableKind::kPart)
      : name_(name), description_(description), rows_(rows), kind_(kind) {}
  Json schema(Json& definitions) const;

 protected:
  Json json_of(const void* whole) const;
  std::string text_of(const void* whole) const;
  void cells_of(const void* whole, Cells& out) const;

 private:
  std::string_view name_, description_;
  std::span<const AnyRow> rows_;
  TableKind kind_;
};

template <class T>
class Table : public AnyTable {
 public:
  using AnyTable::AnyTable;
  Json json(const T& whole) const { return json_of(&whole); }
  // The text of a report: two spaces for each level, and a line break at the end.
  std::string text(const T& whole) const { return text_of(&whole); }
  // Without a value: the titles alone.
  void cells(const T* whole, Cells& out) const { cells_of(whole, out); }
};

// The fields of T.
template <class T>
const Table<T>& table();

// The text of a cell; "" for null.
std::string cell_text(const Json& value);
// The same of values that no table has.
std::string json_text(const Json& json);
// Columns in the order of the list, the others behind.
std::string csv_text(std::string_view order, const Cells& titles, const std::vector<Cells>& lines);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_FIELDS_H_
