"""The zygote in which the walls were tried: it is as good as any other, so the first worker takes it."""

from __future__ import annotations

from passcurve.sandbox.zygote_client import ZygoteClient, ZygoteSettings


class SpareZygote:
    """A place for one zygote of samples, whose walls stand.  ``close`` ends it if nobody has taken it."""

    def __init__(self, cpu: int | None = None) -> None:
        """``cpu``: the core that it is for."""
        self.cpu = cpu
        self._client: ZygoteClient | None = None
        self._settings: ZygoteSettings | None = None

    def put(self, client: ZygoteClient, settings: ZygoteSettings) -> None:
        """Leave a zygote, in the place of that which is there."""
        self.close()
        self._client, self._settings = client, settings

    def take(self, settings: ZygoteSettings, cpu: int | None) -> ZygoteClient | None:
        """Return the zygote if it was built with these settings for this core; else end it and return None."""
        if (settings, cpu) != (self._settings, self.cpu):
            self.close()
        client, self._client = self._client, None
        return client

    def close(self) -> None:
        """End it."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
