package org.apache.hadoop.mapred;

/**
 * The Fair scheduler on a clock of its own. Updates come every mapred.fairscheduler.update.interval of that clock, the first
 * one interval after the start, as those of its thread would on an idle machine. The first check of preemption comes with
 * the first update, the others mapred.fairscheduler.preemption.interval apart.
 */
class SteppedFair extends FairScheduler implements SteppedScheduler.Stepped {
  /** Far from 0, which the original takes for "never". */
  private static final long START_MS = 1000000000L;

  private final SteppedClock stepped;
  private long nextUpdateMs;

  SteppedFair() {
    this(new SteppedClock());
  }

  private SteppedFair(SteppedClock clock) {
    // The second argument: no threads.
    super(clock, true);
    stepped = clock;
  }

  @Override
  public void start() {
    super.start();
    nextUpdateMs = updateInterval;
  }

  @Override
  public void advanceTo(long ms) {
    while (nextUpdateMs <= ms) {
      stepped.nowMs = START_MS + nextUpdateMs;
      update();
      preemptTasksIfNecessary();
      nextUpdateMs += updateInterval;
    }
    stepped.nowMs = START_MS + ms;
  }

  @Override
  public void jobsChanged() {}

  private static class SteppedClock extends Clock {
    private long nowMs = START_MS;

    @Override
    long getTime() {
      return nowMs;
    }
  }
}
