// Prints the KV cache of a model in vLLM, from your own program: ./example testdata/configs/deepseek-v3.json
#include <kvplan/kvplan.h>

#include <iostream>

int main(int argc, char** argv) {
  try {
    const kvplan::Model model = kvplan::Model::load(argc > 1 ? argv[1] : "config.json");
    kvplan::Request request;
    request.max_model_len = kvplan::Tokens(32768);
    request.card.gpu = &kvplan::parse_gpu("h100-80gb");
    const kvplan::MemoryPlan plan = model.plan("vllm", request);
    std::cout << plan.kv_cache.bytes_per_token.count() << " bytes per token, " << plan.kv_cache.reserved.count()
              << " bytes reserved, " << plan.reason << '\n';
    return plan.verdict.status == kvplan::Verdict::kDoesNotFit ? 1 : 0;
  } catch (const kvplan::Error& error) {
    std::cerr << error.line() << '\n';
    return static_cast<int>(error.code());
  }
}
