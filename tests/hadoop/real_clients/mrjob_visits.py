"""The address with most visits, in two steps; --fail has the mapper fail."""

from mrjob.job import MRJob
from mrjob.step import MRStep


class Visits(MRJob):
    def configure_args(self):
        super().configure_args()
        self.add_passthru_arg("--fail", action="store_true")

    def steps(self):
        return [
            MRStep(mapper=self.visits, combiner=self.total, reducer=self.total_alone),
            MRStep(reducer=self.most),
        ]

    def visits(self, _, line):
        if self.options.fail:
            raise ValueError("visits are refused")
        _, url, times = line.split("\t")
        self.increment_counter("visits", "rows", 1)
        yield url, int(times)

    def total(self, url, times):
        yield url, sum(times)

    def total_alone(self, url, times):
        yield None, (sum(times), url)

    def most(self, _, totals):
        total, url = max(totals)
        yield url, total


if __name__ == "__main__":
    Visits.run()
