// A program of somebody else that uses the installed shared object.
#include <hermetic.h>
#include <stdio.h>

int main(void) {
  printf("%d\n", hermetic_abi_version());
  return 0;
}
