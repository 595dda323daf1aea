"""Includes point down: a layer uses only what cmake/layers.cmake says it may use."""

import re

import check_tree

TABLE = "cmake/layers.cmake"
CALL = re.compile(r"^\s*hermetic_layer\(([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)

# Left and right of the bar in ARCHITECTURE.md: these do not know each other.
LEFT = {"record", "store", "workspace"}
RIGHT = {"monitor", "guard", "outputs", "backends"}

# The one header that pid 1 and the rest share.
PROTOCOL = "hermetic/backends/linux/init_protocol.h"
SYSTEM_CALLS = "init/system_calls.h"  # for whoever has no C library

# Other people's headers, and the name in USES that allows them. fmt comes with base, for everyone.
LIBRARIES = {
    "openssl/": "OpenSSL::Crypto",
    "sodium.h": "PkgConfig::sodium",
    "yaml.h": "PkgConfig::yaml",
    "seccomp.h": "PkgConfig::seccomp",
    "nlohmann/": "nlohmann_json::nlohmann_json",
}


def read_table(text):
    """{layer: (all layers it may use, libraries it may use)}"""
    table = {}
    for call in CALL.findall(text):
        words = call.split()
        name, mode, lists = words[0], None, {"DEPENDS": [], "USES": []}
        for word in words[1:]:
            if word in lists:
                mode = word
            else:
                lists[mode].append(word)
        below = set()
        for layer in lists["DEPENDS"]:
            below |= {layer} | table.get(layer, (set(), set()))[0]
        table[name] = (below, set(lists["USES"]))
    return table


def side(layer):
    group = layer.split("/")[0]
    return LEFT if group in LEFT else RIGHT if group in RIGHT else None


def table_problems(table):
    problems = []
    for layer, (below, _) in table.items():
        for other in sorted(below):
            if side(layer) and side(other) and side(layer) is not side(other):
                problems.append(f"{TABLE}: {layer} and {other} are on two sides of the bar")
            if other not in table:
                problems.append(f"{TABLE}: {layer} depends on {other}, which is not declared before it")
            elif side(other) is RIGHT and side(layer) is not RIGHT:
                problems.append(f"{TABLE}: only main() knows the backends, but {layer} depends on {other}")
    return problems


def layer_of(path, table):
    """The layer that a path such as spec/spec.h or backends/linux/child.cc belongs to."""
    parts = path.split("/")
    for depth in (2, 1):
        if len(parts) > depth and "/".join(parts[:depth]) in table:
            return "/".join(parts[:depth])
    return None


def include_problems(where, own, quote, name, table):
    if name.endswith(".inc"):  # made by the build, for one file
        return []
    if quote == '"' and not name.startswith(("hermetic/", "cli/", "init/")):
        return [f'{where}: write the whole path from src, not "{name}"']
    if name.startswith("hermetic/"):
        other = layer_of(name.removeprefix("hermetic/"), table)
        if other is None:
            return [f"{where}: {name} is in no layer of {TABLE}"]
        if own in table and other != own and other not in table[own][0]:
            return [f"{where}: {own} may not use {other} ({name})"]
    if own == "spy" and name != SYSTEM_CALLS and quote == '"':
        return [f"{where}: spy stands alone and may not use {name}"]
    if name.startswith(("cli/", "init/")) and own not in (name.split("/")[0], "spy"):
        return [f"{where}: {own} may not use {name}"]
    if own == "init" and name.startswith("hermetic/") and name != PROTOCOL:
        return [f"{where}: init stands alone and may not use {name}"]
    for prefix, library in LIBRARIES.items():
        if name.startswith(prefix) and library not in table.get(own, (set(), set()))[1]:
            return [f"{where}: {own} does not list {library} in {TABLE}, but includes {name}"]
    return []


def check(root):
    table = read_table(check_tree.text(root / TABLE))
    problems = table_problems(table)
    for path in check_tree.files(root, "src", [".h", ".cc"]):
        where = path.relative_to(root).as_posix()
        inside = where.removeprefix("src/")
        if inside.startswith("hermetic/"):
            own = layer_of(inside.removeprefix("hermetic/"), table)
            if own is None:
                problems.append(f"{where}: its folder is no layer of {TABLE}")
                continue
        else:
            own = inside.split("/")[0]
        for match in INCLUDE.finditer(check_tree.text(path)):
            problems += include_problems(where, own, match[1], match[2], table)
    return problems


MAP = """hermetic_layer(base USES fmt::fmt-header-only OpenSSL::Crypto)
hermetic_layer(spec DEPENDS base USES PkgConfig::yaml)
hermetic_layer(run DEPENDS spec)
hermetic_layer(store DEPENDS run)
hermetic_layer(monitor DEPENDS run)
  hermetic_layer(backends/linux DEPENDS run monitor)
hermetic_layer(engine DEPENDS run store)
"""


def tree(path, line, table=MAP):
    return {TABLE: table, path: line + "\n"}


CASES = [
    (tree("src/hermetic/run/a.h", '#include "hermetic/base/b.h"'), None),
    (tree("src/hermetic/backends/linux/a.cc", '#include "hermetic/backends/linux/a.h"'), None),
    (tree("src/hermetic/base/a.cc", "#include <openssl/sha.h>"), None),
    (tree("src/cli/a.cc", '#include "hermetic/engine/b.h"'), None),
    (tree("src/hermetic/base/a.h", '#include "hermetic/spec/b.h"'), "base may not use spec"),
    (tree("src/hermetic/store/a.h", '#include "hermetic/monitor/b.h"'), "store may not use monitor"),
    (tree("src/hermetic/engine/a.h", '#include "hermetic/backends/linux/b.h"'), "engine may not use"),
    (tree("src/hermetic/base/a.h", '#include "cli/exit_code.h"'), "base may not use cli"),
    (tree("src/hermetic/spec/a.cc", '#include "b.h"'), "whole path"),
    (tree("src/hermetic/spec/a.cc", "#include <openssl/sha.h>"), "does not list OpenSSL"),
    (tree("src/hermetic/extra/a.cc", ""), "no layer"),
    (tree("src/hermetic/spec/a.cc", '#include "hermetic/extra/a.h"'), "no layer"),
    (tree("src/init/a.cc", '#include "hermetic/base/a.h"'), "stands alone"),
    (tree("src/init/a.cc", f'#include "{PROTOCOL}"'), None),
    (tree("src/spy/a.cc", '#include "hermetic/base/a.h"'), "stands alone"),
    (tree("src/spy/a.cc", f'#include "{SYSTEM_CALLS}"'), None),
    (tree("src/hermetic/spec/a.cc", '#include "table.inc"'), None),
    (tree("src/a.cc", "", MAP + "hermetic_layer(record DEPENDS monitor)"), "two sides"),
    (tree("src/a.cc", "", MAP + "hermetic_layer(gate DEPENDS backends/linux)"), "only main()"),
    (tree("src/a.cc", "", MAP + "hermetic_layer(gate DEPENDS nothing)"), "not declared before"),
]

if __name__ == "__main__":
    check_tree.main(check, CASES)
