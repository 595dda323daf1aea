// Text of others inside HTML, XML and Markdown: it can neither end its place nor be taken for
// markup, and what cannot be seen is spelled out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hermetic {

// printable(), and characters without a shape, which turn or hide text or which XML forbids, become
// \u{200f}.
[[nodiscard]] std::string visible(std::string_view text);

// No longer than so many bytes, but for a remark at its end that says how much is missing.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

// For elements and quoted attributes, of HTML as of XML. Visible.
[[nodiscard]] std::string markup_text(std::string_view text);

// A name and a phrase inside a page, whatever its direction of writing. Visible; a long one is
// shortened.
[[nodiscard]] std::string html_code(std::string_view text);
[[nodiscard]] std::string html_phrase(std::string_view text);

// A phrase and a name, both in one line, also in a cell of a table. Visible. GitHub's dialect, with
// its links, mentions and formulas.
[[nodiscard]] std::string markdown_text(std::string_view text);
[[nodiscard]] std::string markdown_code(std::string_view text);

// http or https, a host without a user before it, and no character that ends an attribute or a
// link: nothing else becomes a link.
[[nodiscard]] bool is_web_address(std::string_view text);
// Such an address, as the destination of a link.
[[nodiscard]] std::string markdown_address(std::string_view address);

}  // namespace hermetic
