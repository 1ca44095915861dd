#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The benchmark of the GPU's way: all rates and all latencies, each of something; and
# what it says where there is no GPU of that name.
#   qa_bench_gpu.sh PROGRAM
GR_RDMA=$1
# shellcheck source=qa_loopback_common.sh
. "$(dirname "$0")/qa_loopback_common.sh"
"$GR_RDMA" bench gpu --memory cuda:99 >/dev/null 2>"$WORK/err"
code=$?
[ $code -eq 2 ] || fail "bench gpu on cuda:99 ended with $code: $(cat "$WORK/err")"
grep -q "cuda:99" "$WORK/err" || fail "no word of cuda:99: $(cat "$WORK/err")"
"$GR_RDMA" bench gpu --memory host >/dev/null 2>"$WORK/err"
code=$?
[ $code -eq 2 ] || fail "bench gpu on host ended with $code: $(cat "$WORK/err")"
grep -q -- "--memory='host': name the GPU" "$WORK/err" || fail "no word of host: $(cat "$WORK/err")"
"$GR_RDMA" bench gpu --json --seconds "${RDMA_PATIENCE:-1}e-1" --rounds 1 --samples 50 >"$WORK/bench" 2>"$WORK/err"
code=$?
if [ $code -eq 2 ] && grep -q "no NVIDIA driver\|no GPU\|no device" "$WORK/err"; then
    echo "SKIP: $(cat "$WORK/err")"
    case ",${RDMA_REQUIRE:-}," in *,gpu,*) exit 1 ;; esac
    exit 77
fi
[ $code -eq 0 ] || fail "bench gpu ended with $code: $(cat "$WORK/err")"
[ "$(grep -o '"ring_bytes_per_second":[1-9]' "$WORK/bench" | wc -l)" -eq 5 ] ||
    fail "not five rates: $(cat "$WORK/bench")"
[ "$(grep -o '"median_us":[0-9]*\.*[0-9]*' "$WORK/bench" | wc -l)" -eq 7 ] ||
    fail "not seven latencies: $(cat "$WORK/bench")"
[ "$(grep -o '"mtu":4096,"bytes_per_second":[1-9]' "$WORK/bench" | wc -l)" -eq 3 ] ||
    fail "not three rates of spectra: $(cat "$WORK/bench")"
for path in "launch alone" ordinary wait=event wait=busy udp_source "rdma.source, RC"; do
    grep -q "\"path\":\"[^\"]*$path" "$WORK/bench" || fail "nothing of $path"
done
[ "$FAILED" -eq 0 ] && echo ok
exit "$FAILED"
