# What a program needs beside libternlease.a, as rustc tells it for Linux. The test package.native-libs compares the two.
# Without -lgcc_s, which compilers add by themselves: naming it would make -static-libgcc impossible.
set(TERN_NATIVE_LIBS -ldl -lutil -lrt -lpthread -lm -ldl -lc)
