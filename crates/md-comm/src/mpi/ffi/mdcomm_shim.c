/* Functions for constants of MPI that bindgen cannot read (macros with casts, addresses of globals)
 * or whose names and types differ between libraries, and for the system's limits of shared memory.
 * Compiled with the same MPI as mpi-sys. */
#include <mpi.h>
#include <stdint.h>
#include <sys/statvfs.h>

MPI_Op mdc_replace(void) { return MPI_REPLACE; }
MPI_Op mdc_no_op(void) { return MPI_NO_OP; }
int mdc_mode_nocheck(void) { return MPI_MODE_NOCHECK; }
int mdc_mode_nosucceed(void) { return MPI_MODE_NOSUCCEED; }
int mdc_mode_noprecede(void) { return MPI_MODE_NOPRECEDE; }
int mdc_mode_nostore(void) { return MPI_MODE_NOSTORE; }
int mdc_lock_exclusive(void) { return MPI_LOCK_EXCLUSIVE; }
int mdc_mode_noput(void) { return MPI_MODE_NOPUT; }

/* Whether the window has the unified memory model (MPI-3.1 section 11.4). */
int mdc_is_unified(MPI_Win window, int *unified) {
    int *model = 0;
    int found = 0;
    int code = MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &found);
    *unified = code == MPI_SUCCESS && found && *model == MPI_WIN_UNIFIED;
    return code;
}

/* Bytes that are free in /dev/shm; UINT64_MAX where there is no such folder. */
uint64_t mdc_free_shared_memory(void) {
    struct statvfs system;
    return statvfs("/dev/shm", &system) == 0 ? (uint64_t)system.f_bavail * system.f_frsize : UINT64_MAX;
}
