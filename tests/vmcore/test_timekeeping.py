"""The clocks on the layouts of several kernels."""

import pytest

from rdmadiag.vmcore.helpers.timekeeping import monotonic_nanoseconds, real_seconds, tick_rate

from .fake_kernel import FakeKernel

KEEPER = """
struct tk_read_base { u64 xtime_nsec; u32 shift; u64 base; };
struct timekeeper { struct tk_read_base tkr_mono; u64 xtime_sec; u64 ntp_tick; };
"""
DATA = """
struct tk_data { u64 seq; struct timekeeper timekeeper; struct timekeeper shadow_timekeeper; };
"""
IDS = "enum timekeeper_ids { TIMEKEEPER_CORE, TIMEKEEPER_AUX };"
TICK = (4_000_000 << 32) + 123_456_789
"""HZ is 250; a clock that is disciplined is never quite at it."""


def old():
    kernel = FakeKernel(KEEPER)
    kernel.set(kernel.variable("tick_nsec", "unsigned long"), 4_000_000)
    return kernel, kernel.variable("shadow_timekeeper", "struct timekeeper")


def core():
    kernel = FakeKernel(KEEPER, DATA)
    return kernel, kernel.variable("tk_core", "struct tk_data").shadow_timekeeper


def several():
    kernel = FakeKernel(KEEPER, DATA, IDS)
    return kernel, kernel.variable("timekeeper_data", "struct tk_data", 2)[0].shadow_timekeeper


@pytest.mark.parametrize("layout", [old, core, several])
def test_clocks(layout):
    kernel, keeper = layout()
    kernel.set(keeper.ntp_tick, TICK)
    kernel.set(keeper.xtime_sec, 1_700_000_000)
    kernel.set(keeper.tkr_mono.base, 5_000_000_000)
    kernel.set(keeper.tkr_mono.xtime_nsec, 7_000 << 8)
    kernel.set(keeper.tkr_mono.shift, 8)
    assert tick_rate(kernel.prog) == 250
    assert real_seconds(kernel.prog) == 1_700_000_000
    assert monotonic_nanoseconds(kernel.prog) == 5_000_007_000


def test_without_a_timekeeper_there_is_no_clock():
    with pytest.raises(LookupError, match="timekeeper was not found"):
        tick_rate(FakeKernel(KEEPER, DATA, IDS).prog)


@pytest.mark.parametrize("tick", [0, 1 << 63])
def test_a_tick_that_cannot_be_is_refused(tick):
    kernel, keeper = core()
    kernel.set(keeper.ntp_tick, tick)
    with pytest.raises(ValueError, match="tick_nsec"):
        tick_rate(kernel.prog)
