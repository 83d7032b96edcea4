#include "report/fields.h"

#include <algorithm>

#include "kvplan/error.h"
#include "kvplan/strings.h"
#include "kvplan/version.h"
#include "report/fields_tables.h"
#include "report/report.h"

namespace kvplan {

constexpr int kSchemaVersion = 1;
constexpr std::size_t kLongestCell = 4096;

// RFC 4180: quotes text with a comma, a quote or a line end.
static std::string quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

static bool accepts_null(const Json& schema) {
  if (const auto type = schema.find("type"); type != schema.end()) return type->is_array();
  return schema.empty() || schema.contains("anyOf");
}

// The schema with a description and further members.
static Json described(Json schema, std::string_view description, std::string_view limits) {
  Json out = Json::object();
  if (!description.empty()) out["description"] = description;
  out.update(schema);
  if (limits.empty()) return out;
  const std::string members = "{" + std::string(limits) + "}";
  const std::string_view text = members;
  out.update(Json::parse(text.begin(), text.end()));
  return out;
}

// Appends the value, with `indent` before every line after the first.
static void add_json(std::string& out, const Json& value, std::string_view indent) {
  std::string text = value.dump(2, ' ', false, Json::error_handler_t::replace);
  // Nearly all values are printable as they are, and some are large.
  const bool is_plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c < '\x7f'); });
  if (!is_plain || text.find("##[") != std::string::npos || text.find("hf_") != std::string::npos)
    text = printable_json(text);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    out.append(text, at, end - at);
    if (end < text.size()) out += indent;
    at = end;
  }
}

template <class... Report>
static void define(Json& definitions) {
  (Schema<Report>::table.schema(definitions), ...);
}

Json parsed(std::string_view text) {
  // The keys of a config's value are sorted, so parsing into a sorted tree keeps their order. In a tree with a list of
  // keys, each key would be searched for in the list.
  const auto value = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  return value.is_discarded() ? Json(std::string(text)) : Json(value);
}

Json plain_schema(const char* type) {
  return {{"type", type}};
}

Json count_schema() {
  return {{"type", "integer"}, {"minimum", 0}};
}

Json list_schema(Json item) {
  return {{"type", "array"}, {"items", std::move(item)}};
}

Json words_schema(std::string_view (*word)(int)) {
  Json words = Json::array();
  for (int i = 0; !word(i).empty(); ++i) words.push_back(word(i));
  return {{"enum", std::move(words)}};
}

Json nullable(Json schema) {
  if (accepts_null(schema)) return schema;
  if (schema.contains("$ref")) return {{"anyOf", {std::move(schema), {{"type", "null"}}}}};
  if (const auto words = schema.find("enum"); words != schema.end()) words->push_back(nullptr);
  if (const auto type = schema.find("type"); type != schema.end()) *type = {*type, "null"};
  return schema;
}

Json AnyTable::schema(Json& definitions) const {
  const std::string name(name_);
  const Json reference{{"$ref", "#/$defs/" + name}};
  if (!name.empty() && definitions.contains(name)) return reference;
  if (!name.empty()) definitions[name] = nullptr;  // reserves its position before its parts
  Json required = Json::array();
  Json properties = Json::object();
  if (kind_ == TableKind::kReport) {
    required = {"schema_version", "kvplan_version"};
    properties = {{"schema_version", {{"const", kSchemaVersion}}}, {"kvplan_version", plain_schema("string")}};
  }
  for (const AnyRow& row : rows_) {
    if (!row.extra.is_json) continue;
    required.push_back(row.key);
    properties[std::string(row.key)] = described(row.schema(definitions), row.description, row.extra.limits);
  }
  Json out = described({{"type", "object"}, {"required", std::move(required)}, {"properties", std::move(properties)}},
                       description_, "");
  if (name.empty()) return out;
  definitions[name] = std::move(out);
  return reference;
}

Json AnyTable::json_of(const void* whole) const {
  Json::object_t out;
  out.reserve(rows_.size() + 2);
  if (kind_ == TableKind::kReport) {
    out.emplace_back("schema_version", kSchemaVersion);
    out.emplace_back("kvplan_version", kVersion);
  }
  for (const AnyRow& row : rows_)
    if (row.extra.is_json) out.emplace_back(std::string(row.key), row.json(whole));
  return out;
}

// Writes a list item by item. A tree of the whole list takes several times the text's memory, and a report may have
// every GPU of every answer.
std::string AnyTable::text_of(const void* whole) const {
  std::string out;
  const auto add = [&](std::string_view key, const Json& value, std::string_view indent) {
    out += out.empty() ? "{" : out.back() == '[' ? "" : ",";
    (out += '\n') += indent;
    if (!key.empty()) ((out += '"') += key) += "\": ";
    add_json(out, value, indent);
  };
  if (kind_ == TableKind::kReport) {
    add("schema_version", kSchemaVersion, "  ");
    add("kvplan_version", kVersion, "  ");
  }
  for (const AnyRow& row : rows_) {
    if (!row.extra.is_json) continue;
    if (row.items == nullptr) {
      add(row.key, row.json(whole), "  ");
      continue;
    }
    add(row.key, Json::array(), "  ");
    out.pop_back();
    row.items(whole, [&](const Json& item) { add("", item, "    "); });
    out += out.back() == '[' ? "]" : "\n  ]";
  }
  out += "\n}\n";
  return out;
}

void AnyTable::cells_of(const void* whole, Cells& out) const {
  for (const AnyRow& row : rows_) {
    if (row.cells != nullptr) {
      row.cells(whole, out);
    } else if (row.extra.is_column) {
      const std::string_view title = row.extra.title.empty() ? row.key : row.extra.title;
      // The first column with a title is used.
      if (std::none_of(out.begin(), out.end(), [&](const auto& cell) { return cell.first == title; }))
        out.emplace_back(title, whole != nullptr ? cell_text(row.json(whole)) : "");
    }
  }
}

std::string cell_text(const Json& value) {
  if (value.is_null()) return "";
  // The last digits of a real number differ between machines, so they are not printed.
  if (value.is_number_float()) return std::to_string(static_cast<std::uint64_t>(value.get<double>()));
  if (!value.is_string()) return value.dump();
  // A spreadsheet would read such a text as a formula, even after spaces.
  const std::string text = one_line(value.get_ref<const std::string&>(), kLongestCell);
  const auto first = text.find_first_not_of(' ');
  return (first != std::string::npos && std::string_view("=+-@").find(text[first]) != std::string_view::npos ? "'"
                                                                                                             : "") +
         text;
}

std::string json_text(const Json& json) {
  std::string out;
  add_json(out, json, "");
  out += '\n';
  return out;
}

std::string csv_text(std::string_view order, const Cells& titles, const std::vector<Cells>& lines) {
  const std::vector<std::string_view> known = split(order);
  std::vector<std::size_t> columns(titles.size());
  for (std::size_t c = 0; c < columns.size(); ++c) columns[c] = c;
  const auto place = [&](std::size_t c) {
    return std::find(known.begin(), known.end(), titles[c].first) - known.begin();
  };
  std::stable_sort(columns.begin(), columns.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  std::string out;
  const auto add = [&](std::size_t c, std::string_view text) {
    out += quoted(text);
    out += c == columns.back() ? '\n' : ',';
  };
  for (const std::size_t c : columns) add(c, titles[c].first);
  for (const Cells& line : lines)
    for (const std::size_t c : columns) add(c, line[c].second);
  return out;
}

std::string schema_json(std::span<const KindInfo> kinds) {
  Json words = Json::array();
  for (const KindInfo& kind : kinds)
    if (std::find(words.begin(), words.end(), kind.name) == words.end()) words.push_back(kind.name);
  Json definitions{{"kind", {{"enum", std::move(words)}}}};
  define<Plan, Fleet, Answers, PlanDiff, Grid, std::vector<FitEntry>, Calibration, LogCheck, WatchReport,
         CardMeasurement, ModelList, Pick, std::span<const Gpu>, std::span<const EngineRow>,
         std::span<const EngineRule>, std::span<const DtypeInfo>, std::span<const KindInfo>>(definitions);
  Json reports = Json::array();
  for (const auto& [name, definition] : definitions.items())
    if (definition.contains("properties") && definition["properties"].contains("schema_version"))
      reports.push_back({{"$ref", "#/$defs/" + name}});
  return json_text(
      {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
       {"$id", "urn:kvplan:schema:1"},
       {"title", "kvplan report"},
       {"description",
        "What kvplan prints with --format json: a plan, plans of several models, the answers of compare and fit, "
        "the difference of two plans, a log compared with a plan, or a built-in table. Bytes are integers "
        "and their keys end in _bytes; a value that does not apply is null, never absent. Keys may be added within "
        "a schema_version, so unknown keys are allowed."},
       {"oneOf", std::move(reports)},
       {"$defs", std::move(definitions)}});
}

}  // namespace kvplan
