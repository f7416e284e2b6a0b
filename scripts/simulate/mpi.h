/* SimGrid's MPI as required by rsmpi's bindings. Precedes SimGrid's own header on the include
 * path. */
#ifndef MD_SIMULATED_MPI_H
#define MD_SIMULATED_MPI_H

/* SimGrid's declaration lacks the standard's `const` (MPI-3.1 section 10.3.3). */
#define MPI_Comm_spawn_multiple md_unused_spawn
#include <smpi/mpi.h>
#undef MPI_Comm_spawn_multiple
int MPI_Comm_spawn_multiple(int, char **, char ***, const int *, const MPI_Info *, int, MPI_Comm, MPI_Comm *, int *);

/* In SimGrid this is an enumeration value, for which bindgen uses another name. */
#define MPI_SUCCESS 0

/* In SimGrid these are not constants. The bindings' C file, which is compiled with this macro,
 * defines unused variables instead; substitutes.c has the real ones. */
#ifdef MD_SIMULATED_BINDINGS
#undef MPI_COMM_SELF
#define MPI_COMM_SELF NULL
#define MPI_COMM_WORLD NULL
#define RSMPI_COMM_SELF md_unused_self
#define RSMPI_COMM_WORLD md_unused_world
#endif

#endif
