# Builds the library with its tests, its harness and (with the word "bench") its benchmark.
set -eu
mkdir -p out
flags="-std=c++17 -O1 -Wall -Isrc -Itests -Ichecks -pthread"
g++ $flags -c src/*.cc
mv ./*.o out/
g++ $flags -o out/tally_test tests/tally_test.cc out/*.o &
g++ $flags -o out/work checks/work.cc out/*.o &
if [ "${1:-}" = bench ]; then g++ $flags -o out/bench checks/bench.cc out/*.o; fi
wait %1
wait %2
