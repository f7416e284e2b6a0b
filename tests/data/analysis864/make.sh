#!/usr/bin/env bash
# Makes rdf.csv and msd.csv from in.lmp with the LAMMPS that is installed.
set -euo pipefail
cd "$(dirname "$0")"
version=$(lmp -h | awk '/Large-scale/ { sub(/.*Simulator - /, ""); version = $0 } END { print version }')
lmp -in in.lmp -log none -screen none
{
    echo "# compute rdf of LAMMPS $version, printed by fix ave/time; made by make.sh"
    echo "step,row,r,g_A_A,n_A_A,g_A_B,n_A_B,g_B_A,n_B_A,g_B_B,n_B_B"
    awk '/^#/ { next } NF == 2 { step = $1; next } step > 0 { gsub(/ /, ","); print step "," $0 }' rdf.txt
} > rdf.csv
{
    echo "# compute msd of LAMMPS $version, printed by fix ave/time; made by make.sh"
    echo "step,msd_A,msd_B,msd_without_centre"
    awk '/^#/ { next } { gsub(/ /, ","); print }' msd.txt
} > msd.csv
rm rdf.txt msd.txt
