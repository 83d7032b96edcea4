// Which modules a checkpoint's skip list or layer map names. Lists come as exact names, ends of names, globs and "re:"
// expressions, often one entry for each of a hundred layers: look-ups must not cost layers x entries.
#ifndef KVPLAN_WEIGHTS_RULES_H_
#define KVPLAN_WEIGHTS_RULES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kvplan/quantization.h"

namespace kvplan {

class RuleBook {
 public:
  explicit RuleBook(const std::vector<SchemeRule>& rules);
  ~RuleBook();
  RuleBook(const RuleBook&) = delete;
  RuleBook& operator=(const RuleBook&) = delete;

  bool empty() const { return size_ == 0; }
  // Globs and expressions that name no number answer alike for every layer: asked once for a group, the answer is
  // handed to find() for each of its layers.
  std::size_t without_layer(std::string_view module) const;
  // The first rule that names `module`, null where none does.
  const SchemeRule* find(std::string_view module, std::size_t without_layer) const;
  const SchemeRule* find(std::string_view module) const { return find(module, without_layer(module)); }
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  // Rules that were no name, glob or expression that can be read.
  std::size_t unread() const { return unread_; }

 private:
  struct Regex;
  std::size_t match(bool digits, std::string_view module, std::size_t best) const;

  struct Index {
    const SchemeRule* rule;
    std::size_t order;
  };
  using Names = std::unordered_map<std::string_view, Index>;

  std::vector<std::string> texts_;  // stripped patterns; the maps look into them
  Names exact_;
  Names prefixes_;
  std::vector<std::size_t> prefix_lengths_;
  std::vector<std::pair<std::string_view, Index>> globs_[2];  // without and with digits
  std::vector<std::pair<std::unique_ptr<Regex>, Index>> expressions_[2];
  std::vector<const SchemeRule*> in_order_;
  std::size_t size_ = 0;
  std::size_t unread_ = 0;
};

// * and ? as the shell has them.
bool glob_matches(std::string_view pattern, std::string_view text);
// Without the wrappers that checkpoints put before the same module ("model.", "language_model.", "backbone.").
std::string_view bare_module(std::string_view module);

}  // namespace kvplan

#endif  // KVPLAN_WEIGHTS_RULES_H_
