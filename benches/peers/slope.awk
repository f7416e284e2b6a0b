# Reads lines "TIME ENERGY" and prints the slope of the energy: least squares over the last four
# fifths, because a melting crystal is not in equilibrium at first. Prints "-" for fewer than ten
# lines.
{ time[NR] = $1; energy[NR] = $2 }
END {
    first = int(NR / 5) + 1
    for (k = first; k <= NR; k++) { n++; t += time[k]; e += energy[k] }
    if (NR < 10) { print "-"; exit }
    t /= n; e /= n
    for (k = first; k <= NR; k++) { te += (time[k] - t) * (energy[k] - e); tt += (time[k] - t) ^ 2 }
    printf "%.2e\n", te / tt
}
