// The terms of a layer, shared by its copies: engines copy layers often, and most layers of a model are equal. Changing
// shared terms makes a copy first.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <utility>

#include "kvplan/terms.h"

namespace kvplan {

// Whether `holds` is true for any of the terms.
template <class Holds>
bool any_term(const CacheTerms& terms, const Holds& holds) {
  return std::any_of(terms.begin(), terms.end(), holds);
}

class SharedTerms {
 public:
  SharedTerms() = default;
  SharedTerms(CacheTerms terms) : terms_(std::make_shared<CacheTerms>(std::move(terms))) {}
  SharedTerms(std::initializer_list<Term> terms) : SharedTerms(CacheTerms(terms)) {}

  const CacheTerms& all() const { return terms_ ? *terms_ : kNone; }
  operator const CacheTerms&() const { return all(); }
  CacheTerms::const_iterator begin() const { return all().begin(); }
  CacheTerms::const_iterator end() const { return all().end(); }
  bool empty() const { return all().empty(); }
  const Term& front() const { return all().front(); }
  friend bool operator==(const SharedTerms& a, const SharedTerms& b) { return a.all() == b.all(); }

  // Whether both have the same terms object, and so equal terms. Faster than comparing them.
  bool is(const SharedTerms& other) const { return terms_ == other.terms_; }

  // The terms, for changing them. Earlier copies keep the old ones.
  CacheTerms& own() {
    terms_ = std::make_shared<CacheTerms>(all());
    return *terms_;
  }

 private:
  static inline const CacheTerms kNone;
  std::shared_ptr<CacheTerms> terms_;
};

}  // namespace kvplan
