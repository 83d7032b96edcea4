// fmt, compiled once. As headers only, it would take two seconds in every file that prints, and Debian's fmt::fmt is a
// shared library.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
// Templates that the headers declare and a library must define.
template FMT_API auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template FMT_API auto thousands_sep_impl(locale_ref loc) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref loc) -> char;
#if FMT_VERSION >= 100000 && FMT_VERSION < 110000  // Debian 13's
template FMT_API void vformat_to(buffer<char>& to, string_view format, vformat_args<>::type values, locale_ref loc);
#endif
}  // namespace detail
FMT_END_NAMESPACE
