// The forms of an answer. The table of forms has one row per form, for every question.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/error.h"
#include "plan/answer.h"
#include "report/page.h"

namespace kvplan {

struct CardMeasurement;
struct ModelList;
struct Pick;

struct ReportOptions {
  bool color = false;
  int width = 80;
  bool suggests_next = false;  // suggests a next command to a person at a terminal
};

// An answer in all forms: a page for people, fields for programs. A member is empty if the question does not have that
// form.
struct Reply {
  std::function<Page()> page;
  std::function<std::string()> json, csv;
  const Plan* plan = nullptr;  // the plan whose launch command is shown
  std::string warning = "";    // what a launch command cannot contain, for that form
};

struct ReportForm {
  std::string_view name;
  std::string (*write)(const Reply& reply, const ReportOptions& options);
  bool is_for_people = false;  // for people, not programs
  bool has_curves = false;     // it shows curves
  bool has_launch = false;     // it shows the engine's command line
};

std::span<const ReportForm> forms();
// Throws Error that lists the known forms.
const ReportForm& find_format(std::string_view name);
// The reply in the form of that name; throws Error(kBadInput) if `question` does not have it.
std::string written(const Reply& reply, std::string_view format, std::string_view question,
                    const ReportOptions& options);

// The questions: each has a page in pages/, and fields.
Reply reply_of(const Plan& plan);
// Every layer, every formula with its numbers, and where each number comes from.
Reply explained(const Plan& plan);
Reply reply_of(const std::vector<FleetEntry>& entries);
// For engines side by side, with one model.
Reply side_by_side(const std::vector<FleetEntry>& entries);
// For several models on one GPU.
Reply reply_of(const SharedCard& shared);
Reply compared(const Answers& answers);
Reply fitted(const Answers& answers);
Reply reply_of(const std::vector<FitEntry>& entries);
Reply reply_of(const Grid& grid);
Reply reply_of(const PlanDiff& diff);
Reply reply_of(const LogCheck& check);
Reply reply_of(const WatchReport& report);
Reply reply_of(const CardMeasurement& seen);
Reply reply_of(const ModelList& list);
Reply reply_of(const Pick& pick);
// The built-in tables: kinds, one kind beside others, types, engines, GPUs.
Reply reply_of(std::span<const KindInfo> kinds);
Reply reply_of(const KindInfo& kind, const std::vector<std::string>& derivation, std::span<const KindInfo> beside);
Reply reply_of(std::span<const DtypeInfo> types);
Reply reply_of(std::span<const EngineRow> rows);
Reply reply_of(std::span<const EngineRule> rules);
Reply reply_of(std::span<const Gpu> cards);

// Whether the plan fits on this machine, and how much of its GPU is free now. `memory` is 0 if the driver does not
// report it.
Block machine_block(std::string_view cards, Bytes memory, Bytes used, const Plan& plan);
// The sentence for a reviewer: "+3.1 GiB: num_key_value_heads 4 -> 8".
std::string diff_headline(const PlanDiff& diff);
// The JSON Schema of all reports.
std::string schema_json(std::span<const KindInfo> kinds);
// The text of a calibration file.
std::string calibration_json(const Calibration& calibration);

// Text to paste: the engine's own command line, and a container's arguments and resources.
std::string launch_args(const Plan& plan);
std::string launch_k8s(const Plan& plan);
// What the command line cannot express about its plan; empty if it expresses everything.
std::string launch_warning(const Plan& plan);

}  // namespace kvplan
