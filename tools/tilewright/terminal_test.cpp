#include "tools/tilewright/command_line.h"
#include "tools/tilewright/terminal.h"

#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tilewright::cli {

namespace {

std::string withColours(const std::string &text) {
  voice().color = "always";
  std::string result = coloured(text, stdout);
  voice().color = "never";
  EXPECT_EQ(coloured(text, stdout), text);
  voice().color = "auto";
  return result;
}

} // namespace

TEST(Colours, AreOfLabelsAnswersAndVerdicts) {
  EXPECT_EQ(withColours("error: no\n"), "\033[1;31merror:\033[0m no\n");
  EXPECT_EQ(withColours("a.hlo:3:4: error: no\n  x = y\n      ^\n  note: here\n"),
            "a.hlo:3:4: \033[1;31merror:\033[0m no\n  x = y\n      \033[1;32m^\033[0m\n"
            "  \033[1;36mnote:\033[0m here\n");
  EXPECT_EQ(withColours("feasible  yes, all\n"), "feasible  \033[1;32myes\033[0m, all\n");
  EXPECT_EQ(withColours("feasible  no\n"), "feasible  \033[1;31mno\033[0m\n");
  EXPECT_EQ(withColours("k0   pass   error 0\nk1   fail   error 1"),
            "k0   \033[1;32mpass\033[0m   error 0\nk1   \033[1;31mfail\033[0m   error 1");
  // What only looks like one.
  for (const char *text :
       {"", "\n", "k0 yes\n", "an error: of theirs\n", "passes\n", "k0  passed\n"})
    EXPECT_EQ(withColours(text), text);
}

TEST(Colours, AreOnTerminalsUnlessTheUserSaysNo) {
  const int control = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(control, 0);
  ASSERT_EQ(grantpt(control), 0);
  ASSERT_EQ(unlockpt(control), 0);
  std::FILE *terminal = std::fopen(ptsname(control), "w"), *file = std::tmpfile();
  ASSERT_TRUE(terminal && file);
  unsetenv("NO_COLOR");
  setenv("TERM", "xterm", 1);
  EXPECT_TRUE(isColoured(terminal));
  EXPECT_FALSE(isColoured(file));
  setenv("NO_COLOR", "", 1); // not set, as no-color.org has it
  EXPECT_TRUE(isColoured(terminal));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(isColoured(terminal));
  voice().color = "always";
  EXPECT_TRUE(isColoured(terminal));
  EXPECT_TRUE(isColoured(file));
  voice().color = "auto";
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(isColoured(terminal));
  std::fclose(terminal);
  std::fclose(file);
  close(control);
}

TEST(Progress, SaysWhatIsLeft) {
  EXPECT_EQ(progressLine("kernels", 3, 80, 0.04, 2), "kernels 3/80"); // too early to tell
  EXPECT_EQ(progressLine("kernels", 20, 80, 0.25, 10), "kernels 20/80, 30 s left");
  EXPECT_EQ(progressLine("kernels", 20, 80, 0.25, 600), "kernels 20/80, 30 min left");
  EXPECT_EQ(progressLine("kernels", 1, 80, 0.0125, 3600), "kernels 1/80, 79 h left");
  EXPECT_EQ(progressLine("kernels", 0, 80, 0, 100), "kernels 0/80");
  EXPECT_EQ(progressLine("kernels", 13, 0, 0.5, 100), "kernels 13");
  EXPECT_EQ(progressLine("kernels", 80, 80, 1, 100), "kernels 80/80, 0 s left");
}

TEST(Names, TheNearestOfAMistypedOne) {
  const std::vector<std::string> names = {"explore", "tile", "calibrate", "evaluate", "eval", "-o"};
  EXPECT_EQ(nearestName("exploar", names), "explore");
  EXPECT_EQ(nearestName("tiel", names), "");
  EXPECT_EQ(nearestName("til", names), "tile");
  EXPECT_EQ(nearestName("evaluat", names), "evaluate");
  EXPECT_EQ(nearestName("explode", names), "explore");
  EXPECT_EQ(nearestName("frobnicate", names), "");
  EXPECT_EQ(nearestName("x", names), "");
  EXPECT_EQ(nearestName("", names), "");
}

} // namespace tilewright::cli
