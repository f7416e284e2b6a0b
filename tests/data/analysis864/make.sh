#!/usr/bin/env bash
# Makes rdf.csv, msd.csv and profile.csv from in.lmp with the LAMMPS that is installed.
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
{
    echo "# compute chunk/atom bin/1d and fix ave/chunk of LAMMPS $version: atoms of all types, then of the first; made by make.sh"
    echo "share,atoms,density,temperature,velocity_x,velocity_y,velocity_z,stress_xx,stress_yy,stress_zz,density_A"
    paste -d ' ' profile.txt profile_A.txt |
        awk '/^#/ || NF < 14 { next } { print $2 "," $3 "," $4 "," $5 "," $6 "," $7 "," $8 "," $9 "," $10 "," $11 "," $15 }'
} > profile.csv
rm rdf.txt msd.txt profile.txt profile_A.txt
