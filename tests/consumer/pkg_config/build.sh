cc -o app_shared main.c $(pkg-config --cflags --libs ternlease)
cc -o app_static main.c $(pkg-config --cflags --libs ternlease-static)
