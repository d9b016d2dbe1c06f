"""Takes twenty numbers from a store, each the next one after the greatest that is there."""

import sys
from pathlib import Path

from reporter.store.database import open_store, open_transaction

GREATEST = "SELECT COALESCE(MAX(number), 0) FROM filings"

with open_store(Path(sys.argv[1])) as store:
    for _ in range(20):
        with open_transaction(store):
            number = store.execute(GREATEST).fetchone()[0] + 1
            store.execute(
                "INSERT INTO filings VALUES (?, 'r', 'sent', ?, '', '', '')",
                (f"k{number}", number),
            )
