// The C ABI as a program in C uses and misuses it. Prints what does not hold, and ends with 1.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "hermetic.h"

static hermetic_spec* spec_of(const char* script) {
  const char* command[] = {"sh", "-c", script, NULL};
  hermetic_error* error = NULL;
  hermetic_draft* draft = hermetic_draft_new(&error);
  EXPECT(hermetic_draft_set_command(draft, command, &error) == 0);
  EXPECT(hermetic_draft_add_defaults(draft, "/", &error) == 0);
  hermetic_spec* spec = hermetic_spec_build(draft, &error);
  explain(error);
  hermetic_draft_free(draft);
  return spec;
}

static hermetic_run* started(const char* script, const char* options,
                             hermetic_event_callback callback, void* user_data) {
  hermetic_error* error = NULL;
  hermetic_spec* spec = spec_of(script);
  hermetic_run* run = hermetic_run_start(spec, options, callback, user_data, &error);
  EXPECT(run != NULL);
  if (run == NULL) {
    explain(error);
    exit(1);
  }
  hermetic_spec_free(spec);  // the run does not need it
  return run;
}

static int ends_with(hermetic_run* run, const char* what) {
  hermetic_error* error = NULL;
  char* outcome = hermetic_run_wait(run, &error);
  explain(error);
  const int found = outcome != NULL && strstr(outcome, what) != NULL;
  if (!found) fprintf(stderr, "no %s in %s\n", what, outcome == NULL ? "NULL" : outcome);
  hermetic_string_free(outcome);
  return found;
}

static int open_descriptors(void) {
  int count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count;
}

static void places_what_was_declared(void) {
  hermetic_error* error = NULL;
  hermetic_draft* draft = hermetic_draft_new(&error);
  const char* command[] = {"true", NULL};
  EXPECT(hermetic_draft_set_command(draft, command, NULL) == 0);
  EXPECT(hermetic_draft_declare(draft, HERMETIC_INPUT, "/usr", NULL, 0, 0, NULL, NULL) == 0);
  EXPECT(hermetic_draft_place(draft, "/opt/usr", NULL) == 0);
  EXPECT(hermetic_draft_declare(draft, HERMETIC_TEMP, "/etc", NULL, 0, 0, NULL, NULL) == 0);
  EXPECT(hermetic_draft_place(draft, "/opt/etc", NULL) == 0);
  hermetic_spec* spec = hermetic_spec_build(draft, &error);
  EXPECT(spec != NULL);
  char* text = hermetic_spec_canonical(spec, NULL);
  EXPECT(text != NULL && strstr(text, "{\"at\":\"/opt/usr\",\"path\":\"/usr\"}") != NULL);
  EXPECT(text != NULL && strstr(text, "\"at\":\"/opt/etc\",\"over\":[\"/etc\"]") != NULL);
  hermetic_string_free(text);
  hermetic_spec_free(spec);
  hermetic_draft_free(draft);
}

static void captures_what_is_written(void) {
  hermetic_run* run =
      started("printf 'a\\0b'; echo 123456789 >&2; exit 3", "{\"capture_bytes\": 5}", NULL, NULL);
  size_t size = 99;
  int truncated = 99;
  EXPECT(hermetic_run_output(run, 1, &size, &truncated) == NULL);  // it has not ended
  EXPECT(size == 0 && truncated == 0);
  EXPECT(ends_with(run, "\"exit_code\": 3"));
  EXPECT(ends_with(run, "\"exit_code\": 3"));  // again
  const char* output = hermetic_run_output(run, 1, &size, &truncated);
  EXPECT(size == 3 && truncated == 0 && memcmp(output, "a\0b", 3) == 0);
  output = hermetic_run_output(run, 2, &size, &truncated);
  EXPECT(size == 5 && truncated == 1 && memcmp(output, "12345", 5) == 0);
  EXPECT(hermetic_run_output(run, 1, NULL, NULL) != NULL);
  EXPECT(hermetic_run_output(run, 0, &size, &truncated) == NULL);
  hermetic_run_free(run);
}

struct heard {
  hermetic_run* run;
  int events;
  int ended;
  int refused;
};

static void hear(void* user_data, const char* json, size_t size) {
  struct heard* heard = user_data;
  EXPECT(strlen(json) == size && json[0] == '{' && json[size - 1] == '}');
  ++heard->events;
  if (strstr(json, "\"kind\":\"ended\"") != NULL) ++heard->ended;
  if (heard->run == NULL || heard->events != 1) return;
  hermetic_error* error = NULL;
  EXPECT(hermetic_run_wait(heard->run, &error) == NULL);  // it would wait for itself
  heard->refused = hermetic_error_kind(error) == HERMETIC_ERROR_INVALID;
  hermetic_error_free(error);
  char* usage = hermetic_run_snapshot(heard->run, NULL);
  EXPECT(usage != NULL);
  hermetic_string_free(usage);
  EXPECT(hermetic_run_kill(heard->run, NULL) == 0);
}

static void tells_events_to_who_waits(void) {
  struct heard heard = {NULL, 0, 0, 0};
  hermetic_run* run = started("true", NULL, hear, &heard);
  EXPECT(heard.events == 0);  // nobody waits yet
  EXPECT(ends_with(run, "\"exit_code\": 0"));
  EXPECT(heard.events >= 6 && heard.ended == 1);
  hermetic_run_free(run);
}

static void a_callback_may_end_its_run_and_not_wait_for_it(void) {
  struct heard heard = {NULL, 0, 0, 0};
  hermetic_run* run = started("sleep 1000", NULL, hear, &heard);
  heard.run = run;
  EXPECT(ends_with(run, "\"signal\": 9"));
  EXPECT(heard.refused);
  hermetic_run_free(run);
}

static void free_it(void* user_data, const char* json, size_t size) {
  (void)json;
  (void)size;
  hermetic_run** run = user_data;
  if (*run != NULL) hermetic_run_free(*run);
  *run = NULL;
}

static void a_callback_may_free_its_run(void) {
  hermetic_run* run = NULL;
  run = started("sleep 1000", NULL, free_it, &run);
  hermetic_run* waited = run;
  char* outcome = hermetic_run_wait(waited, NULL);
  EXPECT(outcome != NULL && strstr(outcome, "\"signal\": 9") != NULL);
  hermetic_string_free(outcome);
}

static void begin(void* user_data, const char* json, size_t size) {
  (void)json;
  (void)size;
  sem_post(user_data);
}

static void* wait_in_thread(void* run) {
  char* outcome = hermetic_run_wait(run, NULL);
  const int killed = outcome != NULL && strstr(outcome, "\"signal\": 9") != NULL;
  hermetic_string_free(outcome);
  return killed ? run : NULL;
}

static void threads_may_wait_kill_and_look(void) {
  enum { kThreads = 4 };
  hermetic_run* run = started("sleep 1000", NULL, NULL, NULL);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, wait_in_thread, run);
  for (int i = 0; i < 20; ++i) hermetic_string_free(hermetic_run_snapshot(run, NULL));
  EXPECT(hermetic_run_signal(run, SIGCONT, NULL) == 1);
  EXPECT(hermetic_run_kill(run, NULL) == 0);
  for (int i = 0; i < kThreads; ++i) {
    void* killed = NULL;
    pthread_join(threads[i], &killed);
    EXPECT(killed == run);
  }
  EXPECT(hermetic_run_signal(run, SIGCONT, NULL) == 0);
  char* usage = hermetic_run_snapshot(run, NULL);
  EXPECT(usage != NULL && strstr(usage, "wall_time_us") != NULL);
  hermetic_string_free(usage);
  hermetic_run_free(run);
}

static void freeing_waits_for_who_waits(void) {
  sem_t begun;
  sem_init(&begun, 0, 0);
  hermetic_run* run = started("sleep 1000", NULL, begin, &begun);
  pthread_t thread;
  pthread_create(&thread, NULL, wait_in_thread, run);
  sem_wait(&begun);
  hermetic_run_free(run);
  void* killed = NULL;
  pthread_join(thread, &killed);
  EXPECT(killed == run);
  sem_destroy(&begun);
}

static void freeing_ends_the_run(void) {
  int ends[2];
  EXPECT(pipe(ends) == 0);
  char options[64];
  snprintf(options, sizeof options, "{\"stdout\": %d, \"stdin\": -1}", ends[1]);
  hermetic_run* run = started("echo begun; sleep 1000", options, NULL, NULL);
  close(ends[1]);
  char text[8] = "";
  EXPECT(read(ends[0], text, sizeof text) == 6);
  hermetic_run_free(run);
  EXPECT(read(ends[0], text, sizeof text) == 0);  // nobody is left who could write
  close(ends[0]);
}

static void a_forked_child_cannot_touch_it(void) {
  hermetic_run* run = started("sleep 1000", NULL, NULL, NULL);
  const pid_t child = fork();
  if (child == 0) {
    hermetic_error* error = NULL;
    int right = hermetic_run_kill(run, &error) == -1 &&
                hermetic_error_kind(error) == HERMETIC_ERROR_INVALID;
    hermetic_error_free(error);
    right = right && hermetic_run_wait(run, NULL) == NULL &&
            hermetic_run_signal(run, SIGKILL, NULL) == -1 &&
            hermetic_run_snapshot(run, NULL) == NULL;
    hermetic_run_free(run);
    _exit(right ? 0 : 1);
  }
  int status = -1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  EXPECT(hermetic_run_signal(run, SIGCONT, NULL) == 1);  // it is there
  hermetic_run_free(run);
}

static void errors_say_what_and_where(void) {
  hermetic_error* error = NULL;
  EXPECT(hermetic_spec_from_yaml("version: 1\ninptus: []\n", "mine.yaml", NULL, &error) == NULL);
  EXPECT(hermetic_error_kind(error) == HERMETIC_ERROR_INVALID);
  EXPECT(strcmp(hermetic_error_origin(error), "mine.yaml:2:1") == 0);
  EXPECT(strstr(hermetic_error_message(error), "inptus") != NULL);
  EXPECT(strstr(hermetic_error_hint(error), "inputs") != NULL);
  hermetic_error_free(error);
  EXPECT(hermetic_draft_from_file("/nonexistent", NULL, &error) == NULL);
  EXPECT(hermetic_error_os_error(error) == ENOENT);
  hermetic_error_free(error);
  EXPECT(hermetic_spec_build(NULL, &error) == NULL);
  EXPECT(hermetic_error_kind(error) == HERMETIC_ERROR_INVALID);
  hermetic_error_free(error);

  hermetic_draft* draft = hermetic_draft_new(&error);
  EXPECT(error == NULL);
  EXPECT(hermetic_draft_declare(draft, 7, "/usr", NULL, 0, 0, NULL, NULL) == -1);
  EXPECT(hermetic_draft_declare(draft, HERMETIC_INPUT, "/usr", NULL, -1, 0, NULL, NULL) == -1);
  EXPECT(hermetic_draft_declare(draft, HERMETIC_INPUT, "/usr", NULL, 0, 3, NULL, NULL) == -1);
  EXPECT(hermetic_draft_declare(draft, HERMETIC_INPUT, NULL, NULL, 0, 0, NULL, NULL) == -1);
  EXPECT(hermetic_draft_place(draft, "/w", NULL) == -1);  // nothing was declared
  EXPECT(hermetic_draft_declare(draft, HERMETIC_INPUT, "/usr", NULL, 0, 0, NULL, NULL) == 0);
  EXPECT(hermetic_draft_place(draft, NULL, NULL) == -1);
  const char* variables[] = {"no value", NULL};
  EXPECT(hermetic_draft_set_exact_environment(draft, variables, NULL) == -1);
  hermetic_draft_free(draft);

  // NULL everywhere.
  hermetic_error_free(NULL);
  hermetic_draft_free(NULL);
  hermetic_spec_free(NULL);
  hermetic_run_free(NULL);
  hermetic_string_free(NULL);
  EXPECT(hermetic_error_kind(NULL) == HERMETIC_ERROR_NONE);
  EXPECT(strcmp(hermetic_error_message(NULL), "") == 0);
  EXPECT(hermetic_run_output(NULL, 1, NULL, NULL) == NULL);
  EXPECT(hermetic_run_wait(NULL, NULL) == NULL && hermetic_run_kill(NULL, NULL) == -1);
}

static void describes_itself(void) {
  EXPECT(hermetic_abi_version() == HERMETIC_ABI_VERSION);
  EXPECT(strchr(hermetic_version(), '.') != NULL);
  char* capabilities = hermetic_capabilities_json(NULL);
  EXPECT(capabilities != NULL && strstr(capabilities, "\"no-network\"") != NULL);
  hermetic_string_free(capabilities);
  hermetic_spec* spec = spec_of("true");
  char* plan = hermetic_plan_json(spec, NULL, NULL);
  EXPECT(plan != NULL && strstr(plan, "\"view\"") != NULL);
  hermetic_string_free(plan);
  EXPECT(hermetic_plan_json(spec, "nonsense", NULL) == NULL);
  char* digest = hermetic_spec_digest(spec, NULL);
  EXPECT(digest != NULL && strlen(digest) >= 64);
  hermetic_string_free(digest);
  hermetic_spec_free(spec);
}

int main(void) {
  describes_itself();
  const int before = open_descriptors();
  places_what_was_declared();
  captures_what_is_written();
  tells_events_to_who_waits();
  a_callback_may_end_its_run_and_not_wait_for_it();
  a_callback_may_free_its_run();
  threads_may_wait_kill_and_look();
  freeing_waits_for_who_waits();
  freeing_ends_the_run();
  a_forked_child_cannot_touch_it();
  errors_say_what_and_where();
  EXPECT(open_descriptors() == before);
  return failures == 0 ? 0 : 1;
}
