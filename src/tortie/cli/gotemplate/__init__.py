"""Go's text/template, for `tortie get -o go-template=…`, over the same objects that calicoctl gives its templates.

    {{range .}}{{range .Items}}{{.Name}} {{.Spec.CIDR}}{{"\\n"}}{{end}}{{end}}

The dot is a list: of the objects asked for by name or by file, or, for a whole kind, of one list object with `.Items`.
Fields have the names of Calico's Go structs (`.ObjectMeta.Name`, `.Name`, `.Spec.CIDR`) or those of YAML
(`.metadata.name`, `.spec.cidr`); a field that only a newer Calico knows has its name of YAML. Where Go refuses what can
only be meant in one way, that is done: a pointer can be compared and formatted as what it points to, and a time can be
printed. What a template may cost is bounded.
"""

from tortie.cli.gotemplate.parser import compile_template
from tortie.cli.gotemplate.run import Template

__all__ = ["Template", "compile_template"]
