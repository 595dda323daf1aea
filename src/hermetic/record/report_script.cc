#include "hermetic/record/report_script.h"

namespace hermetic {
namespace {

// A page that was opened as a file has no clipboard in some browsers: there the text is selected
// and copied as a user would do it.
constexpr std::string_view kScript = R"js(
"use strict";
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      getSelection().selectAllChildren(source);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
)js";

}  // namespace

std::string_view report_script() { return kScript; }

}  // namespace hermetic
