"""The diagnosis in the form somebody wants: text, Markdown, JSON, HTML, JUnit, SARIF, in English and Chinese."""
