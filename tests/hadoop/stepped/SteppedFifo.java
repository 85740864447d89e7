package org.apache.hadoop.mapred;

import java.io.IOException;

/** The default scheduler; its jobs are initialised before the test goes further. */
class SteppedFifo extends JobQueueTaskScheduler implements SteppedScheduler.Stepped {
  @Override
  public synchronized void start() throws IOException {
    super.start();
    // Jobs are initialised by the test, not by threads.
    taskTrackerManager.removeJobInProgressListener(eagerTaskInitializationListener);
  }

  @Override
  public void advanceTo(long ms) {}

  @Override
  public void jobsChanged() {
    for (JobInProgress job : getJobs("default").toArray(new JobInProgress[0])) {
      if (!job.inited() && job.getStatus().getRunState() == JobStatus.PREP) {
        taskTrackerManager.initJob(job);
      }
    }
  }
}
