// c_task REPOSITORY CACHE: tasks as a program in C uses and misuses them, in the present folder.
// Prints what does not hold, and ends with 1. tests/cli/task.bats runs it: making an environment
// takes seconds, and it has one.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "hermetic.h"

static const char* repository;
static const char* cache;

static hermetic_task* set_up(const char* more) {
  char request[8192];
  snprintf(request, sizeof request,
           "{\"task_id\": \"c\", \"repo\": \"%s\", \"cache\": \"%s\", \"seed\": 7%s}", repository,
           cache, more);
  hermetic_error* error = NULL;
  hermetic_task* task = hermetic_task_set_up(request, &error);
  explain(error);
  if (task == NULL) exit(1);
  return task;
}

// Returns what the command printed, to be freed.
static char* run_in(hermetic_task* task, const char* script) {
  const char* command[] = {"sh", "-c", script, NULL};
  hermetic_error* error = NULL;
  hermetic_spec* spec = hermetic_task_spec(task, command, &error);
  EXPECT(spec != NULL);
  hermetic_run* run = hermetic_run_start(spec, "{\"capture_bytes\": 1000}", NULL, NULL, &error);
  EXPECT(run != NULL);
  char* outcome = hermetic_run_wait(run, &error);
  EXPECT(outcome != NULL);
  explain(error);
  size_t size = 0;
  const char* output = hermetic_run_output(run, 1, &size, NULL);
  char* text = strndup(output, size);
  hermetic_string_free(outcome);
  hermetic_run_free(run);
  hermetic_spec_free(spec);
  return text;
}

static int manifest_has(hermetic_task* task, const char* what) {
  hermetic_error* error = NULL;
  char* manifest = hermetic_task_manifest(task, &error);
  explain(error);
  const int found = manifest != NULL && strstr(manifest, what) != NULL;
  if (!found) fprintf(stderr, "no %s in %s\n", what, manifest == NULL ? "NULL" : manifest);
  hermetic_string_free(manifest);
  return found;
}

static int is_there(const char* path) {
  struct stat status;
  return stat(path, &status) == 0;
}

static int refused(int result, hermetic_error* error) {
  const int invalid = result == -1 && hermetic_error_kind(error) == HERMETIC_ERROR_INVALID;
  hermetic_error_free(error);
  return invalid;
}

static void a_task_runs_is_recorded_and_gone(void) {
  hermetic_task* task = set_up("");
  EXPECT(is_there("scratch/c"));  // the control of what is gone in the end
  char* said = run_in(task, "cat file; echo $HERMETIC_SEED; echo new >new; rm gone");
  EXPECT(strcmp(said, "content\n7\n") == 0);
  free(said);
  said = run_in(task, "cat new; exit 3");  // what the first one has made is there
  EXPECT(strcmp(said, "new\n") == 0);
  free(said);
  EXPECT(manifest_has(task, "\"task_id\": \"c\""));
  EXPECT(manifest_has(task, "\"exit_code\": 3"));
  EXPECT(manifest_has(task, "\"failure\": \"command\""));
  EXPECT(manifest_has(task, "\"hermetic\": true"));
  EXPECT(manifest_has(task, "\"path\": \"new\""));
  EXPECT(manifest_has(task, "\"path\": \"gone\""));
  EXPECT(hermetic_task_clean_up(task, NULL) == 0);
  EXPECT(!is_there("scratch"));
  EXPECT(manifest_has(task, "\"left\": []"));  // it can still be read
  EXPECT(manifest_has(task, "\"path\": \"new\""));
  hermetic_error* error = NULL;
  const char* command[] = {"true", NULL};
  EXPECT(hermetic_task_spec(task, command, &error) == NULL);
  EXPECT(refused(-1, error));
  EXPECT(hermetic_task_clean_up(task, NULL) == 0);  // again
  hermetic_task_free(task);
}

static void the_caller_sees_the_worktree_if_it_wants_to(void) {
  hermetic_task* task = set_up(", \"run_id\": \"mine\"");
  free(run_in(task, "echo early >early"));
  EXPECT(is_there("scratch/c/mine") && !is_there("scratch/c/mine/worktree"));
  EXPECT(hermetic_task_show_worktree(task, NULL) == 0);
  EXPECT(is_there("scratch/c/mine/worktree/early") && is_there("scratch/c/mine/worktree/.git/HEAD"));
  FILE* file = fopen("scratch/c/mine/worktree/by-caller", "w");
  EXPECT(file != NULL && fclose(file) == 0);
  free(run_in(task, "mv by-caller moved; rm early"));
  EXPECT(is_there("scratch/c/mine/worktree/moved") && !is_there("scratch/c/mine/worktree/early"));
  EXPECT(hermetic_task_show_worktree(task, NULL) == 0);  // again
  EXPECT(!is_there("scratch/c/mine/venv"));
  EXPECT(hermetic_task_show_environment(task, 0, NULL) == 0);
  EXPECT(is_there("scratch/c/mine/venv/bin/python"));
  EXPECT(hermetic_task_clean_up(task, NULL) == 0);
  EXPECT(!is_there("scratch"));
  hermetic_error* error = NULL;
  const int late = hermetic_task_show_worktree(task, &error);
  EXPECT(refused(late, error));
  hermetic_task_free(task);
}

static void freeing_cleans_up(void) {
  hermetic_task* task = set_up("");
  EXPECT(is_there("scratch/c"));
  hermetic_task_free(task);
  EXPECT(!is_there("scratch"));
}

static void changes_are_kept(void) {
  hermetic_task* task = set_up("");
  free(run_in(task, "echo kept >new"));
  char place[4096 + 16];
  char* here = getcwd(NULL, 0);
  snprintf(place, sizeof place, "%s/kept", here);
  free(here);
  EXPECT(hermetic_task_keep_changes(task, place, NULL) == 0);
  EXPECT(is_there("kept/new") && !is_there("kept/file"));
  hermetic_error* error = NULL;
  const int again = hermetic_task_keep_changes(task, place, &error);  // it is there already
  EXPECT(again == -1 && error != NULL);
  hermetic_error_free(error);
  hermetic_task_free(task);
}

static void others_start_from_what_was_frozen(void) {
  hermetic_task* task = set_up("");
  free(run_in(task, "echo frozen >artifact"));
  EXPECT(hermetic_task_freeze(task, "of-c", NULL) == 0);
  EXPECT(hermetic_task_freeze(task, "of-c", NULL) == -1);  // that was its end
  hermetic_task_free(task);
  for (int i = 0; i < 2; ++i) {
    task = set_up(", \"from\": \"of-c\"");
    char* said = run_in(task, "cat artifact; rm artifact");
    EXPECT(strcmp(said, "frozen\n") == 0);
    free(said);
    hermetic_task_free(task);
  }
  EXPECT(!is_there("scratch"));
}

static void preparing_can_be_stopped(void) {
  char request[8192];
  snprintf(request, sizeof request, "{\"task_id\": \"c\", \"repo\": \"%s\", \"cache\": \"%s\"}",
           repository, cache);
  hermetic_error* error = NULL;
  hermetic_task* task = hermetic_task_new(request, &error);
  EXPECT(task != NULL && !is_there("scratch"));
  EXPECT(hermetic_task_manifest(task, &error) == NULL);
  EXPECT(refused(-1, error));
  EXPECT(hermetic_task_prepare(task, NULL) == 0);
  EXPECT(is_there("scratch/c"));
  const int again = hermetic_task_prepare(task, &error);  // once
  EXPECT(refused(again, error));
  hermetic_task_free(task);
  EXPECT(!is_there("scratch"));
  // Stopped before it begins; the Python package stops one from another thread.
  snprintf(request, sizeof request,
           "{\"task_id\": \"c\", \"repo\": \"%s\", \"sha\": \"HEAD~0\", \"cache\": \"%s\"}",
           repository, cache);
  task = hermetic_task_new(request, NULL);
  EXPECT(hermetic_task_stop(task, NULL) == 0);
  EXPECT(hermetic_task_prepare(task, &error) == -1 && error != NULL);
  hermetic_error_free(error);
  hermetic_task_free(task);
  EXPECT(!is_there("scratch"));
}

static void a_draft_says_what_one_command_has_besides(void) {
  hermetic_task* task = set_up("");
  hermetic_draft* draft = hermetic_draft_new(NULL);
  const char* command[] = {"sh", "-c", "echo $OWN; pwd", NULL};
  EXPECT(hermetic_draft_set_command(draft, command, NULL) == 0);
  EXPECT(hermetic_draft_set_variable(draft, "OWN", "mine", NULL) == 0);
  EXPECT(hermetic_draft_set_directory(draft, "/task/worktree/sub", NULL) == 0);
  hermetic_spec* spec = hermetic_task_spec_of(task, draft, NULL);
  hermetic_run* run = hermetic_run_start(spec, "{\"capture_bytes\": 1000}", NULL, NULL, NULL);
  hermetic_string_free(hermetic_run_wait(run, NULL));
  const char* output = hermetic_run_output(run, 1, NULL, NULL);
  EXPECT(output != NULL && strcmp(output, "mine\n/task/worktree/sub\n") == 0);
  hermetic_run_free(run);
  hermetic_spec_free(spec);
  EXPECT(manifest_has(task, "\"exit_code\": 0"));  // without being told
  char* said = run_in(task, "echo ${OWN-none}");    // the next one has its own
  EXPECT(strcmp(said, "none\n") == 0);
  free(said);
  const char* exact[] = {"A=1", NULL};
  EXPECT(hermetic_draft_set_exact_environment(draft, exact, NULL) == 0);
  hermetic_error* error = NULL;
  EXPECT(hermetic_task_spec_of(task, draft, &error) == NULL);
  EXPECT(refused(-1, error));
  hermetic_draft_free(draft);
  hermetic_task_free(task);
}

static void a_child_leaves_it_alone(void) {
  hermetic_task* task = set_up("");
  const pid_t child = fork();
  if (child == 0) {
    hermetic_error* error = NULL;
    const int cleaned = hermetic_task_clean_up(task, &error);
    const int good = refused(cleaned, error) && hermetic_task_manifest(task, NULL) == NULL;
    hermetic_task_free(task);
    _exit(good ? 0 : 1);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(is_there("scratch/c"));
  hermetic_task_free(task);
  EXPECT(!is_there("scratch"));
}

static void what_cannot_be_meant_is_refused(void) {
  const char* requests[] = {"nonsense",
                            "[]",
                            "{}",
                            "{\"task_id\": \"c\"}",
                            "{\"task_id\": \"../c\", \"repo\": \"/\"}",
                            "{\"task_id\": \"c\", \"repo\": \"/\", \"sead\": 1}"};
  for (size_t i = 0; i < sizeof requests / sizeof *requests; ++i) {
    hermetic_error* error = NULL;
    EXPECT(hermetic_task_set_up(requests[i], &error) == NULL);
    EXPECT(refused(-1, error));
  }
  hermetic_task* task = set_up("");
  hermetic_error* error = NULL;
  const char* good = "{\"ending\": \"exited\", \"exit_code\": 0, \"hermetic\": true}";
  const int too_early = hermetic_task_note(task, good, &error);  // nothing has run
  EXPECT(refused(too_early, error));
  free(run_in(task, "exit 3"));
  const char* outcomes[] = {
      "nonsense",
      "{}",
      "{\"ending\": \"over_limit\"}",
      "{\"ending\": \"over_limit\", \"exit_code\": 122, \"hermetic\": true}",
      "{\"ending\": \"over_limit\", \"exit_code\": 122, \"hermetic\": true, \"limit\": {\"which\": 5}}",
      "{\"ending\": \"exited\", \"exit_code\": null, \"hermetic\": true}"};
  for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; ++i) {
    error = NULL;
    const int noted = hermetic_task_note(task, outcomes[i], &error);
    EXPECT(refused(noted, error));
  }
  EXPECT(manifest_has(task, "\"exit_code\": 3"));
  EXPECT(hermetic_task_note(task, good, NULL) == 0);
  EXPECT(manifest_has(task, "\"failure\": \"none\""));
  hermetic_task_free(task);

  // NULL everywhere.
  EXPECT(hermetic_task_set_up(NULL, NULL) == NULL);
  EXPECT(hermetic_task_new(NULL, NULL) == NULL);
  EXPECT(hermetic_task_prepare(NULL, NULL) == -1);
  EXPECT(hermetic_task_stop(NULL, NULL) == -1);
  EXPECT(hermetic_task_spec(NULL, NULL, NULL) == NULL);
  EXPECT(hermetic_task_spec_of(NULL, NULL, NULL) == NULL);
  EXPECT(hermetic_task_note(NULL, NULL, NULL) == -1);
  EXPECT(hermetic_task_manifest(NULL, NULL) == NULL);
  EXPECT(hermetic_task_keep_changes(NULL, NULL, NULL) == -1);
  EXPECT(hermetic_task_freeze(NULL, NULL, NULL) == -1);
  EXPECT(hermetic_task_clean_up(NULL, NULL) == -1);
  hermetic_task_free(NULL);
}

int main(int count, char** words) {
  if (count != 3) return 2;
  repository = words[1];
  cache = words[2];
  a_task_runs_is_recorded_and_gone();
  the_caller_sees_the_worktree_if_it_wants_to();
  freeing_cleans_up();
  changes_are_kept();
  others_start_from_what_was_frozen();
  preparing_can_be_stopped();
  a_draft_says_what_one_command_has_besides();
  a_child_leaves_it_alone();
  what_cannot_be_meant_is_refused();
  return failures == 0 ? 0 : 1;
}
