/* What SimGrid's MPI lacks, or prices otherwise than a network would, in terms of what it has. The definitions here stand before those of the
 * library, whose own are called by their other names (PMPI_...: the profiling interface, MPI-3.1 section 14.2).
 *
 * - A poll that finds nothing takes 0.1 us, whatever the number of requests; SimGrid's takes as much for each of them.
 * - Non-blocking collectives are SimGrid's blocking ones, which take log2 P rounds; its own are P messages to rank 0.
 * - Flushes go to the ranks that something has been put to. SimGrid's `flush_all` and `unlock_all` go to every rank of the window, and hold the window
 *   of each while they wait (src/smpi/mpi/smpi_win.cpp), so that ranks wait for ranks that they have nothing to do with, the more the more there are.
 *   For the same reason windows are locked once.
 * - `MPI_Win_test` waits; SimGrid's does not exist, as little as the parent communicator and the memory model of windows. */
#include <smpi/mpi.h>
#include <stdlib.h>
#include <time.h>

MPI_Comm RSMPI_COMM_WORLD;
MPI_Comm RSMPI_COMM_SELF;

static void poll_in_vain(void) {
    const struct timespec poll = {0, 100};
    smpi_nanosleep(&poll, NULL);
}

/* Every simulated rank has threads of its own, and calls MPI from one of them. */
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

/* SimGrid's cancels, but does not say so. Here nothing is ever under way when a receive is taken back. The request is left behind. */
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

/* Called to let the library move data, which it does here by itself. */
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

/* A window under a lock, and to which ranks something has been put since the last flush. Every simulated rank has variables of its own. */
enum { MOST_WINDOWS = 64 };

struct locked {
    MPI_Win window;
    int is_there, ranks;
    char *has_puts;
};

static struct locked all_locked[MOST_WINDOWS];

static struct locked *locked(MPI_Win window) {
    for (int i = 0; i < MOST_WINDOWS; i++)
        if (all_locked[i].is_there && all_locked[i].window == window)
            return &all_locked[i];
    return NULL;
}

static void note_put(MPI_Win window, int rank) {
    struct locked *found = locked(window);
    if (found)
        found->has_puts[rank] = 1;
}

int MPI_Put(const void *from, int many, MPI_Datatype type, int rank, MPI_Aint at, int many_there, MPI_Datatype type_there, MPI_Win window) {
    note_put(window, rank);
    return PMPI_Put(from, many, type, rank, at, many_there, type_there, window);
}

int MPI_Win_lock_all(int assertion, MPI_Win window) {
    if (locked(window))
        return MPI_SUCCESS;
    struct locked *free_place = all_locked;
    while (free_place->is_there)
        if (++free_place == all_locked + MOST_WINDOWS)
            MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Group group;
    PMPI_Win_get_group(window, &group);
    PMPI_Group_size(group, &free_place->ranks);
    PMPI_Group_free(&group);
    free_place->window = window;
    free_place->is_there = 1;
    free_place->has_puts = calloc(free_place->ranks, 1);
    return PMPI_Win_lock_all(assertion, window);
}

int MPI_Win_flush_all(MPI_Win window) {
    struct locked *found = locked(window);
    int code = MPI_SUCCESS;
    for (int rank = 0; found && rank < found->ranks && code == MPI_SUCCESS; rank++) {
        if (found->has_puts[rank])
            code = PMPI_Win_flush(rank, window);
        found->has_puts[rank] = 0;
    }
    return code;
}

int MPI_Win_unlock_all(MPI_Win window) { return MPI_Win_flush_all(window); }

int MPI_Win_free(MPI_Win *window) {
    struct locked *found = locked(*window);
    if (found) {
        PMPI_Win_unlock_all(*window);
        free(found->has_puts);
        found->is_there = 0;
    }
    return PMPI_Win_free(window);
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
