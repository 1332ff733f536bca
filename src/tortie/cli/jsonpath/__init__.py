"""kubectl's JSONPath templates, for `tortie get -o jsonpath=…`.

    {range .items[*]}{.metadata.name}{"\\t"}{.metadata.labels['kubernetes.io/os']}{"\\n"}{end}

Text outside braces is copied; what a path finds is joined by blanks. A key or an index that is not there gives nothing,
and so does a step that does not fit the value. Where kubectl surprises we do what was meant: `$` is the whole document
even inside a range, a quoted key may have dots of its own, a slice may reach past the end, and a template without
braces is one path.
"""

from tortie.cli.jsonpath.parser import compile_template
from tortie.cli.jsonpath.template import Template

__all__ = ["Template", "compile_template"]
