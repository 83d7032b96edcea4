// The token in what a server sends: refused, so that it gets into no cache, report, error or log. A server knows the
// token, and the readers of a public log do not.
#ifndef KVPLAN_SOURCES_TOKEN_ECHO_H_
#define KVPLAN_SOURCES_TOKEN_ECHO_H_

#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

class TokenEcho {
 public:
  explicit TokenEcho(const std::string& token);

  // Whether the text holds the token: as it is; in other letters, or with signs between them; written with escapes of
  // JSON, of HTML or of addresses, each within the other; in base64 or in hexadecimal digits.
  bool is_in(std::string_view text) const;

 private:
  bool is_in_window(std::string_view text) const;

  std::string token_;
  std::vector<std::string> folded_;  // letters and digits alone, in lower case: of the token, and of its digits
  std::vector<std::string> base64_;  // what the token's bytes become at each of three places
};

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_TOKEN_ECHO_H_
