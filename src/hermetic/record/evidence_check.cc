#include "hermetic/record/evidence_check.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "hermetic/base/digest.h"
#include "hermetic/base/text.h"
#include "hermetic/record/bounded_json.h"
#include "hermetic/record/canonical_json.h"
#include "hermetic/record/dsse.h"
#include "hermetic/record/evidence_folder.h"

namespace hermetic {
namespace {

using nlohmann::json;
using Files = std::map<std::string, Subject>;

constexpr std::string_view kProvenance = "https://slsa.dev/provenance/v1";
constexpr std::string_view kTrace = "https://in-toto.io/attestation/runtime-trace/v0.1";
constexpr std::string_view kTestResult = "https://in-toto.io/attestation/test-result/v0.1";
constexpr std::string_view kEvidence = "urn:hermetic:evidence:v1";

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
    if (!stable) return;
    check_conclusion(*stable);
    if (check_.stable_file == kManifestFile)
      check_manifest(check_.stable_file, *stable);
    else
      check_steps(*stable);
    check_counts();
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
    json document = parse_bounded_json(*text);
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
    if (!text->ends_with('\n')) return fail("{} has no complete line", name);
    std::string_view rest = *text;
    for (std::size_t number = 1; !rest.empty(); ++number) {
      const std::size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end + 1);
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
    const json statement = parse_bounded_json(opened->payload);
    constexpr std::size_t kMembers = 4;
    const bool known = statement.is_object() && statement.size() == kMembers &&
                       statement.value("_type", json()) == "https://in-toto.io/Statement/v1" &&
                       statement.value("subject", json()).is_array() &&
                       statement.value("predicate", json()).is_object() &&
                       statement.value("predicateType", json()).is_string();
    if (!known) return fail("{}: it is not an in-toto statement of version 1", source);
    if (!only_integers(statement) || canonical_json(statement) != opened->payload)
      return fail("{}: its payload is not canonical JSON (RFC 8785)", source);
    check_meaning(statement, source, binds_list);
  }

  // Who is it about, and does it stand where hermetic puts such a statement?
  void check_meaning(const json& statement, const std::string& source, bool binds_list) {
    std::set<std::string> about;
    for (const json& subject : statement["subject"]) check_subject(subject, source, about);
    const auto type = statement["predicateType"].get<std::string>();
    const json& predicate = statement["predicate"];
    if (binds_list != (type == kEvidence))
      return fail("{}: a statement of the type '{}' does not belong there", source,
                  printable(type));
    if (type == kEvidence) {
      if (about != std::set{check_.stable_file, std::string(kVolatileFile)})
        return fail("{}: it is not about {} and {}", source, check_.stable_file, kVolatileFile);
      ++counts_[{type, check_.stable_file}];
    } else if (type == kTestResult) {
      if (!about.contains(check_.stable_file))
        return fail("{}: it is not about {}", source, check_.stable_file);
      ++counts_[{type, check_.stable_file}];
      result_ = predicate;
    } else if (type == kProvenance || type == kTrace) {
      // Of what it names, outputs lie elsewhere; the first is the manifest.
      const json first = statement["subject"].empty() ? json() : statement["subject"].front();
      if (about.size() != 1 || !first.is_object() || first.value("name", json()) != *about.begin())
        return fail("{}: it is not about a manifest", source);
      ++counts_[{type, *about.begin()}];
      if (type == kProvenance) provenance_[*about.begin()] = predicate;
    } else {
      fail("{}: a statement of the type '{}' is not known", source, printable(type));
    }
  }

  void check_subject(const json& subject, const std::string& source, std::set<std::string>& about) {
    if (!subject.is_object() || !subject.value("name", json()).is_string() ||
        !subject.value("digest", json()).is_object())
      return fail("{}: a subject has no name or digest", source);
    const std::string name = subject["name"];
    const auto found = files_.find(name);
    if (found == files_.end()) return;  // an output, which lies elsewhere
    if (subject["digest"].value("sha256", json()) != found->second.digest)
      return fail("{}: {} is not the file that it is about", source, printable(name));
    about.insert(name);
  }

  // What the statements conclude is what the stable part says.
  void check_conclusion(const json& stable) {
    const bool run = check_.stable_file == kManifestFile;
    if (stable.value("type", json()) != (run ? "hermetic.run" : "hermetic.gate"))
      fail("{} is not of the type that its name says", check_.stable_file);
    const json passed = run ? stable.value("passed", json()) : stable.value("verdict", json());
    const bool success = run ? passed == json(true) : passed == json("pass");
    const json result = result_.is_object() ? result_.value("result", json()) : json();
    if (!result.is_string()) return fail("no statement says how it ended (test-result)");
    if (result != "PASSED" && result != "WARNED" && result != "FAILED")
      fail("the attested result is none: {}", printable(result.get<std::string>()));
    if ((result != "FAILED") != success)
      fail("the attested result is {}, which {} does not say", printable(result.get<std::string>()),
           check_.stable_file);
  }

  // What a manifest says about itself, and what its provenance says about it.
  void check_manifest(const std::string& name, const json& manifest) {
    manifests_.insert(name);
    const json result = manifest.value("result", json());
    const json code = result.is_object() ? result.value("exit_code", json()) : json();
    if (!code.is_number_integer() || manifest.value("passed", json()) != json(code == 0))
      fail("{} contradicts itself: whether it passed is not what its result says", printable(name));
    const auto found = provenance_.find(name);
    if (found == provenance_.end()) return;  // counted elsewhere
    const json pointer = found->second;
    const auto at = [&](const char* path) {
      const json::json_pointer place(path);
      return pointer.contains(place) ? pointer.at(place) : json();
    };
    const json assurance = manifest.value("assurance", json());
    if (!assurance.is_string() ||
        at("/runDetails/builder/id") !=
            fmt::format("urn:hermetic:builder:{}:v1", assurance.get<std::string>()))
      fail("the builder of {} is not that of its assurance", printable(name));
    if (at("/runDetails/metadata/invocationId") != "sha256:" + files_.at(name).digest)
      fail("the provenance of {} is of another run", printable(name));
  }

  // Every step of a gate has left a manifest that says the same as the report.
  void check_steps(const json& report) {
    const json steps = report.value("steps", json());
    if (!steps.is_array() || steps.empty()) return fail("{} has no steps", kReportFile);
    std::string worst = "pass";
    std::set<std::string> ids;
    for (const json& step : steps) {
      const json id = step.is_object() ? step.value("id", json()) : json();
      const json verdict = step.is_object() ? step.value("verdict", json()) : json();
      if (!id.is_string() || !verdict.is_string() || !ids.insert(id).second)
        return fail("{} has a step without an id of its own or a verdict", kReportFile);
      if (verdict == "error")
        worst = "error";
      else if (verdict != "pass" && worst == "pass")
        worst = "fail";
      check_step(step, id, verdict);
    }
    if (report.value("verdict", json()) != worst)
      fail("{} contradicts itself: its verdict is not that of its steps", kReportFile);
    for (const auto& [name, file] : files_)
      if (name.ends_with(fmt::format("/{}", kManifestFile)) && !manifests_.contains(name))
        fail("{} belongs to no step", printable(name));
    check_named_steps(steps);
  }

  void check_step(const json& step, const std::string& id, const std::string& verdict) {
    const std::string name = fmt::format("logs/{}/{}", id, kManifestFile);
    const json digest = step.value("manifest", json());
    if (digest.is_null()) {
      // One that was not run proves nothing.
      if (verdict == "pass") fail("the step {} has passed without a manifest", printable(id));
      return;
    }
    const auto found = files_.find(name);
    if (found == files_.end() || digest != "sha256:" + found->second.digest)
      return fail("{} is not the manifest that {} names", printable(name), kReportFile);
    const std::optional<json> manifest = canonical_file(name);
    if (!manifest) return;
    check_manifest(name, *manifest);
    if (manifest->value("passed", json()) != json(verdict == "pass") ||
        manifest->value("assurance", json()) != step.value("assurance", json()))
      fail("{} does not say what {} says of its step", printable(name), kReportFile);
  }

  void check_named_steps(const json& steps) {
    if (!result_.is_object()) return;
    std::set<std::string> passed;
    std::set<std::string> failed;
    for (const json& step : steps)
      (step["verdict"] == "pass" ? passed : failed).insert(step["id"].get<std::string>());
    const auto names = [&](std::initializer_list<const char*> lists) {
      std::set<std::string> found;
      for (const char* list : lists)
        for (const json& name : result_.value(list, json::array()))
          found.insert(name.is_string() ? name.get<std::string>() : "");
      return found;
    };
    if (names({"passedTests", "warnedTests"}) != passed || names({"failedTests"}) != failed)
      fail("the attested steps are not those of {}", kReportFile);
  }

  // Nothing of what hermetic states is left out or said twice.
  void check_counts() {
    const auto once = [&](std::string_view type, const std::string& name) {
      const auto found = counts_.find({std::string(type), name});
      const std::size_t count = found == counts_.end() ? 0 : found->second;
      if (count != 1)
        fail("there are {} statements of the type {} about {}, not one", count, type,
             printable(name));
      if (found != counts_.end()) counts_.erase(found);
    };
    once(kEvidence, check_.stable_file);
    once(kTestResult, check_.stable_file);
    for (const std::string& name : manifests_) {
      once(kProvenance, name);
      once(kTrace, name);
    }
    for (const auto& [statement, count] : counts_)
      fail("a statement of the type {} is about {}, which is no run", statement.first,
           printable(statement.second));
  }

  std::string folder_;
  const Files& files_;
  const PublicKey* key_;
  EvidenceCheck& check_;
  json result_;                             // the predicate of the test-result
  std::map<std::string, json> provenance_;  // by manifest
  std::map<std::pair<std::string, std::string>, std::size_t> counts_;  // type and what it is about
  std::set<std::string> manifests_;
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
  return readable_json(document);
}

}  // namespace hermetic
