// What the tests of pages have in common: rendering, and what must hold for every page.
#pragma once

#include "analysis/support/diag.h"
#include "tools/report/report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::report {

inline std::string render(const std::vector<std::string> &documents, bool markdown = false) {
  std::vector<ReportInput> inputs;
  for (const std::string &json : documents)
    inputs.push_back({fmt::format("d{}.json", inputs.size()), json});
  llvm::Expected<std::string> page = markdown ? renderMarkdown(inputs) : renderReport(inputs);
  if (!page) {
    ADD_FAILURE() << takeDiag(page.takeError()).str();
    return {};
  }
  return *page;
}

inline size_t occurrences(std::string_view text, std::string_view part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++n;
  return n;
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

struct Tag {
  std::string name;
  std::map<std::string, std::string> attributes;
};

/// The page's tags, checked on the way: each one closed in order, attributes quoted.
inline std::vector<Tag> checkedTags(std::string_view page) {
  const std::set<std::string> voids = {"meta"};
  std::vector<Tag> tags;
  std::vector<std::string> open;
  for (size_t at = page.find('<'); at != std::string_view::npos; at = page.find('<', at)) {
    size_t end = page.find('>', at);
    if (end == std::string_view::npos) {
      ADD_FAILURE() << "unfinished tag";
      break;
    }
    std::string_view text = page.substr(at + 1, end - at - 1);
    at = end;
    if (text.starts_with("!"))
      continue;
    if (text.starts_with("/")) {
      if (open.empty() || open.back() != text.substr(1)) {
        ADD_FAILURE() << "</" << text.substr(1) << "> closes "
                      << (open.empty() ? std::string("nothing") : open.back());
        return tags;
      }
      open.pop_back();
      continue;
    }
    bool selfClosing = text.ends_with("/");
    if (selfClosing)
      text.remove_suffix(1);
    Tag tag;
    tag.name = text.substr(0, text.find(' '));
    for (size_t i = tag.name.size(); i < text.size();) {
      i = text.find_first_not_of(' ', i);
      size_t equals = text.find("=\"", i);
      if (i == std::string_view::npos || equals == std::string_view::npos)
        break;
      size_t quote = text.find('"', equals + 2);
      tag.attributes[std::string(text.substr(i, equals - i))] =
          text.substr(equals + 2, quote - equals - 2);
      i = quote + 1;
    }
    tags.push_back(tag);
    if (tag.name == "style" || tag.name == "script")
      at = page.find("</" + tag.name, at); // raw text
    if (!selfClosing && !voids.count(tag.name))
      open.push_back(tag.name);
  }
  EXPECT_TRUE(open.empty());
  return tags;
}

/// What must hold for any input that is accepted.
inline void checkPage(const std::string &page) {
  std::set<std::string> ids;
  std::vector<Tag> tags = checkedTags(page);
  for (const Tag &tag : tags)
    if (auto id = tag.attributes.find("id"); id != tag.attributes.end()) {
      EXPECT_TRUE(ids.insert(id->second).second) << "id " << id->second << " twice";
    }
  size_t scripts = 0;
  for (const Tag &tag : tags) {
    scripts += tag.name == "script";
    for (const auto &[name, value] : tag.attributes) {
      EXPECT_FALSE(name == "style" || name == "src" || name.starts_with("on")) << name;
      if (name == "href") {
        EXPECT_TRUE(value.starts_with("#") && ids.count(value.substr(1))) << value;
      }
      if (name == "aria-labelledby") {
        std::string rest = value + " ";
        for (size_t space; (space = rest.find(' ')) != std::string::npos; rest.erase(0, space + 1))
          EXPECT_TRUE(ids.count(rest.substr(0, space))) << value;
      }
      EXPECT_FALSE(value.starts_with("nan") || value.starts_with("-nan") ||
                   value.starts_with("inf") || value.starts_with("-inf"))
          << tag.name << " " << name << "=" << value;
    }
    if (tag.name == "th") {
      EXPECT_TRUE(tag.attributes.count("scope"));
    }
  }
  EXPECT_EQ(scripts, 1u);
  EXPECT_FALSE(contains(page, "http://") || contains(page, "https://") ||
               contains(page, "@import"));
}

} // namespace tilewright::report
