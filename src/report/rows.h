// Rows that several forms print: worked out once, so that no form contradicts another.
#ifndef KVPLAN_REPORT_ROWS_H_
#define KVPLAN_REPORT_ROWS_H_

#include <string>
#include <vector>

#include "plan/answer.h"

namespace kvplan {

using Rows = std::vector<std::vector<std::string>>;  // the first row holds the titles

// What a report calls the model: its class, else its type.
std::string title_of(const ModelFacts& model);
// "ssm (mamba2)".
std::string kind_of(const LayerFacts& layer);
// What was asked for, in a line: "32,768 tokens x 1 sequence, vllm 0.30, weights fp8, KV bfloat16, h100-80gb (92%)".
std::string request_text(const Plan& plan);
// "2.14 GiB left", or what is missing; empty where the plan has no limit.
std::string headroom_text(const VerdictReport& verdict);

// A cell of a grid: "512k", "40k*" (less than was asked for), "-12.3 GiB" (missing), "~" before what is close.
std::string grid_cell_text(const GridRow& row, const GridCell& cell);
// What the cells mean, in one sentence.
std::string grid_legend(const Grid& grid);
// The titles of the columns that tell rows apart (model, engine, weights), and a row's cells under them.
std::vector<std::string> grid_row_titles(const Grid& grid);
std::vector<std::string> grid_row_names(const Grid& grid, const GridRow& row);

// A Markdown table; columns from `left` on align right.
std::string markdown_rows(const Rows& rows, std::size_t left);
// "close: 0.62 GiB either way; lower ... first"; empty where the limit lies outside the range.
std::string close_text(const VerdictReport& verdict);

Rows compare_rows(const Answers& answers);
Rows fit_rows(const Answers& answers);

}  // namespace kvplan

#endif  // KVPLAN_REPORT_ROWS_H_
