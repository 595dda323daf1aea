// Clients that are not written for it, through an allow list: git, TLS, Java. Each is first seen to
// fail where its host is not allowed.
#include <fcntl.h>
#include <netinet/in.h>

#include <filesystem>
#include <fstream>

#include "tests/sandbox/world.h"

namespace hermetic {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::uint16_t kPort = 8080;

// A server in the world, gone with this. Python, with `arguments` for the script.
class Server {
 public:
  Server(const char* script, const Words& arguments) {
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::vector<const char*> words = {"python3", "-c", script};
      for (const std::string& word : arguments) words.push_back(word.c_str());
      words.push_back(nullptr);
      const int silence = ::open("/dev/null", O_WRONLY);
      ::dup2(silence, 2);
      ::execv("/usr/bin/python3", const_cast<char* const*>(words.data()));
      ::_exit(127);
    }
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(kPort);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (int i = 0; i < 1000 && !up_; ++i) {
      const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      up_ = ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
      if (!up_) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  [[nodiscard]] bool is_up() const { return up_; }

 private:
  pid_t process_ = -1;
  bool up_ = false;
};

constexpr const char* kFiles = R"(
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
http.server.ThreadingHTTPServer(('', 8080), handler).serve_forever()
)";

constexpr const char* kSecretPage = R"(
import http.server, ssl, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'page under TLS')
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server = http.server.ThreadingHTTPServer(('', 8080), Page)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
)";

class Clients : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_ANSWERED(ask_with_own_mounts([] { return std::string("yes"); }));
  }
};

std::string said(const SpecBuilder& builder) {
  const Result<Finished> finished = try_run(builder);
  if (!finished) return to_string(finished.error());
  std::string text = finished->outcome.standard_output.text + finished->outcome.standard_error.text;
  for (const Violation& violation : finished->outcome.violations)
    text += "| " + violation.act + " " + violation.subject;
  return text;
}

// What the command says with a server in the world and one host allowed.
std::string asked(SpecBuilder builder, const char* server, const Words& arguments,
                  const std::string& host) {
  builder.network(NetworkPolicy::allow_hosts({host}).value());
  return in_world([&]() -> std::string {
    const Server serving(server, arguments);
    return serving.is_up() ? said(builder) : "no server";
  });
}

bool ran(const std::string& line) {
  return std::system(("{ " + line + "; } >/dev/null 2>&1").c_str()) == 0;
}

// tools/setup installs what these need.
#define NEEDS_PROGRAM(program)                                   \
  if (!exists(program)) {                                        \
    ASSERT_FALSE(must_work()) << program << " is not installed"; \
    GTEST_SKIP() << program << " is not installed";              \
  }

TEST_F(Clients, GitClones) {
  NEEDS_PROGRAM("/usr/bin/git")
  const TempDir dir;
  const std::string work = dir / "work";
  const std::string git = "git -c user.name=n -c user.email=e -c init.defaultBranch=main ";
  ASSERT_TRUE(ran(git + "init " + work + " && echo content >" + work + "/file && cd " + work +
                  " && git add file && " + git + "commit -m first && git clone --bare . " +
                  (dir / "served.git") + " && git -C " + (dir / "served.git") +
                  " update-server-info"));
  const SpecBuilder clone =
      sandboxed({"sh", "-c",
                 "git clone -q http://web.example.org:8080/served.git /tmp/clone && "
                 "cat /tmp/clone/file"});
  EXPECT_THAT(asked(clone, kFiles, {dir.path()}, "other.example.org"),
              AllOf(HasSubstr("| resolve web.example.org"), Not(HasSubstr("content"))));
  EXPECT_EQ(asked(clone, kFiles, {dir.path()}, "web.example.org:8080"), "content\n");
}

TEST_F(Clients, SpeakTls) {
  NEEDS_PROGRAM("/usr/bin/openssl")
  NEEDS_PROGRAM("/usr/bin/curl")
  const TempDir dir;
  ASSERT_TRUE(
      ran("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
          "-subj /CN=web.example.org -addext subjectAltName=DNS:web.example.org -keyout " +
          (dir / "key") + " -out " + (dir / "certificate")));
  const Words files = {dir / "certificate", dir / "key"};
  const std::string address = "https://web.example.org:8080/";
  const SpecBuilder curl =
      sandboxed({"curl", "-sS", "-m", "20", "--cacert", files[0], address}).input(files[0]);
  EXPECT_THAT(asked(curl, kSecretPage, files, "other.example.org"),
              AllOf(HasSubstr("| resolve web.example.org"), Not(HasSubstr("page"))));
  EXPECT_EQ(asked(curl, kSecretPage, files, "web.example.org:8080"), "page under TLS");
  EXPECT_THAT(asked(sandboxed({"curl", "-sS", "-m", "20", address}), kSecretPage, files,
                    "web.example.org:8080"),
              Not(HasSubstr("page")))
      << "the certificate is the server's, and nobody stands between";
  const SpecBuilder python =
      sandboxed({"/usr/bin/python3", "-c",
                 "import ssl, sys, urllib.request\n"
                 "context = ssl.create_default_context(cafile=sys.argv[1])\n"
                 "print(urllib.request.urlopen(sys.argv[2], context=context).read().decode())",
                 files[0], address})
          .input(files[0]);
  EXPECT_EQ(asked(python, kSecretPage, files, "web.example.org:8080"), "page under TLS\n");
}

TEST_F(Clients, RunOnJava) {
  NEEDS_PROGRAM("/usr/bin/java")
  NEEDS_PROGRAM("/usr/bin/javac")
  const TempDir dir;
  const std::string source = dir.file("Fetch.java", R"(
import java.net.URL;
public class Fetch {
  public static void main(String[] words) throws Exception {
    System.out.write(new URL(words[0]).openStream().readAllBytes());
    System.out.flush();
  }
})");
  dir.file("page", "page for Java");
  ASSERT_TRUE(ran("javac -d " + dir.path() + " " + source));
  SpecBuilder java = sandboxed({"java", "-XX:-UsePerfData", "-Xshare:auto", "-Xmx64m", "-cp",
                                dir.path(), "Fetch", "http://web.example.org:8080/page"})
                         .input(dir.path());
  for (const auto& entry : fs::directory_iterator("/etc"))  // where Debian keeps its settings
    if (entry.path().filename().string().starts_with("java-")) java.input(entry.path());
  EXPECT_THAT(asked(java, kFiles, {dir.path()}, "other.example.org"),
              AllOf(HasSubstr("| resolve web.example.org"), Not(HasSubstr("page for"))));
  EXPECT_EQ(asked(java, kFiles, {dir.path()}, "web.example.org:8080"), "page for Java");
}

}  // namespace
}  // namespace hermetic
