// Here for the precompiled headers that hermetic_layer.cmake makes with it.
