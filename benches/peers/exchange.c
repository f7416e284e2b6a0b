/* The exchange of two ranks in plain C with MPI, for comparison with md-comm's example
 * `exchange`: both ranks send to each other, receives are posted ahead, and the payload is
 * copied from private memory into the send buffer and out of the receive buffer, as in a halo
 * exchange. With `fence` or `pscw` (post, start, complete, wait) it is put into a window
 * instead.
 * usage: mpirun -n 2 exchange [fence|pscw] SAMPLES BYTES:EXCHANGES...
 * prints: backend,bytes,exchanges,exchange_s, one row per sample; the slower rank's mean over the
 * exchanges */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP_SHARE = 10, TAG = 1, RECEIVE = 0, SEND = 1, REQUESTS = 2 };
enum { MESSAGES, FENCE, PSCW, MODES };
static const char *const names[MODES] = {"c", "c-fence", "c-pscw"};
static int mode = MESSAGES;

typedef struct {
    int bytes, peer;
    char *private_out, *private_in, *send_buffer, *receive_buffer;
    MPI_Request requests[REQUESTS];
    MPI_Win window;
    MPI_Group others;
} Edge;

static void *allocate(int bytes) {
    const size_t alignment = 64;
    void *memory = aligned_alloc(alignment, ((size_t)bytes / alignment + 1) * alignment);
    if (!memory) MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

static void post(Edge *edge) {
    MPI_Irecv(edge->receive_buffer, edge->bytes, MPI_BYTE, edge->peer, TAG, MPI_COMM_WORLD, &edge->requests[RECEIVE]);
}

static void exchange(Edge *edge) {
    memcpy(edge->send_buffer, edge->private_out, edge->bytes);
    MPI_Isend(edge->send_buffer, edge->bytes, MPI_BYTE, edge->peer, TAG, MPI_COMM_WORLD, &edge->requests[SEND]);
    MPI_Waitall(REQUESTS, edge->requests, MPI_STATUSES_IGNORE);
    memcpy(edge->private_in, edge->receive_buffer, edge->bytes);
    post(edge);
}

static void put(Edge *edge) {
    memcpy(edge->send_buffer, edge->private_out, edge->bytes);
    if (mode == FENCE) MPI_Win_fence(0, edge->window);
    else MPI_Win_post(edge->others, 0, edge->window), MPI_Win_start(edge->others, 0, edge->window);
    MPI_Put(edge->send_buffer, edge->bytes, MPI_BYTE, edge->peer, 0, edge->bytes, MPI_BYTE, edge->window);
    if (mode == FENCE) MPI_Win_fence(0, edge->window);
    else MPI_Win_complete(edge->window), MPI_Win_wait(edge->window);
    memcpy(edge->private_in, edge->receive_buffer, edge->bytes);
}

static void many(Edge *edge, int exchanges) {
    for (int i = 0; i < exchanges; i++) mode == MESSAGES ? exchange(edge) : put(edge);
}

/* Returns the seconds per exchange of the slower rank. */
static double sample(Edge *edge, int exchanges) {
    many(edge, exchanges / WARM_UP_SHARE);
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    many(edge, exchanges);
    double mine = (MPI_Wtime() - begun) / exchanges, slowest;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void expect_from_peer(const Edge *edge) {
    for (int i = 0; i < edge->bytes; i++) {
        if (edge->private_in[i] != (char)(edge->peer + 1)) {
            fprintf(stderr, "exchange: byte %d of %d is wrong\n", i, edge->bytes);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void open_window(Edge *edge) {
    MPI_Group all;
    MPI_Win_create(edge->receive_buffer, edge->bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &edge->window);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &edge->peer, &edge->others);
    MPI_Group_free(&all);
}

static void measure(int rank, int samples, int bytes, int exchanges) {
    Edge edge = {.bytes = bytes, .peer = 1 - rank};
    edge.private_out = allocate(bytes), edge.private_in = allocate(bytes);
    edge.send_buffer = allocate(bytes), edge.receive_buffer = allocate(bytes);
    memset(edge.private_out, rank + 1, bytes), memset(edge.private_in, 0, bytes);
    memset(edge.send_buffer, 0, bytes), memset(edge.receive_buffer, 0, bytes);
    if (mode == MESSAGES) post(&edge);
    else open_window(&edge);
    for (int i = 0; i < samples; i++) {
        double seconds = sample(&edge, exchanges);
        if (rank == 0) printf("%s,%d,%d,%.9e\n", names[mode], bytes, exchanges, seconds);
    }
    expect_from_peer(&edge);
    if (mode == MESSAGES) MPI_Cancel(&edge.requests[RECEIVE]), MPI_Wait(&edge.requests[RECEIVE], MPI_STATUS_IGNORE);
    else MPI_Win_free(&edge.window), MPI_Group_free(&edge.others);
    /* A message of the next size must not match a receive of this one. */
    MPI_Barrier(MPI_COMM_WORLD);
    free(edge.private_out), free(edge.private_in), free(edge.send_buffer), free(edge.receive_buffer);
}

int main(int count, char **arguments) {
    int rank, ranks, bytes, exchanges;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int named = FENCE; named < MODES && count > 2; named++) {
        if (strcmp(arguments[1], names[named] + strlen("c-"))) continue;
        mode = named, arguments++, count--;
        break;
    }
    int samples = count > 2 ? atoi(arguments[1]) : 0;
    if (ranks != 2 || samples < 1) {
        if (rank == 0) fprintf(stderr, "usage: mpirun -n 2 exchange [fence|pscw] SAMPLES BYTES:EXCHANGES...\n");
        MPI_Finalize();
        return 2;
    }
    for (int i = 2; i < count; i++) {
        if (sscanf(arguments[i], "%d:%d", &bytes, &exchanges) != 2 || bytes < 1 || exchanges < 1) {
            fprintf(stderr, "exchange: %s is not BYTES:EXCHANGES\n", arguments[i]);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
        measure(rank, samples, bytes, exchanges);
    }
    MPI_Finalize();
    return 0;
}
