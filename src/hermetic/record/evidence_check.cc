#include "hermetic/record/evidence_check.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "hermetic/base/digest.h"
#include "hermetic/base/text.h"
#include "hermetic/record/canonical_json.h"
#include "hermetic/record/dsse.h"
#include "hermetic/record/evidence_folder.h"

namespace hermetic {
namespace {

using nlohmann::json;
using Files = std::map<std::string, Subject>;

bool only_integers(const json& value) {
  if (value.is_number_float()) return false;
  if (!value.is_structured()) return true;
  for (const json& element : value)
    if (!only_integers(element)) return false;
  return true;
}

class Checker {
 public:
  Checker(std::string folder, const Files& files, const PublicKey* key, EvidenceCheck& check)
      : folder_(std::move(folder)), files_(files), key_(key), check_(check) {}

  void run() {
    check_.files = files_.size();
    check_.key_was_given = key_ != nullptr;
    for (const std::string_view name : {kManifestFile, kReportFile})
      if (files_.contains(std::string(name)) && check_.stable_file.empty())
        check_.stable_file = name;
    if (check_.stable_file.empty()) {
      fail("there is neither a {} nor a {}: this is no evidence", kManifestFile, kReportFile);
      return;
    }
    check_.stable_digest = files_.at(check_.stable_file).digest;
    const std::optional<json> stable = canonical_file(check_.stable_file);
    const std::optional<json> list = canonical_file(std::string(kVolatileFile));
    if (list) check_list(*list);
    check_attestations(std::string(kAttestationsFile));
    check_attestations(std::string(kVolatileAttestationFile));
    if (stable) check_conclusion(*stable);
  }

 private:
  template <class... Words>
  void fail(fmt::format_string<Words...> format, Words&&... words) {
    check_.failures.push_back(fmt::format(format, std::forward<Words>(words)...));
  }

  std::optional<std::string> text_of(const std::string& name) {
    if (!files_.contains(name)) {
      fail("{} is missing", name);
      return std::nullopt;
    }
    Result<std::string> text = read_whole_file(folder_ + "/" + name);
    if (!text) {
      fail("{}", text.error().message);
      return std::nullopt;
    }
    // It is read a second time: what is judged must be what was hashed.
    if (sha256(*text) != files_.at(name).digest) {
      fail("{} changes while it is checked", name);
      return std::nullopt;
    }
    return std::move(*text);
  }

  // What is not in the one form that its digest stands for was not written by hermetic.
  std::optional<json> canonical_file(const std::string& name) {
    const std::optional<std::string> text = text_of(name);
    if (!text) return std::nullopt;
    json document = json::parse(*text, nullptr, false);
    if (!document.is_object() || !only_integers(document) || canonical_json(document) != *text) {
      fail("{} is not canonical JSON (RFC 8785)", name);
      return std::nullopt;
    }
    return document;
  }

  void check_list(const json& list) {
    if (list.value("stable_digest", json()) != "sha256:" + check_.stable_digest)
      fail("{} was changed: its digest is not the one in {}", check_.stable_file, kVolatileFile);
    const json& listed = list.contains("files") ? list["files"] : json::object();
    if (!listed.is_object()) return fail("{} lists no files", kVolatileFile);
    for (const auto& [name, digest] : listed.items()) {
      const auto found = files_.find(name);
      if (found == files_.end())
        fail("{} is missing", printable(name));
      else if (digest != "sha256:" + found->second.digest)
        fail("{} was changed: its digest is not the one in {}", printable(name), kVolatileFile);
    }
    for (const auto& [name, file] : files_)
      if (!listed.contains(name) && name != kVolatileFile && name != kVolatileAttestationFile)
        fail("{} was added: it is not in {}", printable(name), kVolatileFile);
  }

  void check_attestations(const std::string& name) {
    const std::optional<std::string> text = text_of(name);
    if (!text) return;
    std::string_view rest = *text;
    for (std::size_t number = 1; !rest.empty(); ++number) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      check_statement(line, fmt::format("{}:{}", name, number), name == kVolatileAttestationFile);
    }
  }

  void check_statement(std::string_view line, const std::string& source, bool binds_list) {
    const Result<OpenedEnvelope> opened = open_envelope(line, source);
    if (!opened) return fail("{}", opened.error().message);
    ++check_.statements;
    if (opened->signatures.empty()) ++check_.unsigned_statements;
    for (const OpenedEnvelope::Signature& signature : opened->signatures)
      check_.signers.insert(printable(signature.key_id));
    if (key_ != nullptr && !opened->is_signed_by(*key_))
      fail("{}: it is not signed by the key {}", source, key_->id());
    if (opened->type != kInTotoType) fail("{}: it is not an in-toto statement", source);
    const json statement = json::parse(opened->payload, nullptr, false);
    const bool known = statement.is_object() &&
                       statement.value("_type", json()) == "https://in-toto.io/Statement/v1" &&
                       statement.value("subject", json()).is_array() &&
                       statement.value("predicate", json()).is_object() &&
                       statement.value("predicateType", json()).is_string();
    if (!known) return fail("{}: it is not an in-toto statement of version 1", source);
    bool about_stable = false;
    bool about_list = false;
    for (const json& subject : statement["subject"])
      check_subject(subject, source, about_stable, about_list);
    if (binds_list && (!about_stable || !about_list))
      fail("{}: it is not about {} and {}", source, check_.stable_file, kVolatileFile);
    if (statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1") {
      if (!about_stable) fail("{}: it is not about {}", source, check_.stable_file);
      result_ = statement["predicate"].value("result", json());
    }
  }

  void check_subject(const json& subject, const std::string& source, bool& about_stable,
                     bool& about_list) {
    if (!subject.is_object() || !subject.value("name", json()).is_string() ||
        !subject.value("digest", json()).is_object())
      return fail("{}: a subject has no name or digest", source);
    const std::string name = subject["name"];
    const auto found = files_.find(name);
    if (found == files_.end()) return;  // an output, which lies elsewhere
    if (subject["digest"].value("sha256", json()) != found->second.digest)
      return fail("{}: {} is not the file that it is about", source, printable(name));
    about_stable = about_stable || name == check_.stable_file;
    about_list = about_list || name == kVolatileFile;
  }

  // What the statements conclude is what the stable part says.
  void check_conclusion(const json& stable) {
    const bool run = check_.stable_file == kManifestFile;
    const json passed = run ? stable.value("passed", json()) : stable.value("verdict", json());
    const bool success = run ? passed == json(true) : passed == json("pass");
    if (!result_.is_string()) return fail("no statement says how it ended (test-result)");
    if ((result_ != "FAILED") != success)
      fail("the attested result is {}, which {} does not say", result_.get<std::string>(),
           check_.stable_file);
  }

  std::string folder_;
  const Files& files_;
  const PublicKey* key_;
  EvidenceCheck& check_;
  json result_;
};

}  // namespace

Result<EvidenceCheck> check_evidence(const std::string& folder, const PublicKey* key) {
  const Files files = TRY(files_in(folder));
  EvidenceCheck check;
  Checker(folder, files, key, check).run();
  return check;
}

std::string check_as_json(const EvidenceCheck& check) {
  const json document = {{"version", 1},
                         {"holds", check.failures.empty()},
                         {"failures", check.failures},
                         {"identity", "sha256:" + check.stable_digest},
                         {"files", check.files},
                         {"statements", check.statements},
                         {"unsigned_statements", check.unsigned_statements},
                         {"signers", check.signers},
                         {"signatures_checked", check.key_was_given}};
  constexpr int kIndent = 2;
  return document.dump(kIndent) + "\n";
}

}  // namespace hermetic
