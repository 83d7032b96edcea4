// A field is one row: JSON, the schema and CSV all have it. And the form of values.
#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "kvplan/quantity.h"
#include "report/fields_values.h"

namespace kvplan {

namespace {

struct Shelf {
  std::string name;
  Bytes size;
};
struct Room {
  std::string label;
  std::optional<std::uint64_t> doors;
  std::vector<Shelf> shelves;
  std::optional<Shelf> best;
  double warmth = 0;
};

Room sample() {
  return {"=1+1", std::nullopt, {{"a,b", Bytes(7)}}, Shelf{"\"c\"", Bytes(9)}, 20.75};
}

using FieldRows = std::vector<Row<Room>>;

FieldRows rows() {
  return {{"label", at<&Room::label>, "what is on the door", column()},
          {"doors", at<&Room::doors>, column().limit(kFromOne)},
          {"shelves", at<&Room::shelves>},
          {"best", at<&Room::best>},
          {"warmth", at<&Room::warmth>, column("degrees")},
          {"count", [](const Room& room) { return room.shelves.size(); }, csv_only()}};
}

// A table of rows in each format: JSON, the properties of the schema, and the first line of CSV.
struct Said {
  Json json, required, properties;
  std::string csv;
};
Said said(const FieldRows& of) {
  const Table<Room> fields("room", "", of);
  Json definitions = Json::object();
  fields.schema(definitions);
  Cells titles;
  Cells line;
  const Room room = sample();
  fields.cells(nullptr, titles);
  fields.cells(&room, line);
  const Json& schema = definitions["room"];
  return {fields.json(room), schema["required"], schema["properties"], csv_text("degrees label", titles, {line})};
}

}  // namespace

template <>
const Table<Shelf> Schema<Shelf>::table({{"name", at<&T::name>, column("best_name")}, {"bytes", at<&T::size>}});

TEST_CASE("fields: JSON, the schema and CSV come from one table") {
  const Said of = said(rows());
  CHECK(of.json.dump() ==
        R"({"label":"=1+1","doors":null,"shelves":[{"name":"a,b","bytes":7}],"best":{"name":"\"c\"","bytes":9},)"
        R"("warmth":20.75})");
  CHECK(of.required.dump() == R"(["label","doors","shelves","best","warmth"])");
  const Json shelf = Json::parse(
      R"({"type":"object","required":["name","bytes"],"properties":{"name":{"type":"string"},"bytes":{"type":"integer","minimum":0}}})");
  CHECK(of.properties["label"] == Json::parse(R"({"description":"what is on the door","type":"string"})"));
  CHECK(of.properties["doors"] == Json::parse(R"({"type":["integer","null"],"minimum":1})"));
  CHECK(of.properties["shelves"] == Json{{"type", "array"}, {"items", shelf}});
  CHECK(of.properties["best"]["type"] == Json::parse(R"(["object","null"])"));
  CHECK(of.properties["best"]["properties"] == shelf["properties"]);
  // Columns that spreadsheets know come first. A formula is stored as text.
  CHECK(of.csv == "degrees,label,doors,best_name,count\n20,'=1+1,,\"\"\"c\"\"\",1\n");
}

TEST_CASE("fields: a new row of the table is in all output formats") {
  FieldRows more = rows();
  more.push_back(Row<Room>(
      "first", [](const Room& room) { return room.shelves.front().size; }, "of the first shelf", column()));
  const Said before = said(rows());
  const Said after = said(more);
  CHECK_FALSE(before.json.contains("first"));
  CHECK(after.json["first"] == 7);
  CHECK(after.required.back() == "first");
  CHECK(after.properties["first"] ==
        Json::parse(R"({"description":"of the first shelf","type":"integer","minimum":0})"));
  CHECK(before.csv.find("first") == std::string::npos);
  CHECK(after.csv == "degrees,label,doors,best_name,count,first\n20,'=1+1,,\"\"\"c\"\"\",1,7\n");
}

TEST_CASE("fields: a spreadsheet does not read a cell as a formula") {
  for (const std::string text : {"=1+1", "+1", "-1", "@a"}) CHECK(cell_text(text) == "'" + text);
  for (const std::string text : {"\tb", "\rb"})
    CHECK(cell_text(text) == "?b");  // a formula does not start with a control character
  for (const std::string text : {"", "a=1", "model.json", "1+1"}) CHECK(cell_text(text) == text);
  CHECK(cell_text(-5) == "-5");
  CHECK(cell_text(2.9) == "2");
  CHECK(cell_text(nullptr).empty());
  CHECK(cell_text(true) == "true");
}

// If an enumerator had no word, the words after it would be shifted.
TEST_CASE("fields: every enumerator has its own word") {
  const auto is_last = [](auto last, std::string_view word) {
    CAPTURE(word);
    CHECK(name(last) == word);
    CHECK(name(static_cast<decltype(last)>(static_cast<int>(last) + 1)).empty());
  };
  is_last(Role::kIndex, "index");
  is_last(Growth::kSequence, "sequence");
  is_last(Verdict::kUnknown, "unknown");
  is_last(NoteLevel::kWarning, "warning");
  is_last(RehearsalStatus::kStops, "stops");
  is_last(MeasureStatus::kFailed, "failed");
  is_last(StartStage::kServing, "serving");
  is_last(WatchStatus::kTooSlow, "too_slow");
  is_last(LogEventId::kMark, "mark");
  is_last(LogVerdict::kCannotTell, "cannot_tell");
  is_last(LogPhase::kServing, "serving");
  is_last(LogCure::kOther, "other");
}

TEST_CASE("fields: enumerations by name, an empty name as null") {
  Json definitions;
  CHECK(ValueOf<Basis>::json(Basis::kLog) == "log");
  CHECK(ValueOf<std::optional<Basis>>::schema(definitions).dump() ==
        R"({"enum":["exact","estimate","log","calibrated",null]})");
  CHECK(ValueOf<std::optional<Basis>>::json(std::nullopt).is_null());
}

TEST_CASE("fields: numbers and texts as JSON spells them") {
  CHECK(json_text({{"a", Json::array()}, {"b", {1, -2}}}) == "{\n  \"a\": [],\n  \"b\": [\n    1,\n    -2\n  ]\n}\n");
  CHECK(json_text(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615\n");
  CHECK(json_text(std::numeric_limits<double>::infinity()) == "null\n");
  CHECK(json_text(0.1) == "0.1\n");
  CHECK(json_text("\x1b\"\xff") == "\"\\u001b\\\"\xef\xbf\xbd\"\n");
  // What a config says, and text that is not JSON.
  for (const char* text : {"0", "-3", "2.5", "1e400", "true", "null", "\"a\"", "[1,2]", R"({"a":{"b":1}})"})
    CHECK(parsed(text) == (std::string_view(text) == "1e400" ? Json("1e400") : Json::parse(text)));
  CHECK(parsed("gpt2 ") == "gpt2 ");
}

}  // namespace kvplan
