/* Substitutes for functions that SimGrid's MPI lacks or assigns other costs than a network has.
 * These definitions take precedence over those of the library, whose functions are called by
 * their other names (PMPI_...: the profiling interface, MPI-3.1 section 14.2).
 *
 * - A poll without result takes 0.1 us for any number of requests; SimGrid's takes that time for
 *   each of them.
 * - Non-blocking collectives are SimGrid's blocking ones, which take log2 P rounds; its own are
 *   P messages to rank 0.
 * - `MPI_Win_flush_all` flushes the ranks that a put, a get or an atomic operation has accessed
 *   since the last flush. SimGrid's flushes every rank of the window, and holds the window of
 *   each while it waits (src/smpi/mpi/smpi_win.cpp), so that ranks wait for unrelated ranks, the
 *   more the more ranks there are.
 * - `MPI_Win_test` waits. SimGrid has neither this function nor the parent communicator and the
 *   memory model of windows. */
#include <smpi/mpi.h>
#include <stdlib.h>
#include <time.h>

MPI_Comm RSMPI_COMM_WORLD;
MPI_Comm RSMPI_COMM_SELF;

static void poll_in_vain(void) {
    const struct timespec poll = {0, 100};
    smpi_nanosleep(&poll, NULL);
}

/* Every simulated rank has separate threads, and calls MPI from one of them. */
int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int code = PMPI_Init(argc, argv);
    RSMPI_COMM_WORLD = MPI_COMM_WORLD;
    RSMPI_COMM_SELF = MPI_COMM_SELF;
    *provided = required;
    return code;
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
    int code = PMPI_Test(request, done, status);
    if (!*done)
        poll_in_vain();
    return code;
}

int MPI_Testsome(int many, MPI_Request *requests, int *done, int *which, MPI_Status *statuses) {
    int code = PMPI_Testsome(many, requests, done, which, statuses);
    if (*done <= 0)
        poll_in_vain();
    return code;
}

/* SimGrid cancels the request but does not report it. Here no message is ever in flight when a
 * receive is cancelled. The request is abandoned. */
int MPI_Cancel(MPI_Request *request) {
    int code = PMPI_Cancel(request);
    *request = MPI_REQUEST_NULL;
    return code;
}

int MPI_Test_cancelled(const MPI_Status *status, int *cancelled) {
    (void)status;
    *cancelled = 1;
    return MPI_SUCCESS;
}

/* Called to let the library move data, which SimGrid does by itself. */
int MPI_Iprobe(int source, int tag, MPI_Comm on, int *found, MPI_Status *status) {
    (void)source, (void)tag, (void)on, (void)status;
    *found = 0;
    poll_in_vain();
    return MPI_SUCCESS;
}

int MPI_Ibarrier(MPI_Comm on, MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    return PMPI_Barrier(on);
}

int MPI_Ibcast(void *bytes, int many, MPI_Datatype type, int root, MPI_Comm on, MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    return PMPI_Bcast(bytes, many, type, root, on);
}

int MPI_Iallgather(const void *mine, int many, MPI_Datatype type, void *all, int each, MPI_Datatype type_there, MPI_Comm on,
                   MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    return PMPI_Allgather(mine, many, type, all, each, type_there, on);
}

int MPI_Iallreduce(const void *mine, void *all, int many, MPI_Datatype type, MPI_Op how, MPI_Comm on, MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    return PMPI_Allreduce(mine, all, many, type, how, on);
}

/* A window under a lock, and the ranks accessed since the last flush of all. Every simulated
 * rank has its own copies of the variables. */
enum { MOST_WINDOWS = 64 };

struct locked {
    MPI_Win window;
    int is_there, ranks;
    char *accessed;
};

static struct locked all_locked[MOST_WINDOWS];

static struct locked *locked(MPI_Win window) {
    for (int i = 0; i < MOST_WINDOWS; i++)
        if (all_locked[i].is_there && all_locked[i].window == window)
            return &all_locked[i];
    return NULL;
}

static void note(MPI_Win window, int rank) {
    struct locked *found = locked(window);
    if (found)
        found->accessed[rank] = 1;
}

int MPI_Put(const void *from, int many, MPI_Datatype type, int rank, MPI_Aint at, int many_there, MPI_Datatype type_there, MPI_Win window) {
    note(window, rank);
    return PMPI_Put(from, many, type, rank, at, many_there, type_there, window);
}

int MPI_Get(void *to, int many, MPI_Datatype type, int rank, MPI_Aint at, int many_there, MPI_Datatype type_there, MPI_Win window) {
    note(window, rank);
    return PMPI_Get(to, many, type, rank, at, many_there, type_there, window);
}

int MPI_Accumulate(const void *from, int many, MPI_Datatype type, int rank, MPI_Aint at, int many_there, MPI_Datatype type_there, MPI_Op how,
                   MPI_Win window) {
    note(window, rank);
    return PMPI_Accumulate(from, many, type, rank, at, many_there, type_there, how, window);
}

int MPI_Fetch_and_op(const void *from, void *before, MPI_Datatype type, int rank, MPI_Aint at, MPI_Op how, MPI_Win window) {
    note(window, rank);
    return PMPI_Fetch_and_op(from, before, type, rank, at, how, window);
}

int MPI_Win_lock_all(int assertion, MPI_Win window) {
    struct locked *place = all_locked;
    while (place->is_there)
        if (++place == all_locked + MOST_WINDOWS)
            MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Group group;
    PMPI_Win_get_group(window, &group);
    PMPI_Group_size(group, &place->ranks);
    PMPI_Group_free(&group);
    place->window = window;
    place->is_there = 1;
    place->accessed = calloc(place->ranks, 1);
    return PMPI_Win_lock_all(assertion, window);
}

int MPI_Win_flush_all(MPI_Win window) {
    struct locked *found = locked(window);
    if (!found)
        return PMPI_Win_flush_all(window);
    int code = MPI_SUCCESS;
    for (int rank = 0; rank < found->ranks && code == MPI_SUCCESS; rank++) {
        if (found->accessed[rank])
            code = PMPI_Win_flush(rank, window);
        found->accessed[rank] = 0;
    }
    return code;
}

int MPI_Win_unlock_all(MPI_Win window) {
    struct locked *found = locked(window);
    if (found) {
        free(found->accessed);
        found->is_there = 0;
    }
    return PMPI_Win_unlock_all(window);
}

int MPI_Win_test(MPI_Win window, int *done) {
    *done = 1;
    return PMPI_Win_wait(window);
}

int MPI_Win_get_attr(MPI_Win window, int key, void *value, int *found) {
    static int unified = MPI_WIN_UNIFIED;
    if (key != MPI_WIN_MODEL)
        return PMPI_Win_get_attr(window, key, value, found);
    *(int **)value = &unified;
    *found = 1;
    return MPI_SUCCESS;
}

int MPI_Comm_get_parent(MPI_Comm *parent) {
    *parent = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
