// Those who are in a control group, and the end of it: everybody is killed, whatever they do
// meanwhile, and the group removed. cgroups(7).
#pragma once

#include <string>

namespace hermetic {

// Kills everybody in the group and in those below it. They are on their way out then, and in the
// group until they are gone. `group` is an open directory.
void end_members(int group);

// Disks hold nobody in the group back any more: who is killed goes only when what it has written
// has been taken.
void lift_rates(int group);

// With the groups below it, which members that may mount can have made. Returns an errno, EBUSY
// while somebody is in it.
[[nodiscard]] int remove_group(int parent, const std::string& name);

}  // namespace hermetic
