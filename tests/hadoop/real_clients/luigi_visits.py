"""Visits by address; --fail has the mapper fail."""

import luigi
import luigi.contrib.hadoop
import luigi.contrib.hdfs


class Rows(luigi.ExternalTask):
    folder = luigi.Parameter()

    def output(self):
        return luigi.contrib.hdfs.HdfsTarget(f"{self.folder}/visits.txt")


class Visits(luigi.contrib.hadoop.JobTask):
    folder = luigi.Parameter()
    fail = luigi.BoolParameter()
    n_reduce_tasks = 1

    def requires(self):
        return Rows(self.folder)

    def output(self):
        return luigi.contrib.hdfs.HdfsTarget(f"{self.folder}/{'refused' if self.fail else 'totals'}")

    def jobconfs(self):
        return [*super().jobconfs(), "mapred.map.tasks=1", "mapred.map.max.attempts=2"]

    def mapper(self, line):
        if self.fail:
            raise ValueError("visits are refused")
        _, url, times = line.split("\t")
        self.incr_counter("visits", "rows", 1)
        yield url, int(times)

    def reducer(self, url, times):
        yield url, sum(times)
