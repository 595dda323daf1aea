#include <stdio.h>

int main(void) {
  puts("hello from a sandbox");
  return 0;
}
