package org.apache.hadoop.mapred;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

import org.apache.hadoop.fs.Path;

/**
 * The Capacity scheduler; the poller looks for jobs to initialise at once whenever a job was added or has changed, and
 * initialises them itself.
 */
class SteppedCapacity extends CapacityTaskScheduler implements SteppedScheduler.Stepped {
  private final Path file;
  private SteppedPoller poller;

  SteppedCapacity(Path file) {
    this.file = file;
  }

  @Override
  public synchronized void start() throws IOException {
    setResourceManagerConf(new CapacitySchedulerConf(file));
    poller = new SteppedPoller(jobQueuesManager, schedConf, taskTrackerManager.getQueueManager().getQueues(),
        taskTrackerManager);
    setInitializationPoller(poller);
    super.start();
  }

  @Override
  public void advanceTo(long ms) {}

  @Override
  public void jobsChanged() {
    poller.poll();
  }

  private static class SteppedPoller extends JobInitializationPoller {
    private final List<IdleWorker> workers = new ArrayList<IdleWorker>();
    private boolean isPolling;

    SteppedPoller(JobQueuesManager queues, CapacitySchedulerConf conf, Set<String> names, TaskTrackerManager manager) {
      super(queues, conf, names, manager);
    }

    @Override
    public void run() {}

    @Override
    JobInitializationThread createJobInitializationThread() {
      IdleWorker worker = new IdleWorker();
      workers.add(worker);
      return worker;
    }

    void poll() {
      // Initialising a job may change it.
      if (isPolling) {
        return;
      }
      isPolling = true;
      try {
        cleanUpInitializedJobsList();
        selectJobsToInitialize();
        for (IdleWorker worker : workers) {
          worker.initializeJobs();
        }
      } finally {
        isPolling = false;
      }
    }

    /** A worker that never runs by itself. */
    private class IdleWorker extends JobInitializationThread {
      @Override
      public void start() {}
    }
  }
}
