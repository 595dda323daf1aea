// DescriptorMessage: what sendmsg(2) and recvmsg(2) take, with room for one descriptor. It has no
// memory of its own to give back: the child uses it, too, which borrows ours.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "hermetic/base/unique_fd.h"

namespace hermetic::linux_backend {

class DescriptorMessage {
 public:
  // `data` outlives it.
  DescriptorMessage(void* data, std::size_t size) : data_{.iov_base = data, .iov_len = size} {
    message_.msg_iov = &data_;
    message_.msg_iovlen = 1;
    message_.msg_control = control_.data();
    message_.msg_controllen = control_.size();
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  [[nodiscard]] msghdr* get() { return &message_; }

  // To be sent.
  void attach(int descriptor) {
    cmsghdr* const header = CMSG_FIRSTHDR(&message_);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }

  // Of one that was received; closed if none came. Call it once.
  [[nodiscard]] UniqueFd take() const {
    const cmsghdr* const header = CMSG_FIRSTHDR(&message_);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return {};
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return UniqueFd(descriptor);
  }

 private:
  iovec data_;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control_ = {};
  msghdr message_ = {};
};

}  // namespace hermetic::linux_backend
