"""Exactly once, by three rules: write down what is about to be done, look before every attempt, and
never guess.

A request that changes something can fail in a way that leaves open whether it was carried out. Then
the tracker is asked for the report's marker until no request can be under way any more; only a
search that did not find it allows another attempt, in this run or in a later one. What was sent and
by whom is in the store (`reporter.store.filings`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

from reporter.core.errors import BugreportError, Interruption, TrackerError
from reporter.report.folder import PRIVATE
from reporter.store.database import find_store_path, open_store
from reporter.store.filings import Filing, FilingState, find_filing, find_first_sending, set_state
from reporter.store.locks import lock, name_lock_file
from reporter.tracker.http_session import LONGEST_WAIT, RequestTimeouts

_LOOKS = 6
_AGAIN = (
    "the report is safe, and the same command looks for it on the tracker before it sends anything"
)


@dataclass(frozen=True)
class DeliveredPost:
    """Where a post was delivered. `already`: it was there before this attempt."""

    number: int
    url: str
    already: bool = False


class Delivery(Protocol):
    """One thing to be sent once. `what` is its name in sentences, "the issue"."""

    @property
    def what(self) -> str:
        """Its name in sentences, with the article: "the issue"."""

    @property
    def address(self) -> str:
        """Where it goes; with the report's key it names the delivery in the store."""

    def look(self, since: datetime | None) -> DeliveredPost | None:
        """Searches the tracker for it.

        `since` is the first attempt, before which it cannot have been created.
        """

    def send(self) -> DeliveredPost:
        """One request.

        Raises:
            TrackerError: no answer that can be used; see `may_have_happened`.
        """


@dataclass(frozen=True)
class SubmissionService:
    """What all deliveries of a run share: the report's key, the timeouts, who is told what is going
    on, and the report's folder where there is one.
    """

    key: str
    timeouts: RequestTimeouts
    say: Callable[[str], None]
    folder: Path | None = None

    def deliver(self, delivery: Delivery) -> DeliveredPost:
        """Sends it, unless it is there already.

        Raises:
            TrackerError: it did not arrive, or that is not known; the sentence says which. Later
                runs go on from here.
            BugreportError: the tracker refused; nothing was created.
        """
        paths = [name_lock_file(find_store_path(), self.key, delivery.address)]
        if self.folder is not None and (self.folder / PRIVATE).is_dir():
            # this one is for two processes with different stores
            paths.insert(0, self.folder / PRIVATE / "filing.lock")
        with lock(paths, lambda: self.say("another process is sending this report; waiting")):
            return self._deliver(delivery)

    def _deliver(self, delivery: Delivery) -> DeliveredPost:
        with open_store() as store:
            row = find_filing(store, self.key, delivery.address)
            since = _parse_moment(find_first_sending(store, self.key, delivery.address))
        if row is not None and row.state is FilingState.CONFIRMED and row.number and row.url:
            return DeliveredPost(row.number, row.url, already=True)
        if row is None:
            self._move(delivery, FilingState.PLANNED)
        delivered = delivery.look(since)
        if delivered is None and row is not None and row.state.is_open_question:
            self.say(
                f"an earlier attempt to send {delivery.what} may still be under way; looking for it"
            )
            delivered = self._watch(delivery, since, self._compute_rest(row))
        if delivered is not None:
            return self._confirm(delivery, replace(delivered, already=True), "found by its mark")
        return self._attempt(delivery)

    def _attempt(self, delivery: Delivery) -> DeliveredPost:
        """At most two requests: the second one only after a refusal that says how soon to come
        again.
        """
        for is_last in (False, True):
            self._move(delivery, FilingState.SENT)
            started = datetime.now(timezone.utc)
            try:
                return self._confirm(delivery, delivery.send(), "created")
            except KeyboardInterrupt:
                raise Interruption(
                    f"interrupted while {delivery.what} was being sent; {_AGAIN}"
                ) from None
            except TrackerError as error:
                if error.may_have_happened:
                    return self._find_out(delivery, started, error)
                self._move(delivery, FilingState.PLANNED, detail=str(error))
                if is_last or error.wait is None or error.wait > LONGEST_WAIT:
                    raise
                self.say(f"{error}; waiting {error.wait:.0f} s")
                self.timeouts.sleep(error.wait)
                delivered = delivery.look(started)
                if delivered is not None:
                    return self._confirm(delivery, delivered, "found by its mark")
            except BugreportError as error:
                self._move(delivery, FilingState.PLANNED, detail=str(error))
                raise
        raise AssertionError("the second attempt returns or raises")

    def _find_out(
        self, delivery: Delivery, started: datetime, error: TrackerError
    ) -> DeliveredPost:
        self._move(delivery, FilingState.UNKNOWN, detail=str(error))
        self.say(f"{error}; looking for {delivery.what} for up to {self.timeouts.settle:.0f} s")
        try:
            delivered = self._watch(delivery, started, self.timeouts.settle)
        except BugreportError as second:
            raise TrackerError(f"{error} ({second}); {_AGAIN}") from None
        if delivered is None:
            raise TrackerError(
                f"{error}; {delivery.what} was still not there after {self.timeouts.settle:.0f}"
                f" seconds; {_AGAIN}"
            )
        return self._confirm(delivery, delivered, f"found by its mark after: {error}")

    def _watch(
        self, delivery: Delivery, since: datetime | None, seconds: float
    ) -> DeliveredPost | None:
        """Looks until `seconds` are over, and once more then.

        A failed look counts only if it is the last.
        """
        clock = self.timeouts.clock
        end = clock() + seconds
        while True:
            is_last = clock() >= end
            try:
                delivered = delivery.look(since)
            except TrackerError:
                if is_last:
                    raise
                delivered = None
            if delivered is not None or is_last:
                return delivered
            self.timeouts.sleep(max(0.0, min(self.timeouts.settle / _LOOKS, end - clock())))

    def _compute_rest(self, row: Filing) -> float:
        """Seconds for which the request of an earlier process may still be under way."""
        sent = _parse_moment(row.updated)
        age = (datetime.now(timezone.utc) - sent).total_seconds() if sent else 0.0
        return min(self.timeouts.settle, max(0.0, self.timeouts.settle - age))

    def _confirm(self, delivery: Delivery, delivered: DeliveredPost, detail: str) -> DeliveredPost:
        try:
            self._move(delivery, FilingState.CONFIRMED, delivered, detail)
        except BugreportError as error:
            # it is there, and the next run finds it by its mark: saying where is worth more than
            # failing
            self.say(f"{delivery.what} is at {delivered.url}, but that could not be noted: {error}")
        return delivered

    def _move(
        self,
        delivery: Delivery,
        state: FilingState,
        delivered: DeliveredPost | None = None,
        detail: str = "",
    ) -> None:
        with open_store() as store:
            set_state(
                store,
                self.key,
                delivery.address,
                state,
                number=delivered.number if delivered else None,
                url=delivered.url if delivered else None,
                detail=detail,
            )


def _parse_moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
