// A field is one row of a table: its key, how it is read from the answer, and what it means. JSON, the JSON Schema and
// CSV are made of the rows, so that they say the same.
#ifndef KVPLAN_REPORT_FIELDS_H_
#define KVPLAN_REPORT_FIELDS_H_

#include <functional>
#include <nlohmann/json.hpp>
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

// What a row says of values of any type.
struct RowInfo {
  std::string_view key, description;
  Extra extra;
  Json (*schema)(Json& definitions) = nullptr;
};

template <class T>
struct Row : RowInfo {
  // `Get` is at<&T::member>, or a function object without a state that takes a T.
  template <class Get>
  requires std::is_empty_v<Get>
  constexpr Row(std::string_view of_key, Get, std::string_view meaning = "", Extra beside = {})
      : RowInfo{of_key, meaning, beside, Value<Get>::schema} {
    json = [](const T& whole) { return Value<Get>::json(Get()(whole)); };
    if constexpr (Value<Get>::has_fields)
      cells = [](const T* whole, Cells& out) {
        if (whole == nullptr) return Value<Get>::cells(nullptr, out);
        const auto& part = Get()(*whole);
        Value<Get>::cells(&part, out);
      };
  }

  Json (*json)(const T& whole) = nullptr;
  void (*cells)(const T* whole, Cells& out) = nullptr;  // of a part with fields of its own

 private:
  template <class Get>
  using Value = ValueOf<std::remove_cvref_t<std::invoke_result_t<Get, const T&>>>;
};

std::string_view program_version();
// What the schema says of a struct: a definition where it has a name.
Json struct_schema(const std::string& name, std::string_view description, const std::vector<const RowInfo*>& rows,
                   Json& definitions);
// The text of a cell; "" for null.
std::string cell_text(const Json& value);
// Adds a cell, unless there is one with its title.
void add_cell(std::string_view title, std::string text, Cells& out);

template <class T>
class Table {
 public:
  // A table with a name is a definition of the schema.
  Table(const char* name, std::string_view description, std::vector<Row<T>> rows)
      : name_(name), description_(description), rows_(std::move(rows)) {}
  // A whole report, which says first what it is.
  static Table report(const char* name, std::string_view description, std::vector<Row<T>> rows) {
    const auto version = [](const T&) { return program_version(); };
    const Row<T> first[] = {{"schema_version", [](const T&) { return 1; }, "", limit(R"("const": 1)")},
                            {"kvplan_version", version}};
    rows.insert(rows.begin(), std::begin(first), std::end(first));
    return {name, description, std::move(rows)};
  }

  Json json(const T& whole) const {
    Json::object_t out;
    out.reserve(rows_.size());
    for (const Row<T>& row : rows_)
      if (row.extra.is_json) out.emplace_back(std::string(row.key), row.json(whole));
    return out;
  }

  Json schema(Json& definitions) const {
    std::vector<const RowInfo*> rows;
    for (const Row<T>& row : rows_)
      if (row.extra.is_json) rows.push_back(&row);
    return struct_schema(name_, description_, rows, definitions);
  }

  // Without a value: the titles alone.
  void cells(const T* whole, Cells& out) const {
    for (const Row<T>& row : rows_) {
      if (row.cells)
        row.cells(whole, out);
      else if (row.extra.is_column)
        add_cell(row.extra.title.empty() ? row.key : row.extra.title, whole ? cell_text(row.json(*whole)) : "", out);
    }
  }

 private:
  std::string name_;
  std::string_view description_;
  std::vector<Row<T>> rows_;
};

// The fields of T, built when they are first asked for.
template <class T>
const Table<T>& table();

// The text of a report: two spaces for each level, and a line break at the end.
std::string json_text(const Json& json);
// Columns in the order of the list, the others behind.
std::string csv_text(std::string_view order, const Cells& titles, const std::vector<Cells>& lines);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_FIELDS_H_
