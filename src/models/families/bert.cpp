// BERT and kin: nothing is decoded, nothing is kept. Source: transformers' modelling files of the types named.
#include "models/blocks/layers.h"
#include "models/family.h"

namespace kvplan {

namespace {

// clang-format off
constexpr Family kRows[] = {
    {.is = {"bert roberta xlm-roberta xlm-roberta-xl roberta-prelayernorm albert distilbert electra camembert "
            "deberta deberta-v2 mpnet modernbert eurobert nomic_bert jina_embeddings_v3 bert-generation rembert "
            "roformer megatron-bert ernie big_bird data2vec-text mobilebert squeezebert xmod new gte", "encoder",
     Arch::kOther, "executed class"}, .layers = read_encoder},
};
// clang-format on

}  // namespace

// Encoders read a text at once and keep nothing; some are used as decoders all the same.
void read_encoder(Reader& reader) {
  const bool decodes =
      reader.text.flag("is_decoder", false) || reader.model.architecture.ends_with("GenerationDecoder");
  if (decodes) return read_decoder(reader, {});
  reader.inform("encoder_only", "an encoder reads its input at once: it keeps no cache");
  for (std::uint64_t i = 0; i < reader.num_layers(); ++i) reader.model.layers.push_back({{None{}}});
}

std::span<const Family> bert_family() {
  return kRows;
}

}  // namespace kvplan
