"""A cluster without a cause: may it be called healthy, and if not, what stands against it and what to ask next."""

from __future__ import annotations

from typing import Final

from tortie.doctor.causes.cause import HINT
from tortie.doctor.diagnosis import Diagnosis, Question, Symptom
from tortie.doctor.judgement.breadth import WIDE, broad, calm, carries, explained
from tortie.doctor.judgement.breadth import seen as looked_at
from tortie.doctor.judgement.evidence import Quotes
from tortie.doctor.judgement.normal import Normals
from tortie.doctor.judgement.pods import ELSEWHERE
from tortie.doctor.judgement.questions import next_question
from tortie.doctor.judgement.seconds import Found
from tortie.doctor.judgement.standing import Standing, about_a_cluster
from tortie.doctor.judgement.unexplained import unexplained
from tortie.doctor.picture.picture import Picture
from tortie.doctor.words import Words

# A program's own words, which a known cause would know; a trial that failed may be any cause's.
_MESSAGES: Final = ("fatal", "degraded", "error", "event")


class Doubts:
    """What keeps a cluster without a cause from being called healthy."""

    def __init__(
        self, picture: Picture, now: Standing, candidates: list[Found], seen: list[Symptom], known: int
    ) -> None:
        accounted = [place for _, finding in candidates if finding.strength > HINT for place in finding.evidence]
        normals = Normals(picture)
        self._covers, self._missing = looked_at(picture, now)
        widely = len(self._covers) >= WIDE
        self._left = unexplained(picture, now, accounted, normals, widely) if about_a_cluster(picture) else ()
        self._normal = tuple(normals.told()) if now.in_order else ()
        self._picture, self._candidates, self._seen, self._known = picture, candidates, seen, known
        open_ones = [one for one in seen if one.current and one.kind != ELSEWHERE and not normals.are_all_of(one)]
        self._quiet = not candidates and not open_ones
        self._fits = any(finding.strength > HINT for _, finding in candidates)
        about = normals.asked_about()
        self._calm = calm(picture, about)
        shown = now.well_as_told and broad(picture, now, self._covers) and self._calm
        shown = shown or carries(picture, now, self._covers, about) or explained(picture, now, self._covers, about)
        shown = shown or (normals.measured() and now.well)
        self.healthy = self._quiet and not self._left and shown

    def added(self, diagnosis: Diagnosis, quotes: Quotes) -> Diagnosis:
        for place in (*(line.place for line in self._left), *(one.evidence[0] for one in self._normal)):
            quotes.id_of(place)
        return diagnosis._replace(
            covers=self._covers,
            not_shown=self._missing,
            unexplained=self._left,
            normal=self._normal,
            remark=self._remark(),
            of_cluster=about_a_cluster(self._picture),
            next=() if self.healthy else (self._ask(),),
            evidence=quotes.all(),
        )

    def _ask(self) -> Question:
        return next_question(self._candidates, self._seen, self._picture, self._covers, self._left)

    def _remark(self) -> Words | None:
        if self._quiet and not self._left and not self.healthy and about_a_cluster(self._picture):
            if not self._calm:
                return Words(
                    "what is shown is well, but not what is told: say what does not work, and show a trial of it",
                    "所示部分均正常，但不足以说明文字所述的情况：请写明具体哪里不通，并附上测试结果",
                )
            return Words(
                "what is shown is well, but it is too little to call the cluster healthy",
                "所示部分均正常，但覆盖面太小，不足以判定集群健康",
            )
        if self._fits or not any(line.kind in _MESSAGES for line in self._left):
            return None
        return Words(
            f"this is not one of the {self._known} causes I know: the lines below are unexplained",
            f"不属于已知的 {self._known} 种原因，以下内容无法解释",
        )
