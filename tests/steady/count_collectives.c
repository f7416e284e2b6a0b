/* Counts the collective calls of one process and forwards them (the profiling interface, MPI-3.1 section 14.2).
 * The count is a word in the file $MD_COUNT_FILE.<process>, mapped so that it can be read at any time. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t nowhere;
static uint64_t *count = &nowhere;

__attribute__((constructor)) static void open_count(void) {
    const char *base = getenv("MD_COUNT_FILE");
    char name[4096];
    if (!base || snprintf(name, sizeof name, "%s.%ld", base, (long)getpid()) >= (int)sizeof name) return;
    int file = open(name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof *count) != 0) return;
    void *word = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (word != MAP_FAILED) count = word;
    close(file);
}

#define COUNTED(name, parameters, arguments) \
    int MPI_##name parameters { ++*count; return PMPI_##name arguments; }

#define BUFFERS const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt

COUNTED(Barrier, (MPI_Comm c), (c))
COUNTED(Ibarrier, (MPI_Comm c, MPI_Request *q), (c, q))
COUNTED(Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
COUNTED(Ibcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *q), (b, n, t, root, c, q))
COUNTED(Reduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c), (s, r, n, t, o, root, c))
COUNTED(Allreduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
COUNTED(Iallreduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *q), (s, r, n, t, o, c, q))
COUNTED(Gather, (BUFFERS, int root, MPI_Comm c), (s, sn, st, r, rn, rt, root, c))
COUNTED(Igather, (BUFFERS, int root, MPI_Comm c, MPI_Request *q), (s, sn, st, r, rn, rt, root, c, q))
COUNTED(Allgather, (BUFFERS, MPI_Comm c), (s, sn, st, r, rn, rt, c))
COUNTED(Iallgather, (BUFFERS, MPI_Comm c, MPI_Request *q), (s, sn, st, r, rn, rt, c, q))
COUNTED(Alltoall, (BUFFERS, MPI_Comm c), (s, sn, st, r, rn, rt, c))
COUNTED(Ialltoall, (BUFFERS, MPI_Comm c, MPI_Request *q), (s, sn, st, r, rn, rt, c, q))
COUNTED(Neighbor_alltoall, (BUFFERS, MPI_Comm c), (s, sn, st, r, rn, rt, c))
COUNTED(Ineighbor_alltoall, (BUFFERS, MPI_Comm c, MPI_Request *q), (s, sn, st, r, rn, rt, c, q))
COUNTED(Ineighbor_alltoallv,
        (const void *s, const int *sn, const int *sd, MPI_Datatype st, void *r, const int *rn, const int *rd,
         MPI_Datatype rt, MPI_Comm c, MPI_Request *q),
        (s, sn, sd, st, r, rn, rd, rt, c, q))
COUNTED(Comm_dup, (MPI_Comm c, MPI_Comm *n), (c, n))
COUNTED(Comm_split, (MPI_Comm c, int colour, int key, MPI_Comm *n), (c, colour, key, n))
COUNTED(Win_fence, (int a, MPI_Win w), (a, w))
COUNTED(Win_allocate, (MPI_Aint n, int u, MPI_Info i, MPI_Comm c, void *b, MPI_Win *w), (n, u, i, c, b, w))
COUNTED(Win_create, (void *b, MPI_Aint n, int u, MPI_Info i, MPI_Comm c, MPI_Win *w), (b, n, u, i, c, w))
COUNTED(Win_allocate_shared, (MPI_Aint n, int u, MPI_Info i, MPI_Comm c, void *b, MPI_Win *w), (n, u, i, c, b, w))
COUNTED(Win_free, (MPI_Win *w), (w))
