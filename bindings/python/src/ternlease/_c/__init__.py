"""The C library as it is: structs, handles, functions. Nothing in here is meant for users."""
