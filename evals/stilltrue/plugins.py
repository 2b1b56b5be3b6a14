"""The harness's plug-in points. Finding and making a plug-in is tombstore's mechanism, used as it is."""

from tombstore.plugins import UnknownPlugin, check, make, names, summaries

DOSES = "stilltrue.doses"
IMPORTERS = "stilltrue.importers"
METRICS = "stilltrue.metrics"
SYSTEMS = "stilltrue.systems"

__all__ = ["DOSES", "IMPORTERS", "METRICS", "SYSTEMS", "UnknownPlugin", "check", "make", "names", "summaries"]
