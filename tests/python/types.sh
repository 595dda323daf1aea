#!/bin/bash
# types.sh: the hints of the package hold, for the oldest Python that it works with as for this one, and reach its
# users: a program that keeps to them passes, and each line that does not is found.
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
check() {
  MYPYPATH=$HERMETIC_SOURCE_DIR/bindings/python /usr/bin/mypy --strict --no-color-output --no-error-summary \
    --cache-dir "$scratch/cache" "$@"
}
for version in 3.9 3.11; do
  check --python-version "$version" -p hermetic
done

cat >"$scratch/good.py" <<'end'
import asyncio
from typing import Any, Dict, Optional

import hermetic
from hermetic import subprocess

result: hermetic.Result = hermetic.run(["true"], inputs=["/usr"], network="none", timeout=3.0)
code: int = result.returncode
completed = subprocess.run(["true"], capture_output=True, text=True)
with hermetic.HermeticRun(task_id="a", seed=7, repo=".") as task:
    task.run(["true"])
    manifest: Dict[str, Any] = task.manifest
spec = hermetic.Spec(["true"], inputs=["/usr"])
for event in hermetic.start(spec=spec).events():
    where: Optional[str] = event.subject


async def main() -> int:
    return (await hermetic.run_async(["true"])).returncode


asyncio.run(main())
end
check "$scratch/good.py"

cat >"$scratch/bad.py" <<'end'
import hermetic

hermetic.run(5)
hermetic.run(["true"], timeout="soon")
code: str = hermetic.run(["true"]).returncode
hermetic.HermeticRun(seed=7)
hermetic.Spec(["true"]).replace(5)
end
found=$(check "$scratch/bad.py" || true)
for line in 3 4 5 6 7; do
  [[ $found == *"bad.py:$line: error:"* ]] || { echo "line $line is not found: $found" >&2; exit 1; }
done
