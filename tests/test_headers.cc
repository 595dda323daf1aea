// Here for the precompiled headers that CMakeLists.txt makes with it.
