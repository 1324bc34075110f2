// From words to triangles, sides and diagonals.
#include "commands/form_options.hpp"

#include <fmt/format.h>

#include "commands/parse_words.hpp"

namespace kw {

void FormChoice::add_form_options(CLI::App& to, const char* shapes, const char* things,
                                  std::int64_t default_count, const char* operations) {
  CLI::Option* shape_option = to.add_option("--shape", shape, shapes);
  shape_option->type_name("LIST")->check(not_empty());
  CLI::Option* sweep_option =
      to.add_option("--sweep", sweep, "random")->check(CLI::IsMember({"random"}));
  sweep_option->excludes(shape_option);
  to.add_option("--count", count,
                fmt::format("Of --sweep random: {}, a third each under 4 us, 4 to 50 and over "
                            "50 by an H200's roofline (default: {}); --seed draws them",
                            things, default_count))
      ->check(whole_number(1, 100000))
      ->needs(sweep_option);
  to.add_option("--uplo", uplo, "lower, upper or both: lower,upper")->capture_default_str();
  to.add_option("--side", side, "left, right or both: left,right")->capture_default_str();
  to.add_option("--trans", trans, operations)->capture_default_str();
  to.add_option("--diag", diag, "n, u or both: n,u (unit)")->capture_default_str();
}

std::vector<Triangle> FormChoice::triangles() const {
  return parse_words<Triangle>("--uplo", uplo,
                               {{"lower", Triangle::lower}, {"upper", Triangle::upper}});
}
std::vector<bool> FormChoice::on_left() const {
  return parse_words<bool>("--side", side, {{"left", true}, {"right", false}});
}
std::vector<bool> FormChoice::unit_diagonals() const {
  return parse_words<bool>("--diag", diag, {{"n", false}, {"u", true}});
}

}  // namespace kw
