"""What pyproject.toml cannot say: the wheel carries the shared object that HERMETIC_LIBRARY names and the program that
HERMETIC_PROGRAM names, and is for every CPython on the kind of system that HERMETIC_PLATFORM names. Without
HERMETIC_LIBRARY it is pure, and uses the system's."""

import os
import shutil

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

LIBRARY = os.environ.get("HERMETIC_LIBRARY")
PROGRAM = os.environ.get("HERMETIC_PROGRAM")
PLATFORM = os.environ.get("HERMETIC_PLATFORM")


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        for file, name in ((LIBRARY, "libhermetic.so.0"), (PROGRAM, "bin/hermetic")):
            if file:
                target = os.path.join(self.build_lib, "hermetic", name)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copyfile(file, target)
                os.chmod(target, 0o755)


class WithBinaries(Distribution):
    def has_ext_modules(self):
        return bool(LIBRARY)


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        _, _, platform = super().get_tag()
        return "py3", "none", PLATFORM if LIBRARY and PLATFORM else platform


setup(distclass=WithBinaries, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
