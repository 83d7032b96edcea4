// Models that run their layers several times, with a cache for each pass. Source: transformers modeling_hrm_text.py,
// modeling_dory.py; the checkpoints' own files.
#include "models/blocks/blocks.h"

namespace kvplan {

static void push_passes(Reader& reader, const Heads& heads, std::uint64_t caches) {
  check_layers(caches, "num_hidden_layers");
  reader.model.layers.assign(caches, Layer{{FullAttention{heads}}});
}

static Heads looped_heads(const Reader& reader) {
  for (const std::string_view key : {"sliding_window", "use_sliding_window", "max_window_layers"})
    reader.text.touch(key);
  return read_heads(reader.text);
}

// HRM: with num_layers_per_stack, num_hidden_layers is the number of caches. Without it, num_hidden_layers is the
// number of layers in one stack. Each of the H_cycles runs the low stack L_cycles times and the high stack once.
static void read_hrm(Reader& reader) {
  Heads heads = looped_heads(reader);
  heads.num_kv_heads = heads.num_heads;
  std::uint64_t caches = reader.num_layers();
  const std::uint64_t stack =
      reader.text.count_or("num_layers_per_stack", reader.text.count_or("num_hidden_layers", caches) / 2);
  if (reader.text.bare().find_count("num_hidden_layers") && !reader.text.has("num_layers_per_stack")) {
    const std::uint64_t stacks = checked_add(reader.text.count_or("L_cycles", 3), 1, "the passes of a looped model");
    caches = checked_mul(caches, checked_mul(reader.text.count_or("H_cycles", 2), stacks, "the passes"), "the caches");
  }
  push_passes(reader, heads, caches);
  reader.model.stored_layers = checked_mul(2, stack, "the layers of a stack");
}

// IQuest: in the second loop attention also reads a window over the first loop's keys.
static void read_iquest(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Heads heads = looped_heads(reader);
  const Tokens window(reader.text.count_or("loop_window_size", 64));
  const std::uint64_t loops = check_layers(reader.text.count_or("loop_num", 2), "loop_num");
  check_layers(checked_mul(loops, layers, "the caches of a looped model"), "loop_num");
  reader.model.stored_layers = layers;
  for (std::uint64_t loop = 0; loop < loops; ++loop)
    for (std::uint64_t i = 0; i < layers; ++i)
      reader.add({{loop == 0 ? Mixer(FullAttention{heads}) : Mixer(SlidingWindow{heads, window})}});
}

// Every universal step of Ouro, and every loop of Nanbeige, has its own caches.
static void read_steps(Reader& reader, std::string_view key, std::uint64_t usual) {
  const std::uint64_t layers = reader.num_layers();
  const Heads heads = looped_heads(reader);
  const std::uint64_t steps = reader.text.count_or(key, usual);
  if (steps == 0) fail("\"" + std::string(key) + "\" is 0", "correct the config");
  push_passes(reader, heads, layers);
  repeat_layers(reader, 0, layers, steps);
}

// Dory: only the layers in the middle are repeated, and with "last_loop" all passes share a cache. Files list attention
// and MLPs as separate blocks, so two blocks make a layer.
static void read_dory(Reader& reader) {
  const Fields& text = reader.text;
  const auto types = text.strings("layer_types");
  const bool in_blocks = !types || std::find(types->begin(), types->end(), "mlp") != types->end();
  const std::uint64_t blocks = in_blocks ? 2 : 1;
  const std::uint64_t layers = reader.num_layers() / blocks;
  std::vector<Label> labels(layers, Label::kFull);
  if (types && in_blocks) {
    for (std::uint64_t i = 0; i < layers && blocks * i < types->size(); ++i)
      if ((*types)[blocks * i] == "sliding_attention") labels[i] = Label::kSliding;
  } else {
    labels = layer_labels(text, layers, full_every(4));
  }
  const Heads heads = read_heads(text);
  push_attention(reader, labels, heads, heads);
  const std::uint64_t first = text.count_or("n_input_layers", 0) / blocks;
  const std::uint64_t after = text.count_or("n_output_layers", 0) / blocks;
  const std::uint64_t rest = layers > first + after ? layers - first - after : 0;
  const std::uint64_t looped = text.has("n_recurrent_layers") ? text.count("n_recurrent_layers") / blocks : rest;
  const std::uint64_t loops = text.count_or("n_recurrent_loops", 1);
  if (text.find_string("recurrent_kv_cache_mode").value_or("per_loop") == "per_loop")
    repeat_layers(reader, first, checked_add(first, looped, "the layers of a loop"), loops);
}

static void write_dory(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t heads = text.count_or("num_attention_heads", 1);
  out.in_layers(all_layers(out));
  out.plain(Component::kAttention, "self_attn.sqk, s_gate", times(2, times(heads, text.count_or("head_dim", 0))),
            Split::kRows, heads);
  out.plain(Component::kMlp, "mlp.suv_gate, suv_up", times(2, text.count_or("intermediate_size", 0)), Split::kRows);
  out.plain(Component::kOther, "lambda_1, lambda_2", times(2, out.hidden));
  out.outside(Place::kLast);
  out.plain(Component::kLmHead, "lm_head.logit_scale", out.vocab, Split::kRows);
}

static void write_ouro(Inventory& out) {
  out.outside(Place::kLast);
  out.linear(Component::kOther, "model.early_exit_gate", 1, out.hidden, Split::kNone, 0, true);
}

// The gate between the loops: one row per head.
static void write_iquest(Inventory& out) {
  const Fields& text = out.text;
  const std::uint64_t heads = text.count_or("num_attention_heads", 1);
  const std::uint64_t d = text.count_or("head_dim", out.hidden / std::max<std::uint64_t>(1, heads));
  out.in_layers(all_layers(out));
  out.plain(Component::kAttention, "gate_projections", times(heads, d + 1), Split::kRows, heads);
}

// Vectors of ones for norms without weights (vLLM models/hrm_text.py).
static void write_hrm(Inventory& out) {
  out.in_layers(all_layers(out));
  out.plain(Component::kNorms, "input_layernorm, post_attention_layernorm", times(2, out.hidden)).is_derived = true;
  out.outside(Place::kLast);
  out.plain(Component::kNorms, "final_norm", times(2, out.hidden)).is_derived = true;
}

// clang-format off
std::span<const Family> looped_family() {
  static constexpr Family kRows[] = {
    {.is = {"dory", kExecutedClass}, .layers = read_dory, .rule = "looped", .tensors = {.gate = Gate::kWide,
     .norms = 0, .has_final_norm = false}, .extras = write_dory},
    {.is = {"hrm_text", kExecutedClass}, .layers = read_hrm, .rule = "looped", .tensors = {.gate = Gate::kWide,
     .norms = 0}, .extras = write_hrm},
    {.is = {"iquestloopcoder"}, .layers = read_iquest, .rule = "looped", .extras = write_iquest},
    {.is = {"nanbeige"}, .layers = [](Reader& reader) { read_steps(reader, "num_loops", 1); }, .rule = "looped",
     .extras = write_ngrams},
    {.is = {"ouro", kPublishedTotal}, .layers = [](Reader& reader) { read_steps(reader, "total_ut_steps", 4); },
     .rule = "looped", .tensors = {.norms = 4}, .extras = write_ouro},
  };
  return kRows;
}
// clang-format on

}  // namespace kvplan
