#!/usr/bin/env bash
# fault-matrix.sh [WORD...]: runs the fault matrix, which is every fault on every backend and 2, 3
# and 4 ranks, or only the cases that contain all of the words, such as `stop-long rma-fence`.
# Prints a table as CSV and counts. The exit code is 1 on any failure or if no case matches. Part of
# the matrix is included in `cargo test`. Mounting small disks needs root; without it, those cases
# are skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

MD_FAULTS=full MD_FAULTS_ONLY="$*" exec cargo test --quiet --workspace --test faults
