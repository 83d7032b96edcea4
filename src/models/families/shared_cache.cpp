// Decoders in which a layer reads another layer's cache, or keeps more caches than it has layers of weights.
#include "kvplan/error.h"
#include "models/families.h"

namespace kvplan {

// Hunyuan Large: with use_cla only every cla_share_factor-th layer holds K and V. AFM: the last num_kv_reuse_layers
// read the last cache before them.
void read_cross_layer(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Heads heads = read_heads(reader.text);
  const std::uint64_t factor =
      reader.text.flag("use_cla", false) ? reader.text.count_or("cla_share_factor", 1) : std::uint64_t{1};
  if (factor == 0) fail("\"cla_share_factor\" is 0", "correct the config");
  const std::uint64_t reuse = reader.text.count_or("num_kv_reuse_layers", 0);
  if (reuse >= layers) fail("\"num_kv_reuse_layers\" leaves no layer with a cache", "correct the config");
  for (std::uint64_t i = 0; i < layers; ++i) {
    const std::uint64_t source = i >= layers - reuse ? layers - reuse - 1 : i - i % factor;
    if (source == i)
      reader.model.layers.push_back({{FullAttention{heads}}});
    else
      reader.model.layers.push_back({{Shared{source, heads, Tokens(0)}}});
  }
}

// SambaY: the first half alternates Mamba and sliding windows and ends in one full layer; the second half reads that
// layer's cache, and its gated memory units keep nothing.
void read_phi4flash(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const std::uint64_t step = reader.text.count_or("mb_per_layer", 2);
  if (step == 0) fail("\"mb_per_layer\" is 0", "correct the config");
  const Heads heads = read_heads(reader.text);
  const Ssm ssm = read_mamba1(reader.text);
  // sliding_window may be one number or one for each layer, null where the layer does not slide.
  const auto windows = reader.text.counts("sliding_window");
  const Tokens window = windows ? Tokens(0) : Tokens(reader.text.count_or("sliding_window", 512));
  const std::uint64_t middle = layers / 2;
  for (std::uint64_t i = 0; i < layers; ++i) {
    const bool recurrent = i % step == 0;
    if (i >= middle + 2) {
      if (recurrent)
        reader.model.layers.push_back({{None{}}});
      else
        reader.model.layers.push_back({{Shared{middle + 1, heads, Tokens(0)}}});
    } else if (recurrent) {
      reader.model.layers.push_back({{ssm}});
    } else {
      const Tokens own = windows && i < windows->size() ? Tokens((*windows)[i]) : i < middle ? window : Tokens(0);
      reader.model.layers.push_back({{attention_mixer(reader, Label::kSliding, heads, own)}});
    }
  }
}

// Granite Switch: one more attention of a single head behind the layers routes to adapters.
void read_router_layer(Reader& reader) {
  read_decoder(reader, {});
  Heads heads = read_heads(reader.text);
  heads.num_heads = heads.num_kv_heads = 1;
  reader.model.layers.push_back({{FullAttention{heads}}});
}

namespace {
void push_passes(Reader& reader, const Heads& heads, std::uint64_t caches) {
  check_layers(caches, "num_hidden_layers");
  for (std::uint64_t i = 0; i < caches; ++i) reader.model.layers.push_back({{FullAttention{heads}}});
}
}  // namespace

// Looped models run their layers several times, and each pass has a cache of its own.
void read_looped(Reader& reader) {
  const std::uint64_t layers = reader.num_layers();
  const Heads heads = read_heads(reader.text);
  const std::string_view type = reader.text.class_name();
  for (const std::string_view key : {"sliding_window", "use_sliding_window", "max_window_layers"})
    reader.text.touch(key);
  if (type == "iquestloopcoder") {
    // The second loop mixes in a window over the first loop's keys.
    const Tokens window(reader.text.count_or("loop_window_size", 64));
    const std::uint64_t loops = check_layers(reader.text.count_or("loop_num", 2), "loop_num");
    check_layers(checked_mul(loops, layers, "the caches of a looped model"), "loop_num");
    for (std::uint64_t loop = 0; loop < loops; ++loop)
      for (std::uint64_t i = 0; i < layers; ++i)
        reader.model.layers.push_back(
            {{loop == 0 ? Mixer(FullAttention{heads}) : Mixer(SlidingWindow{heads, window})}});
    return;
  }
  if (type == "hrm_text") {
    // With num_layers_per_stack in the file, num_hidden_layers counts the caches already; without it, it counts the
    // layers of one stack, and each of H_cycles runs the low stack L_cycles times and the high one once.
    Heads all = heads;
    all.num_kv_heads = all.num_heads;
    std::uint64_t caches = layers;
    if (reader.text.bare().find_count("num_hidden_layers") && !reader.text.has("num_layers_per_stack")) {
      const std::uint64_t stacks = checked_add(reader.text.count_or("L_cycles", 3), 1, "the passes of a looped model");
      caches =
          checked_mul(layers, checked_mul(reader.text.count_or("H_cycles", 2), stacks, "the passes"), "the caches");
    }
    push_passes(reader, all, caches);
    return;
  }
  // Every universal step of Ouro, and every loop of Nanbeige, has caches of its own.
  const bool loops = type == "nanbeige";
  const std::string_view key = loops ? "num_loops" : "total_ut_steps";
  const std::uint64_t steps = reader.text.count_or(key, loops ? 1 : 4);
  if (steps == 0) fail("\"" + std::string(key) + "\" is 0", "correct the config");
  push_passes(reader, heads, checked_mul(layers, steps, "the caches of a looped model"));
}

}  // namespace kvplan
