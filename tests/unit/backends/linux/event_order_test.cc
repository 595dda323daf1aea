// What is told first, whoever is faster.
#include "hermetic/backends/linux/event_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hermetic::linux_backend {
namespace {

using ::testing::ElementsAre;

class Told final : public EventSink {
 public:
  void on_event(const Event& event) override {
    EXPECT_GE(event.since_start, last_) << "time goes on";
    last_ = event.since_start;
    words.push_back(std::string(to_string(event.kind)) + event.subject);
  }
  std::vector<std::string> words;

 private:
  std::chrono::nanoseconds last_ = {};
};

Event of_network(std::string subject) {
  return {.kind = Event::Kind::Network, .subject = std::move(subject)};
}
Event of_program(std::string by, std::string subject) {
  return {.kind = Event::Kind::Process,
          .subject = std::move(subject),
          .processes = {{.executable = std::move(by)}}};
}

class Order : public ::testing::Test {
 protected:
  Told told;
  EventOrder order{told, std::chrono::steady_clock::now()};
};

TEST_F(Order, WhatTheCommandDoesComesAfterItsStart) {
  order.tell({.kind = Event::Kind::Coverage});
  order.tell_of_inside(of_program("init", " a"));  // two places of PATH
  order.tell_of_inside(of_program("init", " b"));
  order.tell_of_inside(of_program("b", " c"));
  order.tell_of_inside(of_network(" x"));
  EXPECT_THAT(told.words, ElementsAre("coverage", "process a", "process b"));
  order.tell({.kind = Event::Kind::Started});
  order.tell_of_inside(of_network(" y"));
  EXPECT_THAT(told.words, ElementsAre("coverage", "process a", "process b", "started", "process c",
                                      "network x", "network y"));
}

TEST_F(Order, WhatFollowsFromItComesAfterItToo) {
  order.tell_of_inside(of_network(" x"));
  order.tell({.kind = Event::Kind::Stopping});
  order.tell({.kind = Event::Kind::Started});
  order.tell({.kind = Event::Kind::Ended});
  EXPECT_THAT(told.words, ElementsAre("started", "network x", "stopping", "ended"));
}

TEST_F(Order, NothingIsHeldBackForEver) {
  order.tell({.kind = Event::Kind::Stopping});
  EXPECT_THAT(told.words, ElementsAre("stopping")) << "nothing comes before it";
  order.tell_of_inside(of_network(" x"));
  order.release();
  order.tell_of_inside(of_network(" y"));
  EXPECT_THAT(told.words, ElementsAre("stopping", "network x", "network y"));
}

}  // namespace
}  // namespace hermetic::linux_backend
