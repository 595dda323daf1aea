"""What the caller sees of a task: real directories, in which nothing of the source is within reach of a tool, and
nothing of a command's making is run by one."""

import os
import pathlib
import shutil
import stat
import subprocess

import pytest

import hermetic


def git(where, *words, check=True, env=None):
    identity = ["-c", "user.name=caller", "-c", "user.email=caller@localhost"]
    return subprocess.run(["git", "-C", str(where), *identity, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=check, env={**os.environ, **(env or {})})


@pytest.fixture
def inside(task, repository, monkeypatch):
    """A task whose scratch folder lies in the repository, as it does by default."""
    monkeypatch.chdir(repository)
    return task


def state_of(folder):
    """Every file with its content and times."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ctime_ns, content)
    return found


def test_commits_of_the_caller_do_not_reach_the_source(inside, repository):
    before = state_of(repository / ".git")
    with inside() as run:
        (run.worktree_path / "changed.txt").write_text("mine\n")
        git(run.worktree_path, "add", "-A")
        git(run.worktree_path, "commit", "-qm", "mine")
        git(run.worktree_path, "branch", "mine")
        assert git(run.worktree_path, "log", "--format=%s").stdout.split() == ["mine", "one"]
        assert git(run.worktree_path, "gc", "-q").returncode == 0
    assert state_of(repository / ".git") == before


def test_no_path_of_a_run_leads_a_tool_to_the_source(inside, repository):
    before = state_of(repository / ".git")
    with inside() as run:
        run.run(["sh", "-c", "echo >new"], check=True)  # the worktree was not asked for
        assert not (run.scratch_base / "worktree").exists()
        for folder in [run.scratch_base, *(path for path in run.scratch_base.iterdir() if path.is_dir())]:
            done = git(folder, "commit", "--allow-empty", "-qm", "mine", check=False)
            assert done.returncode == 128 and "not a git repository" in done.stderr, folder
        folder = run.venv_path
        assert git(folder, "rev-parse", "--show-toplevel", check=False).returncode == 128
        assert run.worktree_path.exists()
        # Git still works in the source meanwhile.
        assert git(repository, "status", "--porcelain", "--untracked-files=all").returncode == 0
    assert git(repository, "log", "--format=%s").stdout.split() == ["one"]
    after = state_of(repository / ".git")
    for name in (".git/index",):  # git status refreshes it
        for state in (before, after):
            state.pop(str(repository / name), None)
    before.pop(str(repository / ".git"), None)
    assert {name: state[3] for name, state in after.items() if name in before} == {
        name: state[3] for name, state in before.items()}


def test_each_side_sees_what_the_other_has_changed(inside):
    with inside() as run:
        run.run(["sh", "-c", "echo early >early; rm kept.txt; mkdir -p a/b; echo 1 >a/b/c; ln -s a/b link"], check=True)
        tree = run.worktree_path
        assert (tree / "early").read_text() == "early\n" and not (tree / "kept.txt").exists()
        assert (tree / "a/b/c").read_text() == "1\n" and os.readlink(tree / "link") == "a/b"
        assert git(tree, "status", "--porcelain").stdout.splitlines() == [" D kept.txt", "?? a/", "?? early", "?? link"]

        (tree / "early").unlink()
        (tree / "a/b/c").write_text("2\n")
        (tree / "tool").write_text("#!/bin/sh\necho tool\n")
        (tree / "tool").chmod(0o755)
        shutil.rmtree(tree / "a" / "b")
        (tree / "a" / "b").write_text("a file now")
        said = run.run(["sh", "-c", "ls; ./tool; cat a/b; git status --short"], capture_output=True, text=True)
        assert said.stdout.splitlines() == ["a", "changed.txt", "link", "tool", "tool", "a file now D kept.txt", "?? a/",
                                            "?? link", "?? tool"]

        run.run(["sh", "-c", "echo 3 >changed.txt; chmod 600 changed.txt; rm -r a; mkdir tool.d; mv tool tool.d"],
                check=True)
        assert (tree / "changed.txt").read_text() == "3\n"
        assert stat.S_IMODE((tree / "changed.txt").stat().st_mode) == 0o600
        assert not (tree / "a").exists() and os.access(tree / "tool.d/tool", os.X_OK)
        (tree / "changed.txt").write_text("4\n")
        assert [(change["change"], change["path"]) for change in run.manifest["changes"]] == [
            ("modified", "changed.txt"), ("removed", "kept.txt"), ("added", "link"), ("added", "tool.d"),
            ("added", "tool.d/tool")]
        kept = pathlib.Path("../kept").absolute()
        run.keep_changes(kept)
    assert (kept / "changed.txt").read_text() == "4\n" and (kept / "tool.d/tool").exists()


def test_the_commits_of_each_side_are_its_own(inside):
    with inside() as run:
        run.run(["sh", "-c", "echo 1 >changed.txt; git commit -qam theirs"], check=True)
        tree = run.worktree_path
        assert git(tree, "log", "--format=%s").stdout.split() == ["one"]
        assert git(tree, "status", "--porcelain").stdout == " M changed.txt\n"
        git(tree, "commit", "-qam", "mine")
        said = run.run(["git", "log", "--format=%s"], capture_output=True, text=True)
        assert said.stdout.split() == ["theirs", "one"]


def test_what_both_have_changed_stays_as_the_caller_has_it(inside):
    with inside() as run:
        tree = run.worktree_path
        (tree / "gone").write_text("here\n")
        run.run(["true"], check=True)
        going = run.start(["sh", "-c", "until [ -e /task/scratch/go ]; do echo theirs >changed.txt; echo theirs >kept.txt;"
                           " echo theirs >new; rm -f gone; echo >/task/scratch/go; done"])
        (tree / "changed.txt").write_text("mine\n")
        (tree / "new").write_text("mine\n")
        (tree / "gone").write_text("mine\n")
        going.wait()
        assert {name: (tree / name).read_text() for name in ("changed.txt", "kept.txt", "new", "gone")} == {
            "changed.txt": "mine\n", "kept.txt": "theirs\n", "new": "mine\n", "gone": "mine\n"}
        said = run.run(["cat", "changed.txt", "kept.txt", "new", "gone"], capture_output=True, text=True)
        assert said.stdout == "mine\ntheirs\nmine\nmine\n"


def test_the_worktree_cannot_be_asked_for_first_while_a_command_runs(inside):
    with inside() as run:
        sleeping = run.start(["sleep", "600"])
        with pytest.raises(hermetic.InvalidSpecError, match="a command of the task is still running"):
            print(run.worktree_path)
        sleeping.close()
        assert run.worktree_path.is_dir()


def test_the_environment_works_as_one_does(inside):
    with inside() as run:
        run.run(["sh", "-c", "echo 'raise SystemExit(9)' >$VIRTUAL_ENV/lib/python3*/site-packages/sitecustomize.py"])
        python = run.venv_path / "bin" / "python"
        said = subprocess.run([str(python), "-c", "import sys; print(sys.prefix, sys.prefix != sys.base_prefix)"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        assert said == f"{run.venv_path} True\n"  # and nothing that a command has put there
        pip = subprocess.run([str(run.venv_path / "bin" / "pip"), "--version"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
        assert str(run.venv_path) in pip
        for name in ("python3", "activate"):
            assert "/task/venv" not in (run.venv_path / "bin" / name).read_text()
        assert "/task/venv" not in (run.venv_path / "pyvenv.cfg").read_text()


def test_an_environment_at_a_path_with_spaces_works(task, tmp_path):
    with task(scratch=tmp_path / "a 'b' $c") as run:
        said = subprocess.run([str(run.venv_path / "bin" / "pip"), "--version"], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        assert str(run.venv_path) in said


# Each writes a marker on the host if it is run there: $MARK is its path, which is not there for the command itself.
HOSTILE = {
    "a hook": 'mkdir -p .git/hooks; printf "#!/bin/sh\\ntouch $MARK\\n" >.git/hooks/pre-commit; '
              'chmod +x .git/hooks/pre-commit; cp .git/hooks/pre-commit .git/hooks/post-commit',
    "a monitor": 'git config core.fsmonitor "touch $MARK; false"',
    "a filter": 'git config filter.x.clean "touch $MARK; cat"; git config filter.x.smudge "touch $MARK; cat"; '
                'echo "* filter=x" >.gitattributes',
    "a difference": 'git config diff.external "touch $MARK"; git config core.pager "touch $MARK; cat"',
    "a place of hooks": 'mkdir hooks; printf "#!/bin/sh\\ntouch $MARK\\n" >hooks/pre-commit; chmod +x hooks/pre-commit; '
                        'git config core.hooksPath hooks',
    "another repository": 'rm -rf .git; git init -q .; git config core.fsmonitor "touch $MARK; false"',
    "a file for a repository": 'mv .git elsewhere; echo "gitdir: elsewhere" >.git; '
                               'git config core.fsmonitor "touch $MARK; false"',
    "a link for a repository": 'mv .git elsewhere; ln -s elsewhere .git; '
                               'git config core.fsmonitor "touch $MARK; false"',
    "no repository": 'rm -rf .git',
    "an inner repository": 'mkdir inner; cd inner; git init -q; git config core.fsmonitor "touch $MARK; false"; '
                           'git -c core.fsmonitor=false commit -q --allow-empty -m x; echo >file',
    "an inner repository, in capitals": 'mkdir inner; cd inner; git init -q; '
                                        'git -c core.fsmonitor=false commit -q --allow-empty -m x; '
                                        'git config core.fsmonitor "touch $MARK; false"; mv .git .GIT; echo >file',
    "a submodule": 'mkdir sub; cd sub; git init -q; git config core.fsmonitor "touch $MARK; false"; '
                   'git -c core.fsmonitor=false commit -q --allow-empty -m x; cd ..; '
                   'git -c core.fsmonitor=false update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub; '
                   'printf "[submodule \\"sub\\"]\\n\\tpath = sub\\n\\turl = ./sub\\n\\tignore = none\\n" >.gitmodules',
    "alternates": 'mkdir -p .git/objects/info; echo /etc >.git/objects/info/alternates',
}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("what", HOSTILE)
def test_nothing_of_a_commands_making_is_run_by_the_git_of_the_caller(inside, tmp_path, what, when):
    mark = tmp_path / "mark"
    with inside(spec={"environment": {"set": {"MARK": str(mark)}}}) as run:
        if when == "after":
            print(run.worktree_path)
        run.run(["sh", "-c", "echo more >>changed.txt\n" + HOSTILE[what]], check=True)
        tree = run.worktree_path
        for words in (["status"], ["diff", "HEAD"], ["add", "-A"], ["commit", "-qm", "mine"], ["branch", "mine"], ["status"],
                      ["diff", "HEAD~1"], ["checkout", "-q", "HEAD~1"], ["stash"],
                      ["submodule", "status"], ["submodule", "update", "--init"], ["gc", "-q"]):
            git(tree, *words, check=False)
        assert git(tree, "rev-parse", "--git-dir").stdout == ".git\n"
        assert git(tree, "rev-parse", "--show-toplevel").stdout == f"{tree}\n"
        assert "mine" in git(tree, "log", "--all", "--format=%s").stdout
        for name in ("inner", "sub"):
            if (tree / name).exists():
                assert git(tree / name, "rev-parse", "--show-toplevel").stdout == f"{tree}\n"
                git(tree / name, "status")
    assert not mark.exists()


def test_the_control_a_repository_of_a_commands_making_would_run_its_programs(repository, tmp_path):
    mark = tmp_path / "mark"
    git(repository, "config", "core.fsmonitor", f"touch '{mark}'; false")
    git(repository, "status")
    assert mark.exists()


def test_links_of_a_command_lead_nothing_out_of_the_worktree(inside, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("theirs\n")
    with inside() as run:
        tree = run.worktree_path
        (tree / "folder").mkdir()
        (tree / "folder" / "file").write_text("1\n")
        run.run(["sh", "-c", f"rm -r folder; ln -s {outside} folder; ln -s {outside}/file link; rm kept.txt; "
                 f"ln -s {outside}/file kept.txt; mkfifo pipe; mkdir -p deep/er; chmod 0 deep; ln changed.txt hard"],
                check=True)
        assert os.readlink(tree / "folder") == str(outside)
        assert not (tree / "pipe").exists()
        # Another name of the caller's file, and not of the command's.
        assert (tree / "hard").stat().st_nlink == 2 and (tree / "hard").samefile(tree / "changed.txt")
        run.run(["sh", "-c", "rm folder link kept.txt; chmod 700 deep; mkdir folder; echo 2 >folder/file; echo 2 >link"],
                check=True)
        assert (tree / "folder" / "file").read_text() == "2\n"
        (tree / "changed.txt").unlink()
        (tree / "changed.txt").symlink_to(outside / "file")
        run.run(["sh", "-c", "! cat changed.txt 2>/dev/null; rm changed.txt; echo 3 >changed.txt"], check=True)
        assert (tree / "changed.txt").read_text() == "3\n"
    assert (outside / "file").read_text() == "theirs\n" and os.listdir(outside) == ["file"]


def test_a_command_finds_nothing_of_what_the_caller_sees(inside):
    with inside() as run:
        tree, venv = run.worktree_path, run.venv_path
        (tree / ".git" / "secret").write_text("of the caller\n")
        (tree / ".git" / "hooks").mkdir(exist_ok=True)
        said = run.run(["sh", "-c", f"ls -d {tree} {venv} {run.scratch_base} 2>/dev/null; ls .git; "
                        "grep -rl 'of the caller' / --exclude-dir=proc --exclude-dir=sys 2>/dev/null; true"],
                       capture_output=True, text=True)
        assert "secret" not in said.stdout and str(run.scratch_base) not in said.stdout


def test_submodules_have_repositories_of_the_caller(repository, cache, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "inner.txt").write_text("inner\n")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "inner")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "module")
    git(repository, "commit", "-qm", "two")
    mark = tmp_path / "mark"
    with hermetic.HermeticRun("submodules", repo=repository, cache=cache) as run:
        tree = run.worktree_path
        assert (tree / "module" / "inner.txt").read_text() == "inner\n"
        assert git(tree / "module", "log", "--format=%s").stdout == "inner\n"
        assert git(tree, "status", "--porcelain").stdout == ""
        run.run(["sh", "-c", f"cd module; git config core.fsmonitor 'touch {mark}; false'; echo more >>inner.txt"],
                check=True)
        assert git(tree, "status", "--porcelain").stdout == " M module\n"
        run.run(["sh", "-c", "mv module was; mkdir module; cp -r was/. module"], check=True)
        git(tree, "status", "--porcelain")
        git(tree, "submodule", "foreach", "git status", check=False)
    assert not mark.exists()


def test_a_snapshot_is_seen_by_its_caller_too(inside):
    name = f"seen-{os.getpid()}"
    with inside() as run:
        run.run(["sh", "-c", "echo built >artifact"], check=True)
        (run.worktree_path / "by-caller").write_text("mine\n")
        run.freeze(name)
    with inside(snapshot=name) as run:
        assert run.run(["cat", "artifact", "by-caller"], capture_output=True).stdout == b"built\nmine\n"
        assert (run.worktree_path / "artifact").read_text() == "built\n"
        assert git(run.worktree_path, "status", "--porcelain").stdout == "?? artifact\n?? by-caller\n"


def test_tasks_that_do_not_ask_make_nothing(task):
    with task() as run:
        run.run(["true"], check=True)
        assert sorted(path.name for path in run.scratch_base.iterdir()) == [
            ".git", "empty", "scratch", "venv-changes", "worktree-changes"]


def test_names_of_one_file_take_the_room_of_one(inside):
    with inside() as run:
        make = "head -c 1000000 /dev/zero >many; for i in $(seq 200); do ln many many$i; done"
        run.run(["sh", "-c", make], check=True)
        tree = run.worktree_path
        assert (tree / "many7").stat().st_nlink == 201
        run.run(["sh", "-c", "mkdir more; cd more; " + make], check=True)
        assert (tree / "more/many7").stat().st_nlink == 201
        run.run(["sh", "-c", "echo new >many7; rm many8"], check=True)
        assert (tree / "many").read_text() == "new\n" and not (tree / "many8").exists()
        (tree / "many").write_text("mine\n")
        assert run.run(["cat", "many9"], capture_output=True).stdout == b"mine\n"
        run.run(["sh", "-c", "echo theirs >many9"], check=True)
        assert (tree / "many10").read_text() == "theirs\n"
