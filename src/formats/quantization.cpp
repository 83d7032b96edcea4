#include "formats/quantization.h"

#include <algorithm>
#include <string>

#include "kvplan/error.h"
#include "kvplan/strings.h"

namespace kvplan {

namespace {

std::string word(const Fields& config, std::string_view key) {
  return lower(one_line(config.find_string(key).value_or(""), 80));
}

std::uint64_t first_count(const Fields& config, std::initializer_list<std::string_view> keys, std::uint64_t fallback) {
  for (const std::string_view key : keys)
    if (config.is_number(key)) {
      // -1 means the whole row.
      if (const auto real = config.find_real(key); real && *real <= 0) return 0;
      if (const auto value = config.find_count(key)) return *value;
    }
  return fallback;
}

std::uint64_t millibits(const Fields& config, std::initializer_list<std::string_view> keys, std::uint64_t fallback) {
  for (const std::string_view key : keys) {
    if (!config.has(key)) continue;
    if (config.is_number(key))
      if (const auto bits = config.find_real(key); bits && *bits > 0 && *bits <= 64)
        return static_cast<std::uint64_t>(*bits * 1000 + 0.5);
    fail("\"" + std::string(key) + "\" of the quantization config is not a number of bits",
         "correct it: weights have 1 to 64 bits");
  }
  return fallback * 1000;
}

// Adds rules for modules that the lists under these keys exclude from quantization.
void add_rules(QuantDeclaration& out, const Fields& config, std::string_view keys) {
  const std::optional<WeightScheme> scheme;
  for (const std::string_view key : split(keys)) {
    if (config.is_string(key))
      out.rules.push_back({*config.find_string(key), scheme, key});  // a string in place of a list with one entry
    if (config.is_string(key) || !config.has(key)) continue;
    const auto names = config.strings(key);
    if (!names) fail("\"" + std::string(key) + "\" of the quantization config is not a list", "name the modules");
    for (const std::string& name : *names) out.rules.push_back({name, scheme, key});
  }
}

WeightScheme named(std::string_view type) {
  WeightScheme scheme;
  scheme.type = type;
  return scheme;
}

WeightScheme integers(std::string_view four, std::string_view eight, std::uint64_t bits_in_thousandths) {
  WeightScheme scheme = named(bits_in_thousandths == 8000 ? eight : four);
  scheme.millibits = bits_in_thousandths;
  return scheme;
}

// The size of a group; 2^30 if the whole row is one group.
std::uint64_t whole_row_if_0(std::uint64_t size) {
  return size == 0 ? 1U << 30 : size;
}

// The scheme of one entry in config_groups of compressed-tensors and modelopt.
std::optional<WeightScheme> scheme_of_group(const Fields& group) {
  const auto weights = group.child("weights");
  if (!weights) return std::nullopt;
  const std::uint64_t bits = weights->count_or("num_bits", 8);
  if (bits == 0 || bits > 64)
    fail("\"num_bits\" is " + std::to_string(bits), "correct it in the quantization config: weights have 1 to 64 bits");
  const std::string type = word(*weights, "type");
  const bool real = type == "float";
  if (!real && !type.empty() && type != "int")
    fail("\"type\" of quantized weights is \"" + type + "\"", "it is int or float: correct the quantization config");
  if (real && bits >= 16) return std::nullopt;
  if (real && bits != 4 && bits != 8)
    fail("\"num_bits\" of floats is " + std::to_string(bits), "they have 4 or 8: correct the quantization config");
  const std::string strategy = word(*weights, "strategy");
  const std::uint64_t size = first_count(*weights, {"group_size"}, 0);
  WeightScheme scheme;
  if (real && bits == 4) {
    scheme.type = size == 32 || word(*weights, "scale_dtype").find("uint8") != std::string::npos ? "mxfp4" : "nvfp4";
    const auto inputs = group.child("input_activations");
    scheme.has_fp4_activations = inputs && inputs->count_or("num_bits", 16) == 4;
  } else if (real) {
    scheme.type = size == 32              ? "mxfp8"
                  : strategy == "channel" ? "fp8-channel"
                  : strategy == "block"   ? "fp8-block"
                                          : "fp8";
    if (const auto block = weights->counts("block_structure"); block && block->size() == 2)
      scheme.block_rows = (*block)[0];
  } else {
    scheme.type = bits == 8 ? "int8" : "int4";
    scheme.millibits = bits * 1000;
    scheme.has_zero_points = !weights->flag("symmetric", true);
    if (scheme.has_zero_points) scheme.zero_bits = bits;  // packed like the weights
    if (size > 0 || (bits != 8 && strategy == "channel")) scheme.group_size = whole_row_if_0(size);
  }
  return scheme;
}

// The scheme of an algorithm whose name contains a word. The first match counts.
struct AlgorithmRow {
  std::string_view parts, type;
};
constexpr AlgorithmRow kAlgorithms[] = {
    {"nvfp4", "nvfp4"},      {"mxfp4", "mxfp4"},        {"mxfp8", "mxfp8"}, {"w4a8 w4a16 int4", "int4"},
    {"fp8_pb", "fp8-block"}, {"fp8_pc", "fp8-channel"}, {"fp8", "fp8"},     {"int8 w8a8_sq w8a16", "int8"},
};

std::optional<WeightScheme> scheme_of_algorithm(const std::string& algorithm, std::uint64_t group_size) {
  WeightScheme scheme;
  scheme.type = "";
  for (const AlgorithmRow& row : kAlgorithms)
    for (const std::string_view part : split(row.parts))
      if (scheme.type.empty() && algorithm.find(part) != std::string::npos) scheme.type = row.type;
  if (scheme.type.empty()) return std::nullopt;
  if (scheme.type == "int4" || scheme.type == "nvfp4") scheme.group_size = group_size;
  return scheme;
}

void read_groups(QuantDeclaration& out, const Fields& config) {
  const auto groups = config.child("config_groups");
  if (!groups) return;
  config.touch("config_groups");
  for (const std::string& key : groups->keys()) {
    const auto group = groups->child(key);
    if (!group) continue;
    const auto scheme = scheme_of_group(*group);
    if (!scheme) continue;
    const auto targets = group->is_list("targets") ? group->strings("targets") : std::nullopt;
    if (!targets) {
      out.scheme = scheme;
      continue;
    }
    for (const std::string& target : *targets) {
      if (target == "Linear" || target == "re:.*" || target == "LinearBase" || target == "FusedMoE")
        out.scheme = scheme;
      else
        out.rules.push_back({target, scheme, "targets"});
    }
  }
}

// Two of four weights are zero and not stored. A bit per weight shows which.
void read_sparsity(QuantDeclaration& out, const Fields& config) {
  const auto halve = [](WeightScheme& scheme, std::uint64_t bits) { scheme.millibits = bits * 500 + 1000; };
  const auto sparsity = config.child("sparsity_config");
  const bool stored_sparse = sparsity && word(*sparsity, "format") == "sparse-24-bitmask";
  if (!stored_sparse && word(config, "format") != "marlin-24") return;
  const auto bits_of = [](const WeightScheme& scheme) -> std::uint64_t {
    return scheme.type.find('4') != std::string::npos ? 4 : 8;
  };
  if (out.scheme) halve(*out.scheme, bits_of(*out.scheme));
  for (SchemeRule& rule : out.rules)
    if (rule.scheme) halve(*rule.scheme, bits_of(*rule.scheme));
}

// modelopt: an algorithm, exclusions, and, if algorithms are mixed, a map of layers.
void read_modelopt(QuantDeclaration& out, const Fields& config) {
  const std::string algorithm = word(config, "quant_algo");
  const std::uint64_t size = first_count(config, {"group_size"}, 0);
  add_rules(out, config, "exclude_modules ignore modules_to_not_convert");
  if (const auto layers = config.child("quantized_layers")) {
    config.touch("quantized_layers");
    for (const std::string& key : layers->keys())
      if (const auto layer = layers->child(key))
        if (const auto scheme = scheme_of_algorithm(word(*layer, "quant_algo"), first_count(*layer, {"group_size"}, 0)))
          out.rules.push_back({key, scheme, "quantized_layers"});
  } else {
    out.scheme = scheme_of_algorithm(algorithm, size);
    if (!out.scheme) read_groups(out, config);
  }
  out.is_known = out.scheme.has_value() || !out.rules.empty();
}

void read_fp8(QuantDeclaration& out, const Fields& root, const Fields& config) {
  WeightScheme scheme = named("fp8");
  if (const auto block = config.counts("weight_block_size"); block && block->size() == 2) {
    scheme.type = "fp8-block";
    scheme.block_rows = (*block)[0];
    scheme.block_columns = (*block)[1];
  }
  out.scheme = scheme;
  // DeepSeek-V4 and V4.1 say "fp8" too, but their experts have another type.
  const std::string experts = lower(root.find_string("expert_dtype").value_or(word(config, "expert_dtype")));
  if (experts == "fp4" || experts == "mxfp4") out.expert_scheme = named("mxfp4");
  if (const std::string algorithm = word(config, "moe_quant_algo"); !algorithm.empty()) {
    out.expert_scheme = scheme_of_algorithm(algorithm, first_count(config, {"group_size"}, 16));
    return;  // its "ignore" list gives the modules outside of that algorithm
  }
  add_rules(out, config, "modules_to_not_convert ignored_layers ignore");
}

void read_mlx(QuantDeclaration& out, const Fields& config) {
  const auto scheme_of = [](const Fields& place) {
    const std::string mode = word(place, "mode");
    if (mode == "mxfp4" || mode == "nvfp4" || mode == "mxfp8") return named(mode);
    WeightScheme scheme = named("mlx-4bit");
    scheme.millibits = millibits(place, {"bits"}, 4);
    const std::string type = "mlx-" + std::to_string(scheme.millibits / 1000) + "bit";
    if (has_word("mlx-2bit mlx-3bit mlx-5bit mlx-6bit mlx-8bit", type) && scheme.millibits % 1000 == 0)
      scheme.type = type;
    scheme.group_size = first_count(place, {"group_size"}, 64);
    return scheme;
  };
  out.scheme = scheme_of(config);
  out.has_embedding = true;
  for (const std::string& key : config.keys()) {
    if (const auto own = config.child(key); own && own->is_number("bits")) {
      config.touch(key);
      out.rules.push_back({key, scheme_of(*own), "quantization"});
    } else if (config.is_bool(key) && !config.flag(key, true) && key.find('.') != std::string::npos) {
      out.rules.push_back({key, std::nullopt, "quantization"});
    }
  }
}

void read_bitsandbytes(QuantDeclaration& out, const Fields& config) {
  out.scheme = named(config.flag("load_in_8bit", false) ? "bnb-int8" : "bnb-nf4");
  out.scheme->double_quantized = out.scheme->type == "bnb-nf4" && config.flag("bnb_4bit_use_double_quant", false);
}

// Quark: the type of the weights, and how many of them share a scale.
std::optional<WeightScheme> scheme_of_quark(const Fields& place) {
  const auto weight = place.child("weight");
  if (!weight) return std::nullopt;
  const std::string type = word(*weight, "dtype");
  const std::string reach = word(*weight, "qscheme");
  const std::uint64_t size = first_count(*weight, {"group_size"}, 0);
  WeightScheme scheme;
  if (type.find("fp8") != std::string::npos) {
    scheme = named(reach == "per_channel" ? "fp8-channel" : "fp8");
  } else if (type.find("fp4") != std::string::npos) {
    scheme = named(size == 16 ? "nvfp4" : "mxfp4");
  } else if (type == "int4" || type == "uint4") {
    scheme = named("int4");
    if (size > 0 || reach == "per_channel") scheme.group_size = whole_row_if_0(size);
    if (type == "uint4") scheme.zero_bits = 4;
  } else if (type == "int8") {
    scheme = named("int8");
  } else {
    return std::nullopt;
  }
  return scheme;
}

// torchao: a string ("int4_weight_only"), or a class name with arguments.
std::optional<WeightScheme> scheme_of_torchao(const Fields& config) {
  std::string type = word(config, "quant_type");
  std::uint64_t size = 0;
  if (const auto arguments = config.child("quant_type_kwargs")) size = first_count(*arguments, {"group_size"}, 0);
  if (const auto classes = config.child("quant_type")) {
    const auto usual = classes->child("default");
    if (!usual) return std::nullopt;
    for (const char c : word(*usual, "_type"))
      if (c != '_') type += c;
    if (const auto data = usual->child("_data")) size = first_count(*data, {"group_size"}, size);
  }
  const auto says = [&](std::string_view part) { return type.find(part) != std::string::npos; };
  if (says("int4weight") || says("int4_weight") || says("int4wo")) {
    WeightScheme scheme = named("int4");
    scheme.group_size = size;
    scheme.zero_bits = 16;  // in the model's type, like the scale
    return scheme;
  }
  if (says("float8") || says("fp8")) return named("fp8-channel");
  if (says("int8")) return named("int8");
  return std::nullopt;
}

void read_compressed_tensors(QuantDeclaration& out, const Fields& config) {
  read_groups(out, config);
  read_sparsity(out, config);
  if (!out.scheme && out.rules.empty()) out.is_known = false;
}

void read_gptq(QuantDeclaration& out, const Fields& config) {
  const auto scheme_of = [&config](std::uint64_t bits, std::uint64_t size) {
    WeightScheme scheme = integers("gptq-int4", "gptq-int8", bits);
    scheme.is_symmetric = config.flag("sym", true);
    if (bits == 3000 || bits == 2000) scheme.type = "gptq-int" + std::to_string(bits / 1000);
    scheme.group_size = whole_row_if_0(size);
    return scheme;
  };
  const std::uint64_t bits = millibits(config, {"bits"}, 4);
  const std::uint64_t size = first_count(config, {"group_size", "q_group_size"}, 128);
  out.scheme = scheme_of(bits, size);
  // Two maps from expressions to numbers of bits: GPTQModel's, in which "-:" excludes modules, and AutoRound's.
  for (const std::string_view map : {"dynamic", "extra_config"}) {
    const auto dynamic = config.child(map);
    if (!dynamic) continue;
    for (const std::string& key : dynamic->keys()) {
      const bool stays = key.starts_with("-:");
      const std::string name = stays || key.starts_with("+:") ? key.substr(2) : key;
      const auto own = dynamic->child(key);
      const std::uint64_t own_bits = own ? millibits(*own, {"bits"}, bits / 1000) : bits;
      const std::string pattern = (map == "dynamic" ? "re:" : "") + name;
      if (stays || own_bits >= 16000)
        out.rules.push_back({pattern, std::nullopt, map});
      else if (own && !own->keys().empty())
        out.rules.push_back({pattern, scheme_of(own_bits, first_count(*own, {"group_size"}, size)), map});
    }
  }
  if (config.flag("lm_head", false)) out.head_scheme = out.scheme;
}

void read_awq(QuantDeclaration& out, const Fields& config) {
  out.scheme->millibits = millibits(config, {"bits", "w_bit"}, 4);
  out.scheme->group_size = whole_row_if_0(first_count(config, {"group_size", "q_group_size"}, 128));
  out.scheme->has_zero_points = config.flag("zero_point", true);
}

void read_hqq(QuantDeclaration& out, const Fields& config) {
  const auto inner = config.child("quant_config");
  const auto params = inner ? inner->child("weight_quant_params") : std::nullopt;
  const Fields& place = params ? *params : config;
  out.scheme->millibits = millibits(place, {"nbits", "bits"}, 4);
  out.scheme->group_size = first_count(place, {"group_size"}, 64);
}

void read_exl(QuantDeclaration& out, const Fields& config) {
  out.scheme = out.head_scheme = named(out.dialect);
  out.scheme->millibits = millibits(config, {"bits"}, 4);
  out.head_scheme->millibits = millibits(config, {"head_bits"}, 6);
}

void read_quanto(QuantDeclaration& out, const Fields& config) {
  const std::string weights = word(config, "weights");
  out.scheme = named(weights == "int4" ? "quanto-int4" : weights == "float8" ? "fp8" : "quanto-int8");
  if (weights == "int2") out.scheme->millibits = 2000;
}

void read_aqlm(QuantDeclaration& out, const Fields& config) {
  const std::uint64_t in_group = std::max<std::uint64_t>(1, first_count(config, {"in_group_size"}, 8));
  const std::uint64_t out_group = std::max<std::uint64_t>(1, first_count(config, {"out_group_size"}, 1));
  const std::uint64_t books = first_count(config, {"num_codebooks"}, 1);
  const std::uint64_t bits = first_count(config, {"nbits_per_codebook"}, 16);
  if (books < 100 && bits <= 20 && in_group < 1024 && out_group < 1024) {
    out.scheme->millibits = std::max<std::uint64_t>(1, 1000 * books * bits / in_group / out_group);
    out.scheme->tensor_bits = books * (std::uint64_t{1} << bits) * in_group * out_group * 16;
  }
}

// For an unknown method, its bits are the best guess, if it gives any.
void read_unknown(QuantDeclaration& out, const Fields& config) {
  if (out.dialect.empty()) out.dialect = "unnamed";
  out.is_known = false;
  out.scheme = named(out.dialect);
  out.scheme->millibits = millibits(config, {"bits", "nbits", "w_bit", "num_bits", "weight_bits", "wbits"}, 8);
}

void read_quark(QuantDeclaration& out, const Fields& config) {
  if (const auto global = config.child("global_quant_config")) out.scheme = scheme_of_quark(*global);
  if (const auto layers = config.child("layer_quant_config"))
    for (const std::string& key : layers->keys())
      if (const auto layer = layers->child(key))
        if (const auto scheme = scheme_of_quark(*layer)) out.rules.push_back({key, scheme, "layer_quant_config"});
  if (!out.scheme && out.rules.empty()) read_unknown(out, config);
}

void read_torchao(QuantDeclaration& out, const Fields& config) {
  out.scheme = scheme_of_torchao(config);
  if (!out.scheme) read_unknown(out, config);
}

// A method's usual type, the keys of its exclusion lists, and what reads the rest. A name that ends in "*" matches
// every name that begins like it.
struct MethodRow {
  std::string_view methods, type, spared;
  void (*read)(QuantDeclaration& out, const Fields& config) = nullptr;
};
constexpr MethodRow kMethods[] = {
    {"compressed-tensors", "", "ignore", read_compressed_tensors},
    {"gptq* auto-round autoround intel/auto-round inc", "", "modules_to_not_convert", read_gptq},
    {"awq*", "awq-int4", "modules_to_not_convert", read_awq},
    {"bitsandbytes", "", "llm_int8_skip_modules", read_bitsandbytes},
    {"mxfp4", "mxfp4", "modules_to_not_convert", [](QuantDeclaration& out, const Fields&) { out.experts_only = true; }},
    {"hqq", "hqq-int4", "skip_modules", read_hqq},
    {"exl2 exl3", "", "", read_exl},
    {"quanto", "", "modules_to_not_convert", read_quanto},
    {"aqlm", "aqlm-2bit", "linear_weights_not_to_quantize", read_aqlm},
    {"quark", "", "exclude", read_quark},
    {"torchao", "", "modules_to_not_convert", read_torchao},
    {"fp_quant", "", "modules_to_not_convert",
     [](QuantDeclaration& out, const Fields& config) {
       out.scheme = named(word(config, "forward_dtype") == "nvfp4" ? "nvfp4" : "mxfp4");
     }},
    {"mxfp8", "mxfp8", "modules_to_not_convert ignore"},
    {"nvfp4", "nvfp4", "modules_to_not_convert ignore"},
    {"fbgemm_fp8", "fp8-channel", "modules_to_not_convert"},
    {"eetq", "int8", "modules_to_not_convert"},
    {"bitnet", "bitnet-2bit", "modules_to_not_convert"},
    {"w8a8_int8", "int8", "modules_to_not_convert ignore ignored_layers"},
    {"w8a8_fp8 ptpc_fp8", "fp8-channel", "modules_to_not_convert ignore ignored_layers"},
};

const MethodRow* find_method(std::string_view method) {
  for (const MethodRow& row : kMethods)
    for (const std::string_view name : split(row.methods))
      if (name.ends_with('*') ? method.starts_with(name.substr(0, name.size() - 1)) : method == name) return &row;
  return nullptr;
}

void read_declared(QuantDeclaration& out, const Fields& root, const Fields& config) {
  const std::string method = word(config, "quant_method");
  const auto producer = config.child("producer");
  out.dialect = method;
  out.names_method = !method.empty();
  const bool is_modelopt = method.starts_with("modelopt") || (producer && word(*producer, "name") == "modelopt") ||
                           (method.empty() && config.is_string("quant_algo"));
  if (is_modelopt) out.dialect = "modelopt";
  if (method == "fp8") return read_fp8(out, root, config);
  if (is_modelopt) return read_modelopt(out, config);
  const MethodRow* row = find_method(method == "ipex" ? word(config, "method") : method);
  if (row == nullptr && (config.flag("load_in_4bit", false) || config.flag("load_in_8bit", false))) {
    out.dialect = "bitsandbytes";
    row = find_method(out.dialect);
  }
  if (row != nullptr) {
    if (!row->type.empty()) out.scheme = named(row->type);
    add_rules(out, config, row->spared);
    if (row->read != nullptr) row->read(out, config);
    return;
  }
  if (method.empty() && config.is_number("bits") && config.is_number("group_size")) {
    out.dialect = "mlx";
    return read_mlx(out, config);
  }
  read_unknown(out, config);
}

constexpr std::array<std::string_view, 3> kQuantizationKeys{"quantization", "quantization_config",
                                                            "compression_config"};

}  // namespace

bool has_quantization(const Fields& root, const Fields& text) {
  for (const Fields& place : {root, text})
    for (const std::string_view key : kQuantizationKeys)
      if (place.child(key)) return true;
  return false;
}

QuantDeclaration read_quantization(const Fields& root, const Fields& text) {
  QuantDeclaration out;
  // MLX files contain the same object twice; "quantization" is MLX's own key.
  for (const Fields& place : {root, text}) {
    for (const std::string_view key : kQuantizationKeys) {
      if (is_declared(out)) break;
      if (key == "quantization_config" && place.has(key) && !place.is_object(key))
        fail("\"quantization_config\" is not an object", "correct the config, or leave the key out");
      if (const auto config = place.child(key); config && !config->keys().empty()) {
        place.touch(key);
        read_declared(out, root, config->quietly());
      }
    }
  }
  return out;
}

QuantDeclaration read_quant_file(std::string_view hf_quant_config) {
  return with_source("hf_quant_config.json", [&] {
    QuantDeclaration out;
    const Fields file = Fields::parse(hf_quant_config);
    const auto config = file.child("quantization");
    if (!config || config->keys().empty()) return out;
    out.dialect = "modelopt";
    read_modelopt(out, config->quietly());
    // Even an unknown algorithm means that the weights are quantized.
    const std::string algorithm = word(*config, "quant_algo");
    if (!out.is_known && (algorithm.empty() || algorithm == "none" || algorithm == "no_quant"))
      return QuantDeclaration();
    return out;
  });
}

}  // namespace kvplan
