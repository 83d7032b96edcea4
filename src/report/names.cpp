#include "report/names.h"

namespace kvplan {

std::string_view name(Role role) {
  switch (role) {
    case Role::kKey: return "key";
    case Role::kValue: return "value";
    case Role::kState: return "state";
    case Role::kIndex: return "index";
  }
  return "";
}

std::string_view name(Growth growth) {
  switch (growth) {
    case Growth::kToken: return "token";
    case Growth::kSourceToken: return "source_token";
    case Growth::kSequence: return "sequence";
  }
  return "";
}

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits: return "fits";
    case Verdict::kDoesNotFit: return "does_not_fit";
    case Verdict::kUnknown: return "unknown";
  }
  return "";
}

std::string_view name(NoteLevel level) {
  switch (level) {
    case NoteLevel::kInfo: return "info";
    case NoteLevel::kWarning: return "warning";
  }
  return "";
}

std::string_view name(RehearsalStatus status) {
  switch (status) {
    case RehearsalStatus::kStarts: return "starts";
    case RehearsalStatus::kTight: return "tight";
    case RehearsalStatus::kStops: return "stops";
  }
  return "";
}

std::string_view name(MeasureStatus status) {
  switch (status) {
    case MeasureStatus::kAgrees: return "agrees";
    case MeasureStatus::kDisagrees: return "disagrees";
    case MeasureStatus::kRefused: return "refused";
    case MeasureStatus::kFailed: return "failed";
  }
  return "";
}

}  // namespace kvplan
