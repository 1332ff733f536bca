"""Commands that people copy from an answer: read from templates, filled by kind, rendered and judged in one place."""
