"""Whether the installation is well, as `reroll doctor` finds it: what is bad comes first."""

from reroll.answers.doctor.findings import Level
from reroll.dashboard.desk import Desk
from reroll.dashboard.schema import DoctorPage

DOCTOR_FOR = 30.0


async def doctor_page(desk: Desk) -> DoctorPage:
    told = await desk.ask("doctor", DOCTOR_FOR, lambda cluster: cluster.doctor())
    findings = sorted(told["findings"], key=lambda one: -Level(one["level"]).rank)
    return DoctorPage(version=told["version"], worst=told["worst"], findings=findings)
