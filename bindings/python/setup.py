"""What pyproject.toml cannot say: the wheel carries the shared object that HERMETIC_LIBRARY names, and is for
every CPython on this system's kind of machine. Without HERMETIC_LIBRARY it is pure, and uses the system's."""

import os
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

LIBRARY = os.environ.get("HERMETIC_LIBRARY")


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        if LIBRARY:
            target = os.path.join(self.build_lib, "hermetic", "libhermetic.so.0")
            shutil.copyfile(LIBRARY, target)
            os.chmod(target, 0o755)


class PlatformWheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        if LIBRARY:
            self.root_is_pure = False

    def get_tag(self):
        _, _, platform = super().get_tag()
        return "py3", "none", platform


setup(cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
