#!/bin/bash
# Installs into an empty folder and builds programs there with find_package() and with pkg-config, in C++ and in C.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
expected=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855

cmake --install "$HERMETIC_BINARY_DIR" --prefix "$prefix" >"$scratch/log"
for file in bin/hermetic include/hermetic.h include/hermetic/base/result.h share/man/man1/hermetic.1 \
  share/man/man5/hermetic.yaml.5 share/bash-completion/completions/hermetic \
  share/zsh/vendor-completions/_hermetic share/fish/vendor_completions.d/hermetic.fish; do
  [[ -s $prefix/$file ]] || { echo "$file is not installed" >&2; exit 1; }
done
if grep -rIl "$HERMETIC_SOURCE_DIR" "$prefix/include" "$prefix"/lib*/ --include='*.cmake' \
  --include='*.pc' --include='*.h'; then
  echo "an installed file names the source tree" >&2
  exit 1
fi

# By find_package().
mkdir "$scratch/consumer"
cp "$here/consumer.cc" "$scratch/consumer/"
cp "$here/consumer.cmake" "$scratch/consumer/CMakeLists.txt"
cmake -S "$scratch/consumer" -B "$scratch/build" -G Ninja -D CMAKE_PREFIX_PATH="$prefix" >"$scratch/log"
cmake --build "$scratch/build" >"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }
[[ $("$scratch/build/consumer") == "$expected" ]]

# The program of docs/guide/cpp.md, by find_package() too.
{
  # shellcheck disable=SC2016 # nothing is to be expanded
  sed -n '/^```cpp$/,/^```$/{//!p}' "$HERMETIC_SOURCE_DIR/docs/guide/cpp.md"
  echo 'int main() { return compile() ? 0 : 1; }'
} >"$scratch/consumer/consumer.cc"
cmake --build "$scratch/build" >"$scratch/log" || { cat "$scratch/log" >&2; exit 1; }

# By pkg-config.
pc=$(find "$prefix" -name hermetic.pc)
flags=$(PKG_CONFIG_PATH=${pc%/*} pkg-config --define-variable=prefix="$prefix" --cflags --libs hermetic)
# shellcheck disable=SC2086  # a list of options
"$CXX" -std=c++20 "$here/consumer.cc" $flags -o "$scratch/by_pkg_config"
[[ $("$scratch/by_pkg_config") == "$expected" ]]

# In C, by pkg-config.
pc=$(find "$prefix" -name hermetic-c.pc)
flags=$(PKG_CONFIG_PATH=${pc%/*} pkg-config --define-variable=prefix="$prefix" --cflags --libs hermetic-c)
# shellcheck disable=SC2086  # a list of options
cc -std=c11 -Wall -Wextra -Wpedantic -Werror "$here/consumer.c" $flags -o "$scratch/in_c"
[[ $(LD_LIBRARY_PATH=$(dirname "${pc%/*}") "$scratch/in_c") == 0 ]]
[[ -z $(find "$prefix" -name libhermetic.so) ]]  # it would come before the archive
