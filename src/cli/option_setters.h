// How a row of the option table sets its part of the call.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include "cli/extras_options.h"
#include "cli/measuring.h"
#include "cli/options.h"
#include "cli/sizes.h"
#include "engines/engine.h"
#include "formats/own_files.h"
#include "kvplan/error.h"
#include "kvplan/gpus.h"
#include "kvplan/numbers.h"
#include "kvplan/strings.h"
#include "measure/detect.h"
#include "report/report.h"
#include "weights/weigh.h"

namespace kvplan {

using std::string_view;

using R = Request;
using C = CardRequest;
using E = ExtrasRequest;
using L = LlamaCppOptions;
using M = MeasuringOptions;
using P = Parallel;
using W = Workload;

template <class Owner, class Member>
Owner owner_of(Member Owner::*);

// The member of the part of the call to which it belongs.
template <auto member>
auto& member_of(Invocation& call) {
  Request& request = call.request;
  const auto parts = std::tie(call, call.measuring, call.workload, call.source.read, call.source.hub, request,
                              request.card, request.limits, request.parallel, request.extras, request.llama_cpp,
                              request.vllm, request.transformers, request.mlx, request.sglang);
  return std::get<decltype(owner_of(member))&>(parts).*member;
}

// What most options do: set<parse_count, &R::num_seqs> sets a member to the value that is read from the text.
template <auto read, auto member>
void set(Invocation& call, string_view value, string_view name) {
  member_of<member>(call) = read(value, name);
}
template <auto member>
void flag(Invocation& call, string_view, string_view) {
  member_of<member>(call) = true;
}
// Backends whose buffers are modelled, or that need no additional buffers.
inline std::string parse_all2all(string_view text, string_view option) {
  return chosen<std::string>(text, option,
                             {{"deepep_low_latency", "deepep_low_latency"},
                              {"deepep_high_throughput", "deepep_high_throughput"},
                              {"allgather_reducescatter", "allgather_reducescatter"}});
}
template <std::uint64_t Parallel::*ranks>
void set_layout(Invocation& call, string_view value, string_view name) {
  call.request.parallel.*ranks = parse_count(value, name);
  call.request.parallel.given = true;
}

inline std::string as_typed(string_view value, string_view) {
  return std::string(value);
}
inline std::string not_empty(string_view value, string_view name, string_view remedy, string_view what = "name") {
  if (value.empty()) fail(std::string(name) + ": an empty " + std::string(what), remedy);
  return std::string(value);
}
inline std::uint64_t parse_copies(string_view value, string_view name) {
  constexpr std::uint64_t kMost = 1024;
  const std::uint64_t count = parse_count(value, name);
  if (count > kMost)
    fail(std::string(name) + ": " + std::to_string(count) + " is more than kvplan plans", "use at most 1024");
  return count;
}
inline double parse_percent_as_share(string_view value, string_view name) {
  return parse_percent(value, name) / 100;
}
inline std::uint64_t parse_count_or_none(string_view value, string_view name) {
  return value == "0" ? 0 : parse_count(value, name);
}

inline bool is_auto(string_view value) {
  return value == "auto";
}

// "exps=CPU": a pattern, with or without dots and anchors. Patterns for single layers are not supported.
inline void override_tensors(Invocation& call, string_view value, string_view name) {
  const auto equals = value.rfind('=');
  const string_view pattern = value.substr(0, equals);
  const bool to_host = equals != string_view::npos && value.substr(equals + 1) == "CPU";
  const bool has_digit = pattern.find_first_of("0123456789") != string_view::npos;
  const bool all_parts = pattern.find("ffn_up") == string_view::npos && pattern.find("ffn_down") == string_view::npos &&
                         pattern.find("ffn_gate") == string_view::npos;
  if (!to_host || has_digit || !all_parts || pattern.find("exps") == string_view::npos)
    fail(std::string(name) + ": \"" + one_line(value, 60) + "\" is not a pattern of all experts",
         "use exps=CPU, or --n-cpu-moe N for the first N layers");
  call.request.llama_cpp.cpu_moe_layers = kEveryLayer;
}

// "3,1", also with "/" between the numbers.
inline void split_tensors(Invocation& call, string_view value, string_view name) {
  std::string list(value);
  std::replace(list.begin(), list.end(), '/', ',');
  std::vector<double>& shares = call.request.llama_cpp.tensor_split;
  shares.clear();
  for (const string_view word : parts_of(list, ',')) {
    double share = -1;
    const auto [rest, error] = parse_real(word, share);
    if (error != std::errc() || rest != word.data() + word.size() || !(share >= 0 && share <= 1e9))
      fail(std::string(name) + ": \"" + one_line(value, 40) + "\" is not a list of proportions",
           "write for example 3,1");
    shares.push_back(share);
  }
  if (std::accumulate(shares.begin(), shares.end(), 0.0) <= 0)
    fail(std::string(name) + ": all proportions are 0", "write for example 3,1");
}

// Also decides llama.cpp's --flash-attn.
inline void set_attention(Invocation& call, string_view value, string_view name) {
  const bool naive = chosen<bool>(value, name, {{"naive", true}, {"flash", false}});
  call.request.attention = naive ? AttentionKernel::kNaive : AttentionKernel::kFlash;
  call.request.llama_cpp.flash_attention = naive ? FlashAttention::kOff : FlashAttention::kOn;
}

// Removes "2x" from "2x4090" and returns 2; else returns 1.
inline std::uint64_t take_count(string_view& text) {
  const std::size_t digits = text.find_first_not_of("0123456789");
  if (digits == 0 || digits == string_view::npos || digits > 4) return 0;
  string_view rest = trimmed(text.substr(digits));
  if (rest.empty() || (rest[0] != 'x' && rest[0] != 'X' && rest[0] != '*')) return 0;
  rest = trimmed(rest.substr(1));
  if (rest.empty()) return 0;
  const std::uint64_t count = parse_count(text.substr(0, digits), "--gpu");
  text = rest;
  return count;
}

// "rtx-4090+2x3060": different GPUs, each with layers in proportion to its memory.
inline void set_mixed_cards(Request& request, string_view list) {
  constexpr std::size_t kMostCards = 64;
  request.card.mixed.clear();
  std::vector<double> shares;
  for (string_view text : parts_of(list, '+')) {
    const std::uint64_t count =
        request.card.known().find(text) == nullptr ? std::max<std::uint64_t>(1, take_count(text)) : 1;
    const Gpu& card = request.card.known().parse(text);
    if (request.card.mixed.size() + count > kMostCards) fail("--gpu: more than 64 GPUs", "name fewer");
    for (std::uint64_t i = 0; i < count; ++i) {
      request.card.mixed.push_back(&card);
      shares.push_back(std::round(static_cast<double>(card.budget().count()) / kGiB * 10) / 10);
    }
    if (!request.card.gpu || card.budget() < request.card.gpu->budget()) request.card.gpu = &card;
  }
  if (request.llama_cpp.tensor_split.empty()) request.llama_cpp.tensor_split = shares;
  request.card.count = request.parallel.pipeline = request.card.mixed.size();
  request.card.count_given = request.parallel.given = true;
}

// "rtx-4090", "2x4090", or a size: "24GiB".
inline void set_gpu(Invocation& call, string_view text) {
  Request& request = call.request;
  const GpuCatalogue& known = request.card.known();
  if (text.find('+') != string_view::npos && known.find(text) == nullptr) return set_mixed_cards(request, text);
  if (known.find(text) == nullptr)
    if (const std::uint64_t count = take_count(text); count > 0) {
      request.card.count = count;
      request.card.count_given = true;
    }
  const bool is_size = known.find(text) == nullptr && !text.empty() && text[0] >= '0' && text[0] <= '9' &&
                       text.find_first_not_of("0123456789.") != string_view::npos &&
                       text.find('-') == string_view::npos;
  if (!is_size) {
    request.card.gpu = &known.parse(text);
    if (const auto others = known.other_sizes(text); !others.empty())
      call.notes.push_back(
          {NoteLevel::kInfo,
           "card_sizes",
           {"--gpu {asked} is planned as {card}; there is also {others}",
            {{"asked", one_line(text, 20)}, {"card", request.card.gpu->name}, {"others", join(others)}}}});
    return;
  }
  request.card.memory = parse_size(text, "--gpu");
  if (lower(text).ends_with("gb"))
    call.notes.push_back(
        {NoteLevel::kInfo,
         "decimal_size",
         {"--gpu {asked} means {memory:GiB}. A GPU sold as {asked} has a little more: name it (kvplan gpus)",
          {{"asked", one_line(text, 20)}, {"memory", *request.card.memory}}}});
}

// "rtx-4090", "auto", or several: "rtx-4090,l40s".
inline void set_gpus(Invocation& call, string_view list, string_view) {
  call.gpus.clear();
  call.request.card.gpu = nullptr;
  if (list == "none") {
    call.ignores_machine = true;
    return;
  }
  if (is_auto(list)) return use_cards(detect_cards(), call.request);
  if (list.find(',') == string_view::npos) return set_gpu(call, list);
  for (const string_view name : parts_of(list, ',')) {
    if (is_auto(name)) fail("--gpu: auto cannot be combined with names", "use one or the other");
    const Gpu* const card = &call.request.card.known().parse(name);
    if (std::find(call.gpus.begin(), call.gpus.end(), card) == call.gpus.end()) call.gpus.push_back(card);
  }
}

}  // namespace kvplan
