# A program with a sanitizer has needs of its own: threads, memory, stack.
has_sanitizer() { grep -q '__[at]san_init' "$HERMETIC_PROGRAM"; }
