// Writes so many megabytes to each of the given descriptors, in turn; 0 means for ever.
#include <unistd.h>

#include <vector>

#include "tests/misbehave/act.h"

int main(int count, char** words) {
  if (count < 3) misbehave::usage("flood MEGABYTES DESCRIPTOR...");
  const long megabytes = misbehave::number(words[1]);
  const std::vector<char> block(std::size_t{1} << 16U, 'x');
  for (long i = 0; megabytes == 0 || i < megabytes * 16; ++i)
    for (int word = 2; word < count; ++word)
      for (std::size_t done = 0; done < block.size();) {
        const ssize_t written = ::write(static_cast<int>(misbehave::number(words[word])),
                                        block.data() + done, block.size() - done);
        if (written < 0) return 1;
        done += static_cast<std::size_t>(written);
      }
  return 0;
}
