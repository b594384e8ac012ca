#include "runner/web/pages.h"

namespace runner::web {

Html login_body(const std::string& next, const std::string& problem) {
  Html out;
  out << "<div class=\"narrow\"><h1>Log in</h1><p>Run this in a terminal where you have your "
         "token, and type the code that it prints:</p><pre>proofhouse login</pre>";
  if (!problem.empty()) out << "<p class=\"notice bad\" role=\"alert\">" << problem << "</p>";
  out << "<form method=\"post\" action=\"/login\" class=\"stack\">"
         "<input type=\"hidden\" name=\"next\" value=\""
      << next
      << "\"><label for=\"code\">One-time code</label>"
         "<input id=\"code\" name=\"code\" autocomplete=\"one-time-code\" "
         "autocapitalize=\"characters\" "
         "spellcheck=\"false\" maxlength=\"20\" required autofocus placeholder=\"BCD-234-FGH\">"
         "<button class=\"primary\">Log in</button></form>"
         "<p class=\"dim\">A code is good for five minutes and for one login. The session lasts "
         "twelve hours, and ends at once when the token behind it is revoked.</p></div>";
  return out;
}

}  // namespace runner::web
