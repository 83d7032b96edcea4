// The variant of all kinds. To add a kind, include its header here and add it to the list.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formulas/attention_sink.h"
#include "formulas/chunked.h"
#include "formulas/compressed.h"
#include "formulas/cross.h"
#include "formulas/full_attention.h"
#include "formulas/linear.h"
#include "formulas/mla.h"
#include "formulas/none.h"
#include "formulas/rg_lru.h"
#include "formulas/rwkv.h"
#include "formulas/shared.h"
#include "formulas/short_conv.h"
#include "formulas/sliding_window.h"
#include "formulas/sparse_gqa.h"
#include "formulas/sparse_mla.h"
#include "formulas/ssm.h"

namespace kvplan {

// The mixer of a layer: attention, or what a layer has instead.
using Mixer = std::variant<FullAttention, SlidingWindow, Chunked, AttentionSink, Mla, SparseMla, SparseGqa, Compressed,
                           Ssm, Linear, ShortConv, Rwkv, RgLru, Cross, Shared, None>;

const KindInfo& kind_info(const Mixer& mixer);
std::string_view kind_variant(const Mixer& mixer);
CacheTerms cache_terms(const Mixer& mixer, Form form = Form::kCompact);
std::vector<Symbol> symbols(const Mixer& mixer);
std::uint64_t macs_per_entry(const Mixer& mixer);
void project(const Mixer& mixer, Projections& out);
// The heads or the latent of a mixer; null if it has neither.
const Heads* heads_of(const Mixer& mixer);
const Latent* latent_of(const Mixer& mixer);

// The rows of the table of kinds, in the variant's order.
std::vector<KindInfo> all_kinds();

// The derivation at the top of the kind's header, line by line, without the comment marks. Empty for an unknown kind.
std::vector<std::string> derivation(std::string_view kind);

}  // namespace kvplan
