#!/usr/bin/env bash
# fault-matrix.sh [WORD...]: the fault matrix, every fault on every backend and 2, 3 and 4 ranks, or the cases whose line
# contains all of the words, such as `stop-long rma-fence`. Prints a table as CSV and counts; exit code 1 on any failure, or if
# no case has these words. A slice of it is part of `cargo test`. Mounting small disks needs root; without, those cases are
# skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

MD_FAULTS=full MD_FAULTS_ONLY="$*" exec cargo test --quiet --workspace --test faults
