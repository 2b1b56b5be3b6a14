"""The embedder as commands use it: by name, with the user's cache before it and a bar while it works."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import platformdirs

from stilltrue.cli.output import progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stilltrue.streams import Embed


def cached_embedder(name: str | None = None, *, shown: bool) -> "tuple[str, Embed]":
    """The model's name, and a function from texts to their vectors. Raises ModelNotFound."""
    from stilltrue.cache import Cache
    from tombstore import embedder

    model, cache = embedder(name), Cache(platformdirs.user_cache_path("stilltrue"))

    def embed(texts: Sequence[str]) -> "NDArray[np.float32]":
        import numpy as np

        with progress("embedding", shown=shown):
            vectors = cache.vectors(model.name, texts, model)
        return np.stack([vectors[text] for text in texts])

    return model.name, embed
