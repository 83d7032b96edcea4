// Calls kvplan in this process for a release of an engine, and finds figures in its report by name.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/figure.h"
#include "kvplan/kvplan.h"
#include "support/program.h"
#include "support/words.h"

namespace kvplan::conformance {

// Which lines of a report.
using Wanted = std::function<bool(const Json& line)>;
inline constexpr std::size_t kHost = ~std::size_t{0};  // instead of a GPU

// A report, or the reason why there is none.
class Reply {
 public:
  explicit Reply(Json report) : report_(std::move(report)) {}
  Reply(std::string why, bool refused) : why_(std::move(why)), refused_(refused) {}

  bool is_report() const { return report_.has_value(); }
  // kvplan refuses: it has no plan, or the plan's verdict is a refusal.
  bool is_refused() const;
  std::string refusal_code() const;  // "" without one
  const std::string& why() const { return why_; }

  // The number at a place of the report ("/capacity/tokens"); nothing if there is none.
  std::optional<double> number(std::string_view place) const;
  // The lines of a GPU, or of the host; nothing if there is no report or it lacks that GPU.
  std::optional<std::vector<Json>> lines(std::size_t gpu, const Wanted& wanted) const;
  std::optional<double> sum(std::size_t gpu, const Wanted& wanted) const;
  bool has_note(std::string_view code) const;
  bool has_warning() const;

 private:
  std::optional<Json> report_;
  std::string why_;
  bool refused_ = false;
};

// The name of a line: its id if it has one, else its words.
std::string called(const Json& line);
bool is_called_like(const Json& line, std::string_view text);
double sum_of(const std::vector<Json>& lines, const char* key = "bytes");

// What the plans of a case say about their own errors.
struct Doubted {
  std::set<std::string> sentences;  // codes of the notes, known_error or unknown_latents
  bool is_unknown = false;          // one of the notes means that there is no verdict
};

class Planner {
 public:
  // `config`: a config, the name of one, or the name of a GGUF file with its ending.
  Reply ask(const Json& config, const std::string& engine, Words words);
  // Whether the command line accepts these words at all.
  bool knows(const std::string& engine, const Words& words) const;
  // The model_type of the decoder, or the architecture that a GGUF file names.
  std::string type_of(const Json& config);
  // The configs that are known by name: class defaults and those of configs.jsonl.
  std::vector<std::string> names();
  // The model_type of the whole file; a GGUF's architecture.
  std::string root_type_of(const Json& config);
  Doubted doubted;  // since clear() was last called

 private:
  void fill_entries();
  const Json& entry(const std::string& name);
  const Json& gguf(const std::string& name);
  Model load(const Json& config);

  TemporaryFolder folder_;
  std::map<std::string, Json> entries_, ggufs_;  // configs that are known by name
  std::map<std::string, Model> models_;          // read once each
};

// The lines of a file, each a JSON object; none if it is not there.
std::vector<Json> read_lines(const std::string& path);
inline const std::string kFolder = KVPLAN_SOURCE_DIR "/testdata/conformance/";

}  // namespace kvplan::conformance
