#include "hermetic/backends/observed/trace_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hermetic::observed {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = TraceLine::Kind;

TEST(TraceLine, KnowsTheFourKinds) {
  EXPECT_EQ(parse_trace_line("12  listen(3, 5) = 0"),
            (TraceLine{.kind = Kind::Call, .pid = 12, .name = "listen", .text = "(3, 5) = 0"}));
  EXPECT_EQ(parse_trace_line("12  vfork( <unfinished ...>"),
            (TraceLine{.kind = Kind::Unfinished, .pid = 12, .name = "vfork", .text = "("}));
  EXPECT_EQ(parse_trace_line("12  <... vfork resumed>)              = 13"),
            (TraceLine{
                .kind = Kind::Resumed, .pid = 12, .name = "vfork", .text = ")              = 13"}));
  EXPECT_EQ(parse_trace_line("12  +++ exited with 0 +++")->kind, Kind::Ended);
  EXPECT_EQ(parse_trace_line("12  +++ killed by SIGSEGV (core dumped) +++")->kind, Kind::Ended);
}

TEST(TraceLine, TakesNothingElse) {
  for (const char* line : {"", "x", "12", "12 ", "-3 listen(3, 5) = 0", "12 --- SIGCHLD ---",
                           "12 <... listen", "12 (3) = 0", "12 A B(3) = 0",
                           "12 +++ superseded by execve in pid 7 +++", "strace: something(3) = 0"})
    EXPECT_FALSE(parse_trace_line(line)) << line;
}

TEST(TraceLine, ATextIsNeverTheEndOfALine) {
  const auto line = parse_trace_line(R"--(1 execve("/x", ["a\" <unfinished ...>"], 0x1) = 0)--");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->kind, Kind::Call);
  const TraceCall call = parse_trace_call(line->text);
  EXPECT_THAT(texts_of_argument(call.arguments[1]), ElementsAre("a\" <unfinished ...>"));
  EXPECT_EQ(call.result, 0);
}

TEST(TraceCall, SplitsArgumentsOutsideOfTextsAndBrackets) {
  const TraceCall call =
      parse_trace_call(R"--((3</a, \76b)>, "x, \"y)", {a=1, b=[2, 3]}, 16) = -1 E)--");
  EXPECT_THAT(call.arguments,
              ElementsAre(R"--(3</a, \76b)>)--", R"--("x, \"y)")--", "{a=1, b=[2, 3]}", "16"));
  EXPECT_EQ(call.result, -1);
}

TEST(TraceCall, MayLackItsEnd) {
  EXPECT_THAT(parse_trace_call("(3, {sa_family=AF_INET").arguments,
              ElementsAre("3", "{sa_family=AF_INET"));
  EXPECT_FALSE(parse_trace_call("(3, 4").result);
  EXPECT_FALSE(parse_trace_call("(3) = ?").result);
  EXPECT_THAT(parse_trace_call("").arguments, IsEmpty());
  EXPECT_THAT(parse_trace_call("(\"abc").arguments, ElementsAre("\"abc"));
}

TEST(TraceCall, TextsAreWhatTheyWere) {
  EXPECT_EQ(text_of_argument(R"--("a\n\t\"\\\0\1771")--"), std::string("a\n\t\"\\\0\177"
                                                                       "1",
                                                                       8));
  EXPECT_EQ(text_of_argument(R"--("cut"...)--"), "cut");
  EXPECT_EQ(text_of_argument("\""), "");
  EXPECT_FALSE(text_of_argument("NULL"));
  EXPECT_THAT(texts_of_argument(R"--(["a", "b]\"", ...])--"), ElementsAre("a", "b]\""));
  EXPECT_THAT(texts_of_argument("0x7ffd"), IsEmpty());
}

TEST(TraceAddress, IsReadOutsideOfTextsOnly) {
  EXPECT_THAT(
      addresses_in(
          R"--({sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")})--"),
      ElementsAre(TraceAddress{.family = "inet", .address = "127.0.0.1", .port = 80}));
  EXPECT_THAT(
      addresses_in(R"--({sa_family=AF_INET6, sin6_port=htons(9), sin6_flowinfo=htonl(0), )--"
                   R"--(inet_pton(AF_INET6, "::ffff:127.0.0.1", &sin6_addr), sin6_scope_id=0})--"),
      ElementsAre(TraceAddress{.family = "inet6", .address = "127.0.0.1", .port = 9}));
  EXPECT_THAT(addresses_in(R"--({msg_name=NULL, msg_iov=[{iov_base="{sa_family=AF_INET, )--"
                           R"--(sin_port=htons(1), sin_addr=inet_addr(\"127.0.0.1\")}"}]})--"),
              IsEmpty());
  EXPECT_THAT(addresses_in(R"--({sa_family=AF_UNIX, sun_path="sa_family=AF_INET"})--"),
              ElementsAre(TraceAddress{.family = "unix", .path = "sa_family=AF_INET"}));
  EXPECT_THAT(addresses_in(R"--({sa_family=AF_UNIX, sun_path=@"a\"b"})--"),
              ElementsAre(TraceAddress{.family = "unix", .path = "@a\"b"}));
}

TEST(TraceSocket, IsReadFromItsLabel) {
  EXPECT_EQ(parse_trace_socket("3<TCP:[127.0.0.1:47555]>"), (TraceSocket{.descriptor = 3,
                                                                         .protocol = "tcp",
                                                                         .family = "inet",
                                                                         .address = "127.0.0.1",
                                                                         .port = 47555}));
  EXPECT_EQ(
      parse_trace_socket("4<UDPv6:[[::1]:5->[::1]:6]>"),
      (TraceSocket{
          .descriptor = 4, .protocol = "udp", .family = "inet6", .address = "::1", .port = 5}));
  EXPECT_EQ(parse_trace_socket("5<TCP:[57722292]>"),
            (TraceSocket{.descriptor = 5, .protocol = "tcp", .family = "inet"}));
  EXPECT_EQ(parse_trace_socket("6<UNIX-STREAM:[1->2]>"), TraceSocket{.descriptor = 6});
  EXPECT_EQ(parse_trace_socket("7"), TraceSocket{.descriptor = 7});
}

}  // namespace
}  // namespace hermetic::observed
