// A program of somebody else that uses the installed library.
#include <hermetic/base/digest.h>

#include <cstdio>

int main() {
  std::puts(hermetic::sha256("").c_str());
  return 0;
}
