/* Plain C twins of `md-cli bench`, and the loops of OSU's benchmarks according to their
 * definitions, between two ranks. Memory is in large pages, like that of a context, or in plain
 * ones, which programs get by default (unless the system gives large pages to all), including
 * OSU's benchmarks. One of OSU's loops is changed: osu_bw receives all messages in one place,
 * which MPI forbids (MPI-3.1 section 3.7.2); here each has a separate place.
 * usage: mpirun -n 2 bench SAMPLES large|plain WALK_BYTES BYTES...
 * prints: name,bytes,time_s: the smallest sample, of the slower rank (for passive, of rank 0) */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { MANY = 64, NEIGHBOURS = 26, OTHERS = 18, MOST_SAMPLES = 1000, ALIGNMENT = 64, LARGE_PAGE = 2 << 20, AHEAD = MANY + 1 };
/* Block size and number of streams of the copies. */
enum { BLOCK = 2048, STREAMS = 19 };
/* Pushes and pulls each go to another place within at least LEAST_WALK bytes; ARRAYS arrays go
 * to each neighbour. */
enum { LEAST_WALK = 32 << 20, ARRAYS = 3, NUMBER = 8 };
/* Bytes that each of the two ranks passes through, as in `md-cli bench --walk`. */
static size_t walk;
/* Number of calls for progress during a computation, for messages of at least LEAST_OVERLAPPED
 * bytes; number of samples of the wait for a computing rank, and of puts into the own window
 * before each. Below: duration of that computation. */
enum { CALLS = 16, WAITS = 24, WARM_UP = 4, LEAST_OVERLAPPED = 100000 };
static const double computation_s = 0.24, start_s = 0.005;
static const double sample_s = 0.005;

static int rank, peer, bytes, advice;
static char *from, *to, *posted, *private_bytes, *base;
static MPI_Win window, wide, halo, single;
static MPI_Datatype numbers;
static uint64_t number;

static void there_and_back(size_t place) {
    if (rank == 0) MPI_Send(from + place * bytes, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(to + place * bytes, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(from + place * bytes, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
}

static void osu_latency(void) { there_and_back(0); }

/* Two alternating places, because one message may still be in flight when the next is written,
 * and the last received one may still be read. */
static int turn;

static void roundtrip(void) { there_and_back(turn = 1 - turn); }
/* The round trip with the rules of a context: a receive is posted before the peer can send, in
 * another place than the last received message, which may still be read, and no call blocks. */
static MPI_Request ahead = MPI_REQUEST_NULL;
static int arrivals;

static void post(void) {
    arrivals = 1 - arrivals;
    MPI_Irecv(posted + (size_t)arrivals * bytes, bytes, MPI_BYTE, peer, AHEAD, MPI_COMM_WORLD, &ahead);
}

static void take(void) {
    int many = 0, which;
    MPI_Status status;
    while (many < 1) MPI_Testsome(1, &ahead, &many, &which, &status);
    post();
}

static void nonblocking(void) {
    MPI_Request sent;
    if (ahead == MPI_REQUEST_NULL) post();
    if (rank == 1) take();
    turn = 1 - turn;
    MPI_Isend(from + (size_t)turn * bytes, bytes, MPI_BYTE, peer, AHEAD, MPI_COMM_WORLD, &sent);
    if (rank == 0) take();
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

static void *room_for(size_t size) {
    size_t whole = (size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    char *room = aligned_alloc(LARGE_PAGE, whole);
    madvise(room, whole, advice);
    return memset(room, 0, size);
}

/* Position of the word that signals a put, behind the bytes. */
static MPI_Aint word(void) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static void tell(uint64_t value) {
    MPI_Put(from, bytes, MPI_BYTE, peer, 0, bytes, MPI_BYTE, window);
    MPI_Win_flush_all(window);
    MPI_Accumulate(&value, 1, MPI_UINT64_T, peer, word(), 1, MPI_UINT64_T, MPI_REPLACE, window);
    MPI_Win_flush_all(window);
}

static void await(uint64_t value) {
    int found;
    while (__atomic_load_n((uint64_t *)(base + word()), __ATOMIC_ACQUIRE) != value)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
}

static void put(void) {
    number += 2;
    if (rank == 0) tell(number), await(number + 1);
    else await(number), tell(number + 1);
}

/* All messages are sent from one place, as in OSU's benchmarks, or each alternately from two
 * places, as in a halo exchange. */
enum { ONE_PLACE = 0, OWN_PLACES = 1 };

static void stream(size_t places) {
    MPI_Request requests[MANY];
    turn = 1 - turn;
    for (int i = 0; i < MANY; i++) {
        char *out = from + places * (turn * MANY + i) * bytes;
        if (rank == 0) MPI_Isend(out, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
        else MPI_Irecv(to + (size_t)i * bytes, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
}

static void bandwidth(void) { stream(OWN_PLACES); }

static void osu_bw(void) {
    stream(ONE_PLACE);
    if (rank == 0) MPI_Recv(to, 4, MPI_BYTE, peer, MANY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else MPI_Send(from, 4, MPI_BYTE, peer, MANY, MPI_COMM_WORLD);
}

static void osu_put(void) {
    if (rank == 0) MPI_Put(from, bytes, MPI_BYTE, peer, 0, bytes, MPI_BYTE, window), MPI_Win_flush(peer, window);
}

static void osu_get(void) {
    if (rank == 0) MPI_Get(to, bytes, MPI_BYTE, peer, 0, bytes, MPI_BYTE, window), MPI_Win_flush(peer, window);
}

/* 18 of the 26 neighbours on a torus of two ranks are the other rank. */
static void sync26(void) {
    MPI_Request requests[2 * NEIGHBOURS];
    turn = 1 - turn;
    for (int i = 0; i < NEIGHBOURS; i++) {
        int other = i < OTHERS ? peer : rank;
        MPI_Irecv(to + (size_t)i * bytes, bytes, MPI_BYTE, other, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < NEIGHBOURS; i++) {
        int other = i < OTHERS ? peer : rank;
        char *out = from + (size_t)(turn * NEIGHBOURS + i) * bytes;
        memcpy(out, private_bytes, bytes);
        MPI_Isend(out, bytes, MPI_BYTE, other, i, MPI_COMM_WORLD, &requests[NEIGHBOURS + i]);
    }
    MPI_Waitall(2 * NEIGHBOURS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < NEIGHBOURS; i++) memcpy(private_bytes, to + (size_t)i * bytes, bytes);
}

/* Both neighbours on a ring of two ranks are the other rank. Includes copies at both ends. */
static void ringshift(void) {
    MPI_Request requests[4];
    turn = 1 - turn;
    for (int i = 0; i < 2; i++) MPI_Irecv(to + (size_t)i * bytes, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 2; i++) {
        char *out = from + (size_t)(turn * 2 + i) * bytes;
        memcpy(out, private_bytes, bytes);
        MPI_Isend(out, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[2 + i]);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; i++) memcpy(private_bytes, to + (size_t)i * bytes, bytes);
}

/* Every second number of a matrix, as a datatype or packed beforehand. */
static void strided(void) {
    if (rank != 0) return;
    MPI_Put(from, 1, numbers, peer, 0, bytes / sizeof(double), MPI_DOUBLE, window);
    MPI_Win_flush(peer, window);
}

static void strided_packed(void) {
    if (rank != 0) return;
    double *packed = (double *)private_bytes, *matrix = (double *)from;
    for (size_t i = 0; i < bytes / sizeof(double); i++) packed[i] = matrix[2 * i];
    MPI_Put(packed, bytes, MPI_BYTE, peer, 0, bytes, MPI_BYTE, window);
    MPI_Win_flush(peer, window);
}

/* One put per number, and one flush. */
static void elementwise(void) {
    if (rank != 0) return;
    for (int i = 0; i < bytes; i += sizeof(double)) MPI_Put(from + i, sizeof(double), MPI_BYTE, peer, i, sizeof(double), MPI_BYTE, window);
    MPI_Win_flush(peer, window);
}

static size_t place;

static size_t next_place(void) { return (place = place + 1 < walk / bytes ? place + 1 : 0) * bytes; }

static void push(void) {
    MPI_Put(from, bytes, MPI_BYTE, peer, next_place(), bytes, MPI_BYTE, wide);
    MPI_Win_flush(peer, wide);
}

static void pull(void) {
    MPI_Get(to, bytes, MPI_BYTE, peer, next_place(), bytes, MPI_BYTE, wide);
    MPI_Win_flush(peer, wide);
}

/* Three arrays to each of 26 neighbours and a fence: separately, or copied into one message. */
static void to_neighbours(int piece) {
    size_t message = (size_t)ARRAYS * bytes;
    for (size_t i = 0; i < NEIGHBOURS; i++)
        for (size_t at = i * message; at < (i + 1) * message; at += piece)
            MPI_Put(from + at, piece, MPI_BYTE, i < OTHERS ? peer : rank, at, piece, MPI_BYTE, halo);
    MPI_Win_fence(0, halo);
}

static void three(void) { to_neighbours(bytes); }

static void packed(void) {
    for (int i = 0; i < NEIGHBOURS * ARRAYS; i++) memcpy(from + (size_t)i * bytes, private_bytes + (size_t)(i % ARRAYS) * bytes, bytes);
    to_neighbours(ARRAYS * bytes);
}

/* Both neighbours on a ring of two ranks, without copies, with receives posted one exchange
 * ahead: alone, during a computation of equal duration, and during one with calls for progress. */
static MPI_Request both_ways[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
static long units;

/* Not inlined, so that the trial and the timed runs use one piece of code. */
__attribute__((noinline)) static void compute(long count) {
    double values[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    __asm__ volatile("" : "+m"(values));
    for (long i = 0; i < count; i++)
        for (int j = 0; j < 8; j++) values[j] = __builtin_fma(values[j], 0.999999, 1e-6);
    __asm__ volatile("" : "+m"(values));
}

static void post_both(void) {
    for (int i = 0; i < 2; i++)
        MPI_Irecv(posted + (size_t)i * bytes, bytes, MPI_BYTE, peer, AHEAD + i, MPI_COMM_WORLD, &both_ways[i]);
}

static void exchange(long work, int calls) {
    int is_complete;
    if (both_ways[0] == MPI_REQUEST_NULL) post_both();
    turn = 1 - turn;
    for (int i = 0; i < 2; i++)
        MPI_Isend(from + (size_t)(turn * 2 + i) * bytes, bytes, MPI_BYTE, peer, AHEAD + i, MPI_COMM_WORLD, &both_ways[2 + i]);
    for (int i = 0; i < calls; i++) {
        compute(work / CALLS);
        MPI_Testall(4, both_ways, &is_complete, MPI_STATUSES_IGNORE);
    }
    if (calls == 0) compute(work);
    MPI_Waitall(4, both_ways, MPI_STATUSES_IGNORE);
    post_both();
}

static void overlap_communication(void) { exchange(0, 0); }
static void overlap_computation(void) { compute(units); }
static void overlap_both(void) { exchange(units, 0); }
static void overlap_progress(void) { exchange(units, CALLS); }

/* Cancels receives that a twin has posted for an exchange that does not follow. */
static void take_back(void) {
    MPI_Request *all[] = {&ahead, &both_ways[0], &both_ways[1]};
    for (int i = 0; i < 3; i++)
        if (*all[i] != MPI_REQUEST_NULL) MPI_Cancel(all[i]), MPI_Wait(all[i], MPI_STATUS_IGNORE);
}

static void compute_for(double seconds) {
    for (double begun = MPI_Wtime(); MPI_Wtime() - begun < seconds;) continue;
}

static void put_alone(int target) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, single);
    MPI_Put(from, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, single);
    MPI_Win_unlock(target, single);
}

/* Rank 0 locks, puts and unlocks while the other rank computes and calls MPI only for the time.
 * The result is the shortest time of rank 0, which first does this with its own window to have
 * the code in its caches. */
static void passive(void) {
    double least = 1;
    for (int i = 0; i < WAITS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        compute_for(rank == 0 ? start_s : computation_s);
        if (rank != 0) continue;
        for (int j = 0; j < WARM_UP; j++) put_alone(rank);
        double begun = MPI_Wtime();
        put_alone(peer);
        double taken = MPI_Wtime() - begun;
        least = taken < least ? taken : least;
    }
    if (rank == 0) printf("passive,%d,%.9g\n", bytes, least);
}

/* Copies a block of each of several streams in turn. A single stream has blocks that memcpy
 * moves by plain loads and stores; all blocks together fit into a first-level cache. */
static void copy_in_turn(int streams, int block) {
    int each = (bytes + streams - 1) / streams;
    for (int at = 0; at < each; at += block)
        for (int stream = 0; stream < streams; stream++) {
            int start = stream * each + at, end = stream * each + (at + block < each ? at + block : each);
            end = end < bytes ? end : bytes;
            if (start < end) memcpy(to + start, from + start, end - start);
        }
    __asm__ volatile("" ::: "memory");
}

static void copy(void) { copy_in_turn(1, BLOCK); }
static void copy_19(void) { copy_in_turn(STREAMS, BLOCK / 4); }

/* Copies with stores past the caches, if the CPU has them. */
static void copy_streaming(void) {
    int streamed = 0;
#ifdef __SSE2__
    for (; streamed + (int)sizeof(__m128i) <= bytes; streamed += sizeof(__m128i))
        _mm_stream_si128((__m128i *)(to + streamed), _mm_loadu_si128((__m128i *)(from + streamed)));
    _mm_sfence();
#endif
    memcpy(to + streamed, from + streamed, bytes - streamed);
    __asm__ volatile("" ::: "memory");
}

static double many(void (*once)(void), int iterations) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begun = MPI_Wtime();
    for (int i = 0; i < iterations; i++) once();
    double taken = MPI_Wtime() - begun;
    MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return taken;
}

/* Chooses a computation as long as an exchange alone, equal on both ranks, by the shortest of
 * several trials. */
static void choose_units(void) {
    enum { TRIALS = 5, TRIAL = 200000, EXCHANGES = 4 };
    double unit_s = 1, exchange_s = 1;
    for (int i = 0; i < TRIALS; i++) {
        double begun = MPI_Wtime();
        compute(TRIAL);
        double taken = (MPI_Wtime() - begun) / TRIAL;
        unit_s = taken < unit_s ? taken : unit_s;
    }
    for (int i = 0; i < TRIALS; i++) {
        double taken = many(overlap_communication, EXCHANGES) / EXCHANGES;
        exchange_s = taken < exchange_s ? taken : exchange_s;
    }
    double wanted = exchange_s / unit_s;
    MPI_Allreduce(MPI_IN_PLACE, &wanted, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    units = wanted;
}

static void measure(const char *name, void (*once)(void), int samples) {
    double taken[MOST_SAMPLES];
    int trial = 1, iterations;
    while ((taken[0] = many(once, trial)) < sample_s / 10) trial *= 4;
    iterations = (int)(sample_s / taken[0] * trial) + 1;
    for (int i = 0; i < samples; i++) taken[i] = many(once, iterations) / iterations;
    double least = taken[0];
    for (int i = 1; i < samples; i++) least = taken[i] < least ? taken[i] : least;
    if (rank == 0) printf("%s,%d,%.9g\n", name, bytes, least);
}

int main(int count, char **words) {
    /* `least` is the minimum size of the messages in bytes. */
    static const struct { const char *name; void (*once)(void); int least; } twins[] = {
        {"roundtrip", roundtrip, 0}, {"nonblocking", nonblocking, 0}, {"put", put, 0}, {"bandwidth", bandwidth, 0}, {"sync26", sync26, 0},
        {"ringshift", ringshift, 0}, {"strided", strided, 0}, {"strided_packed", strided_packed, 0}, {"elementwise", elementwise, 0},
        {"push", push, 0}, {"pull", pull, 0}, {"packing_three", three, 0}, {"packing_packed", packed, 0}, {"copy", copy, 0},
        {"copy_19", copy_19, 0}, {"copy_streaming", copy_streaming, 0},
        {"overlap_communication", overlap_communication, LEAST_OVERLAPPED},
        {"overlap_computation", overlap_computation, LEAST_OVERLAPPED},
        {"overlap_both", overlap_both, LEAST_OVERLAPPED}, {"overlap_progress", overlap_progress, LEAST_OVERLAPPED},
        {"osu_latency", osu_latency, 0}, {"osu_bw", osu_bw, 0}, {"osu_put_latency", osu_put, 0}, {"osu_get_latency", osu_get, 0},
    };
    MPI_Init(&count, &words);
    int is_plain = count > 2 && strcmp(words[2], "plain") == 0, is_large = count > 2 && strcmp(words[2], "large") == 0;
    advice = is_plain ? MADV_NOHUGEPAGE : MADV_HUGEPAGE;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = 1 - rank;
    int samples = count > 1 ? atoi(words[1]) : 0;
    if (samples < 1 || samples > MOST_SAMPLES || !(is_plain || is_large) || count < 5 || atol(words[3]) < LEAST_WALK) MPI_Abort(MPI_COMM_WORLD, 2);
    walk = count > 3 ? strtoul(words[3], NULL, 10) : 0;
    for (int i = 4; i < count; i++)
        if (atoi(words[i]) < NUMBER || atoi(words[i]) % NUMBER != 0 || atoi(words[i]) > LEAST_WALK) {
            fprintf(stderr, "%s: bytes are multiples of %d, at most %d\n", words[i], NUMBER, LEAST_WALK);
            MPI_Abort(MPI_COMM_WORLD, 2);
        }
    /* Allocate both ranks' pages and make them known to both before any measurement. */
    char *memory;
    MPI_Win_allocate(walk, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &wide);
    memset(memory, 0, walk);
    MPI_Win_lock_all(0, wide);
    MPI_Win_sync(wide);
    MPI_Barrier(MPI_COMM_WORLD);
    char *all = room_for(walk);
    MPI_Get(all, walk, MPI_BYTE, peer, 0, walk, MPI_BYTE, wide);
    MPI_Win_flush(peer, wide);
    free(all);
    for (int i = 4; i < count; i++) {
        bytes = atoi(words[i]);
        size_t room = (size_t)ARRAYS * NEIGHBOURS * bytes + ALIGNMENT;
        from = room_for(2 * room), to = room_for(room), posted = room_for(2 * bytes), private_bytes = room_for(room);
        MPI_Win_allocate(word() + ALIGNMENT, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
        memset(base, 0, word() + ALIGNMENT);
        number = 0;
        MPI_Type_vector(bytes / sizeof(double), 1, 2, MPI_DOUBLE, &numbers);
        MPI_Type_commit(&numbers);
        MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &single);
        memset(memory, 0, bytes);
        MPI_Win_allocate((MPI_Aint)ARRAYS * NEIGHBOURS * bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &halo);
        memset(memory, 0, (size_t)ARRAYS * NEIGHBOURS * bytes);
        passive();
        MPI_Win_fence(0, halo);
        MPI_Win_lock_all(0, window);
        for (size_t j = 0; j < sizeof twins / sizeof *twins; j++) {
            if (bytes < twins[j].least) continue;
            if (twins[j].once == overlap_computation) choose_units();
            measure(twins[j].name, twins[j].once, samples);
            take_back();
        }
        MPI_Type_free(&numbers);
        MPI_Win_unlock_all(window);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, halo);
        MPI_Win_free(&window), MPI_Win_free(&halo), MPI_Win_free(&single);
        free(from), free(to), free(posted), free(private_bytes);
    }
    MPI_Win_unlock_all(wide);
    MPI_Win_free(&wide);
    MPI_Finalize();
}
