/* What shim.c and loopback.c share: the settings, ends, and the way to Python. */
#include <stddef.h>

enum { SOCKET, PATIENCE_MS, PYTHON, ALONE, LOOPBACK, SETTINGS_COUNT };
extern const char *setting[SETTINGS_COUNT];

/* To the standard output, all of it. */
void put(const char *text, size_t size);

/* The standard input to its end, or so much as there is room for; -1 if it did not end in time. */
ptrdiff_t read_input(char *into, size_t room);

/* For where not even Python can be had: an error that makes the runtime try again. */
int give_up(const char *why);

/* A program of the settings gets `input` as its standard input, and the arguments after the first word. This process is
 * gone then; it returns with the exit code only if there is no Python. */
int leave_to_python(const char *program, const char *first, const char *input, size_t size, char **words);

/* The plugin `loopback`. */
int loopback(char **words);
