#include "engines/vllm/card.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "kvplan/strings.h"

namespace kvplan {

namespace {

struct Cards {
  unsigned capability;
  std::string_view names;  // beginnings of the catalogue's names
};

// https://developer.nvidia.com/cuda-gpus. The first row that fits holds: an A100 is no A10.
constexpr std::array kCards{
    Cards{103, "b300 gb300"},
    Cards{100, "b100 b200 gb200"},
    Cards{121, "dgx-spark"},
    Cards{120, "rtx-pro-"},
    Cards{110, "jetson-thor"},
    Cards{90, "h100 h200 h800 h20 gh200"},
    Cards{89, "rtx-2000-ada rtx-4 rtx-5000-ada rtx-6000-ada l4"},
    Cards{120, "rtx-50"},
    Cards{87, "jetson-"},
    Cards{80, "a100 a800 a30"},
    Cards{86, "rtx-30 rtx-a a2 a10 a16 a40"},
    Cards{75, "rtx-20 titan-rtx quadro-rtx t4"},
    Cards{70, "v100"},
    Cards{61, "gtx-10 p40"},
    Cards{60, "p100"},
};

bool names(const Cards& cards, std::string_view card) {
  const std::vector<std::string_view> beginnings = split(cards.names);
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return card.starts_with(beginning); });
}

}  // namespace

unsigned vllm_capability(const Request& request) {
  if (!request.gpu) return 0;
  const auto row =
      std::find_if(kCards.begin(), kCards.end(), [&](const Cards& cards) { return names(cards, *request.gpu); });
  return row == kCards.end() ? 0 : row->capability;
}

bool vllm_is_hopper(const Request& request) {
  return vllm_capability(request) == 90;
}

bool vllm_is_data_blackwell(const Request& request) {
  return vllm_capability(request) / 10 == 10;
}

}  // namespace kvplan
