// Refuses text from a server that contains the token, so that it gets into no cache, report, error or log. A server
// knows the token; the readers of a public log must not.
#ifndef KVPLAN_SOURCES_TOKEN_ECHO_H_
#define KVPLAN_SOURCES_TOKEN_ECHO_H_

#include <string>
#include <string_view>
#include <vector>

namespace kvplan {

class TokenEcho {
 public:
  explicit TokenEcho(const std::string& token);

  // Whether the text contains the token: as it is; in another case or with other characters in between; with escapes of
  // JSON, HTML or URLs, also nested; in base64 or hexadecimal.
  bool is_in(std::string_view text) const;

 private:
  bool is_spelled_in(std::string_view text) const;
  bool is_escaped_in(std::string_view text) const;

  std::string token_;
  // The token with only letters and digits, in lower case, and so its hexadecimal digits.
  std::vector<std::string> folded_;
  std::vector<std::string> base64_;  // the token's bytes in base64, at each of the three positions in a group
};

}  // namespace kvplan

#endif  // KVPLAN_SOURCES_TOKEN_ECHO_H_
