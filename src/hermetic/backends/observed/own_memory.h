// Keeps what this process knows from those that it starts without a sandbox.
#pragma once

namespace hermetic::observed {

// From now on no process of the same user can read this one's memory or environment, nor trace it;
// of root's, only those that get CAP_SYS_PTRACE from elsewhere. What was in the environment can
// still be asked for here. Before there are threads.
void hide_own_memory();

}  // namespace hermetic::observed
