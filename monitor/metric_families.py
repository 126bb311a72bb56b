"""Makes metric families with the prefix of the bus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from replicator.model.histogram import Histogram


def gauge(name: str, text: str, labels: list[str], rows: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    """A gauge `bus_NAME`. `rows`: values of the labels, and the value."""
    family = GaugeMetricFamily(f"bus_{name}", text, labels=labels)
    for values, number in rows:
        family.add_metric(values, float(number))
    return family


def single(name: str, text: str, value: float) -> Metric:
    """A gauge `bus_NAME` without labels."""
    return GaugeMetricFamily(f"bus_{name}", text, value=float(value))


def counter(name: str, text: str, rows: Iterable[tuple[str, int]]) -> Metric:
    """A counter `bus_NAME_total`. `rows`: the task, and the value."""
    return labelled_counter(name, text, ["task"], (((task,), number) for task, number in rows))


def labelled_counter(name: str, text: str, labels: list[str], rows: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    """A counter `bus_NAME_total`. `rows`: values of the labels, and the value."""
    family = CounterMetricFamily(f"bus_{name}", text, labels=labels)
    for values, number in rows:
        family.add_metric(values, number)
    return family


def histogram(
    name: str, text: str, labels: list[str], bounds: Sequence[float], rows: Iterable[tuple[tuple[str, ...], Histogram]]
) -> Metric:
    """A histogram `bus_NAME`. `rows`: values of the labels, and the durations."""
    family = HistogramMetricFamily(f"bus_{name}", text, labels=labels)
    names = (*map(str, bounds), "+Inf")
    for values, durations in rows:
        buckets = list(zip(names, durations.cumulative(bounds), strict=True))
        family.add_metric(values, buckets, durations.sum_ms / 1000)
    return family
