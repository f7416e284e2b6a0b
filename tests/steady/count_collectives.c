/* Counts the collective calls and the messages of one process, with their bytes, and forwards them
 * (the profiling interface, MPI-3.1 section 14.2). The counts are words in the file
 * $MD_COUNT_FILE.<process>, mapped so that they can be read at any time: collective calls, their
 * bytes in and out; messages sent, received, put and got, and their bytes. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CALLS, BYTES, MESSAGES, MESSAGE_BYTES, WORDS };

static uint64_t nowhere[WORDS];
static uint64_t *counts = nowhere;

__attribute__((constructor)) static void open_count(void) {
    const char *base = getenv("MD_COUNT_FILE");
    char name[4096];
    if (!base || snprintf(name, sizeof name, "%s.%ld", base, (long)getpid()) >= (int)sizeof name) return;
    int file = open(name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof nowhere) != 0) return;
    void *words = mmap(NULL, sizeof nowhere, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (words != MAP_FAILED) counts = words;
    close(file);
}

static uint64_t bytes_of(int n, MPI_Datatype t) {
    int size;
    PMPI_Type_size(t, &size);
    return (uint64_t)n * (uint64_t)size;
}

/* What arrives from every rank. */
static uint64_t from_all(int n, MPI_Datatype t, MPI_Comm c) {
    int ranks;
    PMPI_Comm_size(c, &ranks);
    return bytes_of(n, t) * (uint64_t)ranks;
}

static uint64_t at_root(int sn, MPI_Datatype st, int rn, MPI_Datatype rt, int root, MPI_Comm c) {
    int rank;
    PMPI_Comm_rank(c, &rank);
    return rank == root ? from_all(rn, rt, c) : bytes_of(sn, st);
}

#define WRAPPED(kind, kind_bytes, name, bytes, parameters, arguments) \
    int MPI_##name parameters { \
        ++counts[kind]; \
        counts[kind_bytes] += (bytes); \
        return PMPI_##name arguments; \
    }
#define COUNTED(name, bytes, parameters, arguments) WRAPPED(CALLS, BYTES, name, bytes, parameters, arguments)
#define MESSAGE(name, parameters, arguments) WRAPPED(MESSAGES, MESSAGE_BYTES, name, bytes_of(n, t), parameters, arguments)

#define BUFFERS const void *s, int sn, MPI_Datatype st, void *r, int rn, MPI_Datatype rt

MESSAGE(Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))
MESSAGE(Isend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *q), (b, n, t, to, tag, c, q))
MESSAGE(Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *x), (b, n, t, from, tag, c, x))
MESSAGE(Irecv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *q), (b, n, t, from, tag, c, q))
#define TARGET int to, MPI_Aint d, int tn, MPI_Datatype tt
MESSAGE(Put, (const void *b, int n, MPI_Datatype t, TARGET, MPI_Win w), (b, n, t, to, d, tn, tt, w))
MESSAGE(Rput, (const void *b, int n, MPI_Datatype t, TARGET, MPI_Win w, MPI_Request *q), (b, n, t, to, d, tn, tt, w, q))
MESSAGE(Get, (void *b, int n, MPI_Datatype t, TARGET, MPI_Win w), (b, n, t, to, d, tn, tt, w))
MESSAGE(Accumulate, (const void *b, int n, MPI_Datatype t, TARGET, MPI_Op o, MPI_Win w), (b, n, t, to, d, tn, tt, o, w))

COUNTED(Barrier, 0, (MPI_Comm c), (c))
COUNTED(Ibarrier, 0, (MPI_Comm c, MPI_Request *q), (c, q))
COUNTED(Bcast, bytes_of(n, t), (void *b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
COUNTED(Ibcast, bytes_of(n, t), (void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *q), (b, n, t, root, c, q))
COUNTED(Reduce, bytes_of(n, t), (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, int root, MPI_Comm c), (s, r, n, t, o, root, c))
COUNTED(Allreduce, bytes_of(n, t), (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
COUNTED(Iallreduce, bytes_of(n, t), (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *q), (s, r, n, t, o, c, q))
COUNTED(Gather, at_root(sn, st, rn, rt, root, c), (BUFFERS, int root, MPI_Comm c), (s, sn, st, r, rn, rt, root, c))
COUNTED(Igather, at_root(sn, st, rn, rt, root, c), (BUFFERS, int root, MPI_Comm c, MPI_Request *q), (s, sn, st, r, rn, rt, root, c, q))
COUNTED(Allgather, from_all(rn, rt, c), (BUFFERS, MPI_Comm c), (s, sn, st, r, rn, rt, c))
COUNTED(Iallgather, from_all(rn, rt, c), (BUFFERS, MPI_Comm c, MPI_Request *q), (s, sn, st, r, rn, rt, c, q))
COUNTED(Alltoall, from_all(rn, rt, c), (BUFFERS, MPI_Comm c), (s, sn, st, r, rn, rt, c))
COUNTED(Ialltoall, from_all(rn, rt, c), (BUFFERS, MPI_Comm c, MPI_Request *q), (s, sn, st, r, rn, rt, c, q))
COUNTED(Neighbor_alltoall, 0, (BUFFERS, MPI_Comm c), (s, sn, st, r, rn, rt, c))
COUNTED(Ineighbor_alltoall, 0, (BUFFERS, MPI_Comm c, MPI_Request *q), (s, sn, st, r, rn, rt, c, q))
COUNTED(Ineighbor_alltoallv, 0,
        (const void *s, const int *sn, const int *sd, MPI_Datatype st, void *r, const int *rn, const int *rd,
         MPI_Datatype rt, MPI_Comm c, MPI_Request *q),
        (s, sn, sd, st, r, rn, rd, rt, c, q))
COUNTED(Comm_dup, 0, (MPI_Comm c, MPI_Comm *n), (c, n))
COUNTED(Comm_split, 0, (MPI_Comm c, int colour, int key, MPI_Comm *n), (c, colour, key, n))
COUNTED(Win_fence, 0, (int a, MPI_Win w), (a, w))
COUNTED(Win_allocate, 0, (MPI_Aint n, int u, MPI_Info i, MPI_Comm c, void *b, MPI_Win *w), (n, u, i, c, b, w))
COUNTED(Win_create, 0, (void *b, MPI_Aint n, int u, MPI_Info i, MPI_Comm c, MPI_Win *w), (b, n, u, i, c, w))
COUNTED(Win_allocate_shared, 0, (MPI_Aint n, int u, MPI_Info i, MPI_Comm c, void *b, MPI_Win *w), (n, u, i, c, b, w))
COUNTED(Win_free, 0, (MPI_Win *w), (w))
