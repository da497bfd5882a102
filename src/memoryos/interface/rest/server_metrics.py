"""Server metrics: counts and times of requests, in the text format of Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from memoryos.distribution import VERSION


class ServerMetrics:
    """What one server counts. Labels are addresses without their values, so that there are few of them."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ["method", "route"]
        self._requests = Counter(
            "memoryos_requests", "Requests by route and status.", [*labels, "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "memoryos_request_seconds", "Time until a request is answered completely.", labels, registry=self._registry
        )
        self._recalled = Counter(
            "memoryos_proxy_recalls", "What proxied requests got from memory.", ["status"], registry=self._registry
        )
        self._stored = Counter(
            "memoryos_proxy_exchanges", "What became of proxied exchanges.", ["status"], registry=self._registry
        )
        self.running = Gauge("memoryos_requests_running", "Requests that run now.", registry=self._registry)
        info = Gauge("memoryos_info", "The version of MemoryOS.", ["version"], registry=self._registry)
        info.labels(VERSION).set(1)

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that is over."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def recalled(self, status: str) -> None:
        """Count what a proxied request got from memory."""
        self._recalled.labels(status).inc()

    def stored(self, status: str) -> None:
        """Count what became of a proxied exchange with a complete answer."""
        self._stored.labels(status).inc()

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)
