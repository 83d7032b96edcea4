#include "weights/torch_pieces.h"

namespace kvplan {

namespace {

constexpr std::uint64_t kGrain = 512;
constexpr std::uint64_t kMostSmall = kMiB;
constexpr std::uint64_t kSmallSegment = 2 * kMiB;
constexpr std::uint64_t kLeastLarge = 10 * kMiB;  // larger blocks get their own segment
constexpr std::uint64_t kSharedSegment = 20 * kMiB;
constexpr std::uint64_t kLargeGrain = 2 * kMiB;
constexpr std::string_view kPieces = "the allocator's pieces";

}  // namespace

void TorchPieces::take(Bytes tensor) {
  if (tensor == Bytes(0)) return;
  const std::uint64_t wanted = round_up(tensor.count(), kGrain, kPieces);
  const bool is_small = wanted <= kMostSmall;
  std::multiset<Bytes>& free = is_small ? small_ : large_;
  std::uint64_t piece = 0;
  if (const auto found = free.lower_bound(Bytes(wanted)); found != free.end()) {
    piece = found->count();
    free.erase(found);
  } else {
    piece = is_small ? kSmallSegment : wanted < kLeastLarge ? kSharedSegment : round_up(wanted, kLargeGrain, kPieces);
    reserved_ += Bytes(piece);
    segments_.emplace_back(piece);
  }
  const std::uint64_t rest = piece - wanted;
  if (is_small ? rest >= kGrain : rest > kMiB) {
    free.insert(Bytes(rest));
    piece = wanted;
  }
  allocated_ += Bytes(piece);
}

}  // namespace kvplan
