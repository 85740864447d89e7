package org.apache.hadoop.mapred;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Collection;
import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.server.jobtracker.TaskTracker;
import org.apache.hadoop.util.StringUtils;

/**
 * Runs an original scheduler inside a stock JobTracker, with its clock and its background work under the control of a test.
 *
 * Listens on 127.0.0.1, port stepped.scheduler.port. Each line is a command and is answered by a line "ok" or "error ...":
 * "fresh fifo|capacity|fair FOLDER" replaces the scheduler by a new one with the configuration files of that folder, at
 * time 0; "time MS" does the background work that is due until that time, each piece at its own time.
 */
public class SteppedScheduler extends TaskScheduler {
  /** An original scheduler whose background work is done when a test wants it. */
  interface Stepped {
    /** Does the background work that is due until this time after the start, in ms. */
    void advanceTo(long ms) throws IOException;

    /** A job was added, changed or removed. */
    void jobsChanged() throws IOException;
  }

  private volatile TaskScheduler inner;
  private volatile JobInProgressListener follower;

  @Override
  public void start() throws IOException {
    int port = getConf().getInt("stepped.scheduler.port", 0);
    final ServerSocket socket = new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"));
    replace("fifo", null);
    Thread control = new Thread("control of the scheduler") {
      @Override
      public void run() {
        serve(socket);
      }
    };
    control.setDaemon(true);
    control.start();
  }

  @Override
  public void terminate() throws IOException {
    inner.terminate();
  }

  @Override
  public List<Task> assignTasks(TaskTracker tracker) throws IOException {
    return inner.assignTasks(tracker);
  }

  @Override
  public Collection<JobInProgress> getJobs(String queue) {
    return inner.getJobs(queue);
  }

  @Override
  public void checkJobSubmission(JobInProgress job) throws IOException {
    inner.checkJobSubmission(job);
  }

  private void serve(ServerSocket socket) {
    while (true) {
      try (Socket connection = socket.accept()) {
        BufferedReader lines = new BufferedReader(new InputStreamReader(connection.getInputStream(), "UTF-8"));
        PrintStream answers = new PrintStream(connection.getOutputStream(), true, "UTF-8");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
          answers.println(execute(line));
        }
      } catch (IOException broken) {
        System.err.println(StringUtils.stringifyException(broken));
      }
    }
  }

  private String execute(String line) {
    String[] words = line.split(" ");
    try {
      // The JobTracker's lock first, as in a heartbeat.
      synchronized (taskTrackerManager) {
        if (words[0].equals("fresh") && words.length == 3) {
          replace(words[1], words[2]);
        } else if (words[0].equals("time") && words.length == 2) {
          ((Stepped) inner).advanceTo(Long.parseLong(words[1]));
        } else {
          return "error unknown command: " + line;
        }
      }
      return "ok";
    } catch (Exception failed) {
      return "error " + StringUtils.stringifyException(failed).replace('\n', ' ');
    }
  }

  private synchronized void replace(String name, String folder) throws IOException {
    Configuration conf = new JobConf(getConf());
    if (folder != null) {
      conf.addResource(new Path(new File(folder, "mapred-site.xml").toURI()));
    }
    TaskScheduler next;
    switch (name) {
      case "fifo":
        next = new SteppedFifo();
        break;
      case "capacity":
        next = new SteppedCapacity(new Path(new File(folder, "capacity-scheduler.xml").toURI()));
        break;
      case "fair":
        next = new SteppedFair();
        break;
      default:
        throw new IOException("no scheduler is called " + name);
    }
    next.setConf(conf);
    next.setTaskTrackerManager(taskTrackerManager);
    if (inner != null) {
      taskTrackerManager.removeJobInProgressListener(follower);
      inner.terminate();
    }
    next.start();
    inner = next;
    // Listeners are called in the order in which they were added: this one after the scheduler's own.
    follower = new Follower((Stepped) next);
    taskTrackerManager.addJobInProgressListener(follower);
  }

  /** Reports each change of a job to the scheduler. */
  private static class Follower extends JobInProgressListener {
    private final Stepped scheduler;

    Follower(Stepped scheduler) {
      this.scheduler = scheduler;
    }

    @Override
    public void jobAdded(JobInProgress job) throws IOException {
      scheduler.jobsChanged();
    }

    @Override
    public void jobRemoved(JobInProgress job) {}

    @Override
    public void jobUpdated(JobChangeEvent event) {
      try {
        scheduler.jobsChanged();
      } catch (IOException failed) {
        throw new IllegalStateException(failed);
      }
    }
  }
}
