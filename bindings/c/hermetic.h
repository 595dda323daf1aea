// hermetic.h: run commands with exactly the files, network and limits they were given, from C.
//
// The rules, which hold for every function (docs/reference/c-api.md has them with examples):
//
//   * Handles are opaque. Whoever gets one frees it with the function of its name, once; NULL may
//   be
//     freed. A handle that was freed must not be used again.
//   * A pointer result of NULL, or a negative int, is a failure. `error`, which may be NULL, then
//   gets
//     an object to be freed with hermetic_error_free(); it is set to NULL on success.
//   * A `char*` that is returned is freed with hermetic_string_free(); a `const char*` belongs to
//   its
//     handle. All are UTF-8 and end with NUL.
//   * Arguments, paths, and values of variables are bytes that end with NUL, in whatever encoding.
//     Lists of them end with NULL.
//   * No C++ exception leaves the library, and it changes no signal handler and no other setting of
//     the process.
//   * Different handles may be used by different threads at once. One handle may be used by one
//     thread at a time, but for runs: see there.
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// Of the shared object's name: libhermetic.so.0. Symbols are added, never changed, while it is the
// same.
#define HERMETIC_ABI_VERSION 0

const char* hermetic_version(void);  // of the library that was loaded, such as "0.1.0"
int hermetic_abi_version(void);

void hermetic_string_free(char* text);

// --- Errors ---

typedef struct hermetic_error hermetic_error;

enum hermetic_error_kind_value {
  HERMETIC_ERROR_NONE = 0,
  HERMETIC_ERROR_INVALID = 1,      // what was asked for cannot be meant; nothing was tried
  HERMETIC_ERROR_UNSUPPORTED = 2,  // this host cannot give a clause that the spec needs
  HERMETIC_ERROR_SYSTEM = 3,       // the operating system refused
  HERMETIC_ERROR_INTERNAL = 4      // no memory, or a bug of hermetic
};

int hermetic_error_kind(const hermetic_error* error);  // of NULL: HERMETIC_ERROR_NONE
const char* hermetic_error_message(const hermetic_error* error);
const char* hermetic_error_hint(const hermetic_error* error);    // what to do about it, or ""
const char* hermetic_error_origin(const hermetic_error* error);  // "hermetic.yaml:3:7", or ""
int hermetic_error_os_error(const hermetic_error* error);        // an errno, or 0
void hermetic_error_free(hermetic_error* error);

// --- Drafts and specs ---
//
// A draft is what has been said so far; a spec has been checked against the file system. What is
// not named in it is denied.

typedef struct hermetic_draft hermetic_draft;
typedef struct hermetic_spec hermetic_spec;

enum hermetic_tree_kind { HERMETIC_INPUT = 0, HERMETIC_OUTPUT = 1, HERMETIC_TEMP = 2 };
enum hermetic_file_type { HERMETIC_UNKNOWN = 0, HERMETIC_DIRECTORY = 1, HERMETIC_FILE = 2 };
enum hermetic_publish { HERMETIC_REPLACE = 0, HERMETIC_MERGE = 1, HERMETIC_IN_PLACE = 2 };

hermetic_draft* hermetic_draft_new(hermetic_error** error);
// A spec file, YAML or JSON, as docs/reference/spec.md describes it. `target` is NULL unless the
// file has several. "$here" stands for `here`, an absolute path, or for the folder of the file.
hermetic_draft* hermetic_draft_from_text(const char* text, size_t size, const char* file_name,
                                         const char* here, const char* target,
                                         hermetic_error** error);
hermetic_draft* hermetic_draft_from_file(const char* path, const char* target,
                                         hermetic_error** error);
// What `hermetic run` allows without a spec file: the toolchain and `directory`, in which the
// command starts, can be read, but for what the draft declares otherwise. Call it last.
int hermetic_draft_add_defaults(hermetic_draft* draft, const char* directory,
                                hermetic_error** error);
// Puts a spec file (YAML or JSON) over what was said so far.
int hermetic_draft_overlay_text(hermetic_draft* draft, const char* text, size_t size,
                                const char* file_name, const char* here, hermetic_error** error);
int hermetic_draft_set_command(hermetic_draft* draft, const char* const* command,
                               hermetic_error** error);
int hermetic_draft_set_directory(hermetic_draft* draft, const char* path, hermetic_error** error);
// `except` (or NULL) is what of the tree is not meant. `origin` (or NULL) is how messages call it.
int hermetic_draft_declare(hermetic_draft* draft, int kind, const char* path,
                           const char* const* except, int type, int publish, const char* origin,
                           hermetic_error** error);
// The tree that was declared last stands at `at` inside, and its exceptions are names there. A temp
// then starts as `path`, which stays as it is. At "/" it is the command's whole file system: an
// input as it is, a temp as a copy.
int hermetic_draft_place(hermetic_draft* draft, const char* at, hermetic_error** error);
int hermetic_draft_set_variable(hermetic_draft* draft, const char* name, const char* value,
                                hermetic_error** error);
int hermetic_draft_pass_variable(hermetic_draft* draft, const char* name, hermetic_error** error);
// Of variables, exactly these ("NAME=VALUE"): not even the built-in minimum is added.
int hermetic_draft_set_exact_environment(hermetic_draft* draft, const char* const* variables,
                                         hermetic_error** error);
void hermetic_draft_free(hermetic_draft* draft);

hermetic_spec* hermetic_spec_build(const hermetic_draft* draft, hermetic_error** error);
// Both in one: a text that is a whole spec.
hermetic_spec* hermetic_spec_from_yaml(const char* text, const char* file_name, const char* target,
                                       hermetic_error** error);
char* hermetic_spec_canonical(const hermetic_spec* spec, hermetic_error** error);  // JSON
char* hermetic_spec_digest(const hermetic_spec* spec, hermetic_error** error);     // SHA-256
void hermetic_spec_free(hermetic_spec* spec);

// docs/reference/plan.schema.json. `backend` is NULL for that of this host, or "model".
char* hermetic_plan_json(const hermetic_spec* spec, const char* backend, hermetic_error** error);
// {"backend": "linux", "clauses": [{"clause", "strength", "mechanism", "reason", "remedy"}…]}
char* hermetic_capabilities_json(hermetic_error** error);

// --- Runs ---
//
// A run makes progress, keeps its limits and ends while some thread is in hermetic_run_wait(): call
// that soon after the start, in a thread of its own if the caller has other things to do. It may be
// another thread than the one that started it. signal, kill, snapshot and wait may be called from
// any thread at any time until the run is freed, also while another thread waits. A child that
// fork() made of this process may use none of its parent's runs: they fail there, and freeing does
// nothing.

typedef struct hermetic_run hermetic_run;

// A line of the events file (docs/reference/events.md), without its newline. Called by the thread
// that waits, only while it waits; it must return soon, because limits wait for it. It may signal
// and kill the run and look at its usage. `json` is gone when it returns.
typedef void (*hermetic_event_callback)(void* user_data, const char* json, size_t size);

// `options` is NULL or a JSON object, see docs/reference/c-api.md#options. `callback` may be NULL.
hermetic_run* hermetic_run_start(const hermetic_spec* spec, const char* options,
                                 hermetic_event_callback callback, void* user_data,
                                 hermetic_error** error);
// docs/reference/outcome.schema.json. A command that fails is no error. Once the run has ended
// every call gives the same.
char* hermetic_run_wait(hermetic_run* run, hermetic_error** error);
// What was captured, if the options asked for it, after hermetic_run_wait(); `stream` is 1 or 2.
// Belongs to the run. NULL if there is nothing; *truncated says whether more was written.
const char* hermetic_run_output(const hermetic_run* run, int stream, size_t* size, int* truncated);
// To the command. 1: sent; 0: nobody is left to get it.
int hermetic_run_signal(hermetic_run* run, int number, hermetic_error** error);
// Ends every process of the run; hermetic_run_wait() then returns soon.
int hermetic_run_kill(hermetic_run* run, hermetic_error** error);
// What was used so far: "usage" of the outcome.
char* hermetic_run_snapshot(hermetic_run* run, hermetic_error** error);
// Kills what is left of the run, waits for that and for a thread that is in hermetic_run_wait().
void hermetic_run_free(hermetic_run* run);

// --- Tasks ---
//
// A fresh worktree of a commit and a fresh Python environment, for any number of runs one after the
// other; gone when the task is freed. docs/guide/tasks.md says what commands find in it. A child
// that fork() made of this process may use none of its parent's tasks: they fail there, and freeing
// does nothing.

typedef struct hermetic_task hermetic_task;

// `request` is a JSON object, see docs/reference/c-api.md#tasks.
hermetic_task* hermetic_task_set_up(const char* request, hermetic_error** error);
// The same in two steps, of which the second can take seconds and be ended by another thread: it
// then fails soon, and nothing is left but the handle, which is freed as always.
hermetic_task* hermetic_task_new(const char* request, hermetic_error** error);
int hermetic_task_prepare(hermetic_task* task, hermetic_error** error);
int hermetic_task_stop(hermetic_task* task, hermetic_error** error);  // from any thread
// What a command of the task is given, for hermetic_run_start(). It sees what earlier ones changed,
// and is in the manifest with all that becomes of it.
hermetic_spec* hermetic_task_spec(hermetic_task* task, const char* const* command,
                                  hermetic_error** error);
// The same with more: the draft has the command, and what it may use, know or where it starts
// besides what the task gives to all its commands.
hermetic_spec* hermetic_task_spec_of(hermetic_task* task, const hermetic_draft* draft,
                                     hermetic_error** error);
// Says how the last command of the task has ended, where its caller knows better: `outcome` has the
// keys of what hermetic_run_wait() gives. Without it, what that gave stands.
int hermetic_task_note(hermetic_task* task, const char* outcome, hermetic_error** error);
// docs/reference/task-manifest.md, as far as it is known by now.
char* hermetic_task_manifest(hermetic_task* task, hermetic_error** error);
// Makes the worktree a real directory of the host, at the "worktree_path" of the manifest, with a
// repository of its own in which the caller can use git. Nothing is there before. What the caller
// changes in it the next command sees, and the other way round, but for what git keeps. Refused
// while a run of the task is under way.
int hermetic_task_show_worktree(hermetic_task* task, hermetic_error** error);
// Makes the environment, as it was before any command, a real directory of the host, at the
// "venv_path". `network`: 0 if its interpreter is started without one, which is all that it is kept
// from.
int hermetic_task_show_environment(hermetic_task* task, int network, hermetic_error** error);
// Keeps the changes of the worktree in a directory that is not there yet. Refused while a run of
// the task is under way, as is the next.
int hermetic_task_keep_changes(hermetic_task* task, const char* directory, hermetic_error** error);
// Freezes what was made so far under a name, for the "from" of other requests. Ends the task.
int hermetic_task_freeze(hermetic_task* task, const char* name, hermetic_error** error);
// Removes everything on the host; the manifest says what. No run of it may be under way. If what
// was changed cannot be read it is removed all the same; that is the error, also of the manifest.
int hermetic_task_clean_up(hermetic_task* task, hermetic_error** error);
void hermetic_task_free(hermetic_task* task);  // and cleans up

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
