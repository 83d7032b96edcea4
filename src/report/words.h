// Words that several pages share. Each is defined once, so that pages do not contradict each other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kvplan/quantity.h"
#include "plan/answer.h"
#include "report/page.h"

namespace kvplan {

// Helpers for pages: units, counts, widths.

std::string gib(Bytes bytes);                   // "2.14 GiB", always GiB
std::string gib_number(Bytes bytes);            // "2.14"
std::string human_bytes(Bytes bytes);           // "70,272 B", "68.6 KiB", "1.50 GiB": in the unit that reads best
std::string grouped(std::uint64_t n);           // "163,840"
std::string tokens_text(std::uint64_t tokens);  // "32k" for whole multiples of 1024, otherwise grouped

std::string plural(std::uint64_t n, std::string_view word);  // "1 layer", "61 layers"

// The text; "-" if it is empty.
std::string or_dash(std::string_view text);
// The last `width` characters after "...", if there are more.
std::string end_of(std::string_view text, std::size_t width);

// The bytes of the first `count` characters.
std::size_t first_characters(std::string_view text, std::size_t count);
// The width of a text on a terminal (in code points).
std::size_t text_width(std::string_view text);

// A word quoted for a shell.
std::string shell_word(const std::string& word);

// "llama-3.1-8b"; the class's name if the file has no name.
std::string title_of(const ModelFacts& model);
// "8.03B parameters, 32 layers, gqa, bfloat16, up to 128k tokens".
std::string facts_of_plan(const Plan& plan);
// "vllm 0.33", or "no engine (the architecture's needs)".
std::string engine_text(const Plan& plan);
// The request: "32,768 tokens x 1 sequence, vllm 0.33, weights fp8, KV bfloat16, TP 8".
std::string request_text(const Plan& plan);
// "h100-80gb: 72.85 of 79.18 GiB (92 %)"; empty without a GPU.
std::string card_text(const Plan& plan);
// "ssm (mamba2)".
std::string kind_of(const LayerFacts& layer);

// FITS, DOES NOT FIT or NOT ALL AT ONCE, with what is needed, available, free or short. Empty if there is no verdict.
std::vector<Headline> headlines_of(const VerdictReport& verdict, const Plan& plan);
std::string_view verdict_word(const VerdictReport& verdict);  // "fits", "no", "-"

// A plan's command, to paste into a shell. Nothing if the user typed none.
std::optional<std::string> command_text(const OptionValues& command);
// As command_text, for MODEL: every way of naming a model has the same command.
std::optional<std::string> replay_text(const OptionValues& command);
inline constexpr const char* kReplayed = "plans this again; MODEL is the source";
// The common part of the commands of a table's rows, with column names where they differ: "To plan a row: kvplan MODEL
// --engine vllm --gpu GPU". Nothing if no command was typed.
Sentences how_to_repeat(const std::vector<const OptionValues*>& commands);

// The reason for a verdict in one sentence.
std::string reason_of(const VerdictReport& verdict);
// A count that may be unlimited.
std::string count_text(std::uint64_t n);
std::string part_text(const std::optional<Bytes>& part);  // "2.14", "-"
// "+2.14 GiB", "-37.5 MiB".
std::string signed_size(std::int64_t bytes);
Bytes without_sign(std::int64_t bytes);
// "1.20 GiB to 1.40 GiB"; empty if it is exact.
std::string range_text(const LedgerLine& line);

std::vector<PageNote> notes_of(const std::vector<Note>& notes);
// "not planned:" and the error, for one of several models that could not be read.
PageNote not_planned(std::string_view error, std::string_view source);

struct PartName {
  Section part;
  std::string_view name;
  std::optional<Bytes> GpuMemory::*bytes;
};
// The four parts of a GPU's memory, in the order of every page.
extern const std::array<PartName, 4> kParts;

// A page about a plan: the model, the request, the GPU, the verdict.
Page page_about(const Plan& plan);
// The length of the folder that all paths are in.
std::size_t shared_folder(const std::vector<std::string_view>& paths);

// A row of bars with the parts of `gpu` side by side.
BarRow stacked(std::string_view label, const GpuMemory& gpu);
// Marks the budget and the GPU of a plan on bars.
void set_limits(const Plan& plan, Bars& bars);

using Rows = std::vector<std::vector<Text>>;
// A list of facts: what, how much, remarks.
PageTable facts_table(const Rows& rows);
// Rows under titles. Columns in `numbers` align right. Columns in `goes` are dropped in that order if the terminal is
// narrow.
PageTable titled_table(const std::vector<std::string>& titles, std::uint64_t numbers, const Rows& rows,
                       const std::vector<std::size_t>& goes = {}, const std::vector<Tone>& tones = {});
// The table without the columns in which every cell is `empty`.
PageTable without_columns_of(std::string_view empty, PageTable table);

}  // namespace kvplan
