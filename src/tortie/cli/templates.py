"""`-o go-template` and `-o go-template-file`: a Go template becomes a printer."""

from __future__ import annotations

from tortie.cli.files import read_text
from tortie.cli.formats import Answer
from tortie.cli.gotemplate import Template, compile_template
from tortie.cli.gotemplate.values import objects
from tortie.model.errors import UsageError


class TemplatePrinter:
    def __init__(self, template: Template) -> None:
        self.template = template
        # It may print the cluster's AS number, which then has to be known.
        self.asks_as_number = "config" in template.text

    def __call__(self, answer: Answer) -> str:
        whole_kind = answer.revision is not None and not answer.single
        found = objects(answer.kind, answer.documents, str(answer.revision) if whole_kind else None)
        return self.template.render(found, default_as=answer.default_as)


def template_printer(form: str, argument: str) -> TemplatePrinter:
    if form == "go-template":
        return TemplatePrinter(compile_template(argument))
    if not argument:
        raise UsageError("need to specify a template file", "none was named", "for example go-template-file=nodes.tmpl")
    return TemplatePrinter(compile_template(read_text(argument)[0]))
