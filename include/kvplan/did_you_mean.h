// The remedy of an error about an unknown word.
#ifndef KVPLAN_DID_YOU_MEAN_H_
#define KVPLAN_DID_YOU_MEAN_H_

#include <span>
#include <string>
#include <string_view>

namespace kvplan {

// "did you mean vllm?" where a known word is near, else "use one of vllm, ...". Among equally near words the first are
// named.
std::string nearest_remedy(std::string_view wrong, std::span<const std::string_view> known);
// The same, with words separated by spaces.
std::string nearest_remedy(std::string_view wrong, std::string_view known);
// The known words near enough to have been meant, nearest first.
std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> known);

}  // namespace kvplan

#endif  // KVPLAN_DID_YOU_MEAN_H_
