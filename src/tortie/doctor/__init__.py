"""From evidence to the root cause: bytes, exhibits, typed facts, one picture, symptoms, causes, judgement, answer."""
