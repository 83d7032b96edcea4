// The program's own ceil, so that it need not load libm, which takes a tenth of the time of a plan: fmt calls it where
// it prints a rounded number, and nothing else here calls libm (kvplan/rounding.h). Not in the library: a program that
// links it has its own.
extern "C" double ceil(double value);

extern "C" double ceil(double value) {
  constexpr double kWhole = 4503599627370496.0;  // from 2^52 on every number is whole
  if (!(value > -kWhole && value < kWhole)) return value;
  const auto whole = static_cast<double>(static_cast<long long>(value));
  return whole < value ? whole + 1 : whole;
}
