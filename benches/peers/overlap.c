/* A step of two ranks in plain C with MPI, for comparison with md's overlap: equal messages, and
 * a loop that takes as long as md's force computation. First positions are in flight during
 * work, then forces:
 *
 *   first part of the work, positions in flight | boundary | second part, forces in flight
 *
 * usage: mpirun -n 2 overlap STEPS POSITION_BYTES FORCE_BYTES FIRST_US BOUNDARY_US SECOND_US
 *            CHUNK_BYTES TEST_US...
 * Messages are split into chunks of CHUNK_BYTES, or not at all if that is 0. The modes, which
 * are measured in turn: the messages alone, the work alone, both without calls in between, and
 * both with MPI_Testall every TEST_US. The calls are made within the work, or, if TEST_US is
 * negative, by a second thread, which sleeps for that time between calls (the library is then
 * initialised with MPI_THREAD_MULTIPLE, and that thread sleeps throughout all other modes).
 * prints: mode,step_us,hidden_percent (of the time of the messages alone); medians over the turns,
 * of the slower rank */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TURNS = 15, TAG = 1, LEGS = 2, MOST_CHUNKS = 64, MOST_MODES = 12 };
/* Modes that make no calls in between; other numbers are TEST_US. */
enum { ALONE = 1000000, WORK, QUIET };

typedef struct {
    int bytes, chunk, peer, requested;
    char *out, *in;
    MPI_Request requests[2 * MOST_CHUNKS];
} Leg;

typedef struct {
    double first, boundary, second;
} Parts;

/* Messages that the second thread drives while the first does not hold `lock`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER;
static Leg *driven = NULL;
static int pause_us = 0;

static void *drive(void *unused) {
    for (;;) {
        int done = 0, pause;
        pthread_mutex_lock(&lock);
        while (!driven) pthread_cond_wait(&begun, &lock);
        MPI_Testall(driven->requested, driven->requests, &done, MPI_STATUSES_IGNORE);
        if (done) driven = NULL;
        pause = pause_us;
        pthread_mutex_unlock(&lock);
        if (!done) usleep(pause);
    }
    return unused;
}

static void leave_to_thread(Leg *leg, int us) {
    pthread_mutex_lock(&lock);
    driven = leg, pause_us = us;
    pthread_cond_signal(&begun);
    pthread_mutex_unlock(&lock);
}

static void take_back(void) {
    pthread_mutex_lock(&lock);
    driven = NULL;
    pthread_mutex_unlock(&lock);
}

static double rounds_per_second = 0;
static volatile double sink = 1;

static void rounds(long count) {
    double x = sink;
    for (long i = 0; i < count; i++) x = x * 0.999999 + 1e-9;
    sink = x;
}

/* Measures the rounds per second of a quiet core: work is counted in rounds, so that the
 * library's time comes on top. */
static void calibrate(void) {
    const long count = 50000000;
    double begun = MPI_Wtime();
    rounds(count);
    rounds_per_second = count / (MPI_Wtime() - begun);
}

/* Works for a time and calls the library every `test_every` seconds if that is more than 0. */
static void work(double seconds, double test_every, Leg *leg) {
    long left = (long)(seconds * rounds_per_second), piece = left;
    int done = 0;
    if (leg && test_every > 0) piece = (long)(test_every * rounds_per_second);
    while (left > 0) {
        rounds(left < piece ? left : piece);
        left -= piece;
        if (leg && test_every > 0 && !done) MPI_Testall(leg->requested, leg->requests, &done, MPI_STATUSES_IGNORE);
    }
}

static void start(Leg *leg) {
    leg->requested = 0;
    for (int at = 0; at < leg->bytes; at += leg->chunk) {
        int bytes = leg->bytes - at < leg->chunk ? leg->bytes - at : leg->chunk;
        MPI_Irecv(leg->in + at, bytes, MPI_BYTE, leg->peer, TAG, MPI_COMM_WORLD, &leg->requests[leg->requested++]);
        MPI_Isend(leg->out + at, bytes, MPI_BYTE, leg->peer, TAG, MPI_COMM_WORLD, &leg->requests[leg->requested++]);
    }
}

static void step(int mode, Parts parts, Leg legs[LEGS]) {
    if (mode == WORK) {
        work(parts.first + parts.boundary + parts.second, 0, NULL);
        return;
    }
    double every = mode > 0 && mode < ALONE ? mode * 1e-6 : 0;
    double seconds[LEGS] = {parts.first, parts.second};
    for (int i = 0; i < LEGS; i++) {
        start(&legs[i]);
        if (mode < 0) leave_to_thread(&legs[i], -mode);
        if (mode != ALONE) work(seconds[i], every, &legs[i]);
        if (mode < 0) take_back();
        MPI_Waitall(legs[i].requested, legs[i].requests, MPI_STATUSES_IGNORE);
        if (mode != ALONE && i == 0) work(parts.boundary, 0, NULL);
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double values[TURNS]) {
    qsort(values, TURNS, sizeof *values, compare);
    return values[TURNS / 2];
}

int main(int argc, char **argv) {
    int rank, ranks, threaded = 0, level;
    for (int i = 8; i < argc; i++) threaded |= atoi(argv[i]) < 0;
    MPI_Init_thread(&argc, &argv, threaded ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    pthread_t driver;
    if (threaded && level < MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 3);
    if (threaded) pthread_create(&driver, NULL, drive, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int fixed = 8;
    if (ranks != 2 || argc < fixed || argc - fixed + 3 > MOST_MODES) {
        if (rank == 0) fprintf(stderr, "usage: mpirun -n 2 overlap STEPS POSITION_BYTES FORCE_BYTES FIRST_US BOUNDARY_US SECOND_US CHUNK_BYTES TEST_US...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int steps = atoi(argv[1]);
    Leg legs[LEGS];
    for (int i = 0; i < LEGS; i++) {
        int bytes = atoi(argv[2 + i]), least = (bytes + MOST_CHUNKS - 1) / MOST_CHUNKS, chunk = atoi(argv[7]);
        legs[i].bytes = bytes, legs[i].peer = 1 - rank;
        legs[i].chunk = chunk == 0 ? bytes : chunk < least ? least : chunk;
        legs[i].out = malloc(legs[i].bytes), legs[i].in = malloc(legs[i].bytes);
        memset(legs[i].out, 1, legs[i].bytes), memset(legs[i].in, 0, legs[i].bytes);
    }
    Parts parts = {atof(argv[4]) * 1e-6, atof(argv[5]) * 1e-6, atof(argv[6]) * 1e-6};
    int modes[MOST_MODES] = {ALONE, WORK, QUIET}, count = 3;
    for (int i = fixed; i < argc; i++) modes[count++] = atoi(argv[i]);
    calibrate();
    static double times[MOST_MODES][TURNS];
    for (int turn = 0; turn < TURNS; turn++) {
        for (int m = 0; m < count; m++) {
            for (int i = 0; i < steps / 10; i++) step(modes[m], parts, legs);
            MPI_Barrier(MPI_COMM_WORLD);
            double begun = MPI_Wtime();
            for (int i = 0; i < steps; i++) step(modes[m], parts, legs);
            double mine = (MPI_Wtime() - begun) / steps;
            MPI_Allreduce(&mine, &times[m][turn], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) {
        printf("mode,step_us,hidden_percent\n");
        double alone = median(times[0]), busy = median(times[1]);
        printf("messages alone,%.1f,\nwork alone,%.1f,\n", alone * 1e6, busy * 1e6);
        for (int m = 2; m < count; m++) {
            double both = median(times[m]);
            if (modes[m] == QUIET) printf("no calls");
            else printf(modes[m] > 0 ? "test every %d us" : "thread, pauses of %d us", abs(modes[m]));
            printf(",%.1f,%.0f\n", both * 1e6, 100 * (1 - (both - busy) / alone));
        }
    }
    MPI_Finalize();
    return 0;
}
