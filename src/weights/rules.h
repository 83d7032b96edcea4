// Finds the modules that a checkpoint's exclusion list or layer map names. Lists contain exact names, ends of names,
// globs and "re:" expressions, often one for each of a hundred layers. Whatever does not depend on a layer's number is
// looked up once for all layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kvplan/error.h"
#include "kvplan/note.h"
#include "kvplan/quantization.h"
#include "kvplan/tensors.h"
#include "kvplan/weight_model.h"
#include "weights/expression.h"

namespace kvplan {

// A list of rules takes too long to match. The model's files cause it, so every GPU gets the same error.
class TooManyRules : public Error {
 public:
  TooManyRules(std::string_view what, std::string_view remedy)
      : Error(Exit::kBadInput, what, remedy, ErrorKind::kRefused) {}
};

class RuleBook {
 private:
  using Order = std::size_t;  // a rule's position in its list: the first rule that matches a module decides

 public:
  // Throws Error if the list has more expressions and globs than any checkpoint. Look-ups may throw it too.
  explicit RuleBook(const std::vector<SchemeRule>& rules);
  // The same patterns, parsed before, with rules that may have other schemes.
  RuleBook(const RuleBook& same, const std::vector<SchemeRule>& rules) : lists_(same.lists_), rules_(&rules) {}
  RuleBook(const RuleBook&) = delete;
  RuleBook& operator=(const RuleBook&) = delete;

  bool empty() const { return rules_->empty(); }
  // How many rules cannot be parsed as a name, glob or expression.
  std::size_t unread() const { return lists_->unread; }

  // What the list says about one module in all its layers. Must not outlive the book.
  class Named {
   public:
    // The first rule that matches the module in this layer; null if none does.
    const SchemeRule* find(std::uint64_t layer) const;

   private:
    friend class RuleBook;
    const RuleBook* book_ = nullptr;
    std::vector<std::string> names_;
    Order every_ = kNone;  // of the first rule for all layers
  };
  // `names`: all names of a module, with "*" for the layer's number. A second "*" means its first expert.
  Named named(std::vector<std::string> names) const;
  Named named(std::string_view module) const { return named(std::vector<std::string>{std::string(module)}); }
  const SchemeRule* find(std::string_view module) const { return named(module).find(0); }

  // A module in all its layers (0 for one outside of the layers) and copies.
  struct Module {
    std::vector<std::string> names;
    std::vector<LayerRun> layers;
    std::uint64_t copies = 1;
  };
  // The rules that match none of these modules, in the list's order. Empty if finding them would take too long.
  std::vector<const SchemeRule*> unmatched(const std::vector<Module>& modules) const;

 private:
  static constexpr Order kNone = static_cast<Order>(-1);

  // Whole names, or beginnings of names, each with its first rule.
  using NameList = std::unordered_map<std::string_view, Order>;
  class Marker;
  // A module's full name, and its name without wrappers.
  struct Called {
    std::string_view whole, bare;
    explicit Called(std::string_view name);
  };
  bool glob_names(const std::string& below, const Called& module) const;
  bool expression_names(const Expression& expression, const Called& module) const;

  struct Patterns {
    NameList names, prefixes;
    std::vector<std::pair<std::string, Order>> globs;  // followed by ".*": a match includes a block's modules
    std::vector<std::pair<Expression, Order>> expressions;
    bool empty() const { return names.empty() && prefixes.empty() && globs.empty() && expressions.empty(); }
  };
  struct Lists {
    Patterns alike, apart;  // patterns that match all layers alike, and those that depend on the layer's number
    std::size_t unread = 0;
  };
  static Lists lists_of(const std::vector<SchemeRule>& rules);
  Order match(const Patterns& patterns, std::string_view name, Order best) const;

  std::shared_ptr<const Lists> lists_;
  const std::vector<SchemeRule>* rules_;  // that `lists_` views
  mutable std::uint64_t steps_ = 0;       // of matching so far
};

// The name without the prefixes that checkpoints add to the same module ("model.", "language_model.", "backbone.").
std::string_view bare_module(std::string_view module);

// Rules of a checkpoint's lists that match no module of the model: they have no effect, and the plan says so.

// All names that checkpoints use for a group's module.
std::vector<std::string> names_of(const TensorGroup& group);

// A note for each list of the declaration, with the number of its rules that match nothing.
std::vector<Note> notes_of_unmatched(const WeightModel& model, const RuleBook& book);

}  // namespace kvplan
