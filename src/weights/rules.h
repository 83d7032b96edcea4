// Which modules a checkpoint's skip list or layer map names. Lists come as exact names, ends of names, globs and "re:"
// expressions, often one entry for each of a hundred layers. Names are kept without their numbers, so that a module is
// looked up once for all its layers.
#ifndef KVPLAN_WEIGHTS_RULES_H_
#define KVPLAN_WEIGHTS_RULES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kvplan/quantization.h"
#include "kvplan/tensors.h"
#include "weights/expression.h"

namespace kvplan {

class RuleBook {
 private:
  using Order = std::size_t;  // of a rule in its list: the first that names a module decides

 public:
  // An Error where the list brings more expressions and globs than a checkpoint would; so may asking it.
  explicit RuleBook(const std::vector<SchemeRule>& rules);
  // The same patterns, read already, with rules that may differ in their schemes.
  RuleBook(const RuleBook& same, const std::vector<SchemeRule>& rules) : lists_(same.lists_), rules_(&rules) {}
  RuleBook(const RuleBook&) = delete;
  RuleBook& operator=(const RuleBook&) = delete;

  bool empty() const { return rules_->empty(); }
  // Rules that were no name, glob or expression that can be read.
  std::size_t unread() const { return lists_->unread; }

  // What the list says of one module in all its layers; lives no longer than the book.
  class Named {
   public:
    // The first rule that names the module of this layer, null where none does.
    const SchemeRule* find(std::uint64_t layer) const;

   private:
    friend class RuleBook;
    const RuleBook* book_ = nullptr;
    std::vector<std::string> names_;
    Order every_ = kNone;                                   // of all layers
    std::vector<std::pair<std::uint64_t, Order>> layers_;   // by layer, the first of each
    std::vector<std::pair<std::string_view, Order>> open_;  // "layers.6*": beginnings of a layer's number, sorted
  };
  // names: all that a module is called, "*" for the layer's number; a second "*" stands for the first of its experts.
  Named named(std::vector<std::string> names) const;
  Named named(std::string_view module) const { return named(std::vector<std::string>{std::string(module)}); }
  const SchemeRule* find(std::string_view module) const { return named(module).find(0); }

  // A module in all its layers (0 for one outside of them) and copies.
  struct Module {
    std::vector<std::string> names;
    std::vector<LayerRun> layers;
    std::uint64_t copies = 1;
  };
  // The rules that name none of these modules, in the list's order; none where finding them would take too long.
  std::vector<const SchemeRule*> unmatched(const std::vector<Module>& modules) const;

 private:
  static constexpr Order kNone = static_cast<Order>(-1);
  static constexpr std::uint32_t kLayer = static_cast<std::uint32_t>(-1);   // the number of the layer at hand
  static constexpr std::uint32_t kExpert = static_cast<std::uint32_t>(-2);  // of the expert
  static constexpr std::size_t kNumbers = 3;  // words of digits that a name gives up; further ones are text

  // A name whose numbers are taken out: "layers.*.mlp.gate".
  struct Numbered {
    std::uint32_t numbers[kNumbers] = {};
    std::string_view open;  // the number that the name ends in, where it is only a beginning
    Order order = kNone;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Names = std::unordered_map<std::string, std::vector<Numbered>, Hash, std::equal_to<>>;

  // Entries of a key that a module's name has: its numbers in the key's places, `next` the word behind.
  struct Found {
    const std::vector<Numbered>& entries;
    std::span<const std::uint32_t> numbers;
    std::optional<std::uint32_t> next;
  };
  template <class Take>
  void each_found(std::string_view module, Take take) const;
  static void offer(const Found& found, Named& out);
  class Marker;
  // A module by its whole name, and without the wrappers before it.
  struct Called {
    std::string_view whole, bare;
    explicit Called(std::string_view name);
  };
  bool glob_names(const std::string& below, const Called& module) const;
  bool expression_names(const Expression& expression, const Called& module) const;
  Order match(bool by_layer, std::string_view name, Order best) const;

  struct Lists {
    Names exact;
    Names prefixes;
    std::vector<std::size_t> prefix_lengths;
    // Those that answer alike for every layer, and those that need its number.
    std::vector<std::pair<std::string, Order>> globs[2];  // with ".*" behind: a block's modules are its own
    std::vector<std::pair<Expression, Order>> expressions[2];
    std::size_t unread = 0;
  };
  static Lists lists_of(const std::vector<SchemeRule>& rules);

  std::shared_ptr<const Lists> lists_;
  const std::vector<SchemeRule>* rules_;  // that `lists_` views
  mutable std::uint64_t steps_ = 0;       // of matching so far
};

// Without the wrappers that checkpoints put before the same module ("model.", "language_model.", "backbone.").
std::string_view bare_module(std::string_view module);

}  // namespace kvplan

#endif  // KVPLAN_WEIGHTS_RULES_H_
