# SPDX-License-Identifier: Apache-2.0
"""The content of a guru meditation report: the sections of oslo.reports, and the work under way."""

import time

from oslo_reports import guru_meditation_report
from oslo_reports.models import base as models

from manila_lite import context, release


class Version:
    """The description of the product that oslo.reports asks for."""

    def vendor_string(self) -> str:
        return 'manila_lite'

    def product_string(self) -> str:
        return 'manila-lite'

    def version_string_with_package(self) -> str:
        return release.VERSION


def _under_way() -> models.ReportModel:
    now = time.monotonic()
    lines = [
        f'{task.what}: since {now - task.since:.1f} s, thread {task.thread}, request {task.ctx.request_id}, '
        f'project {task.ctx.project_id or "-"}, resource {task.ctx.resource_uuid or "-"}'
        for task in context.tasks()
    ]
    return models.ReportModel(
        {'work': '\n'.join(lines) or 'nothing'}, attached_view=lambda model: model['work']
    )


class Report(guru_meditation_report.TextGuruMeditation):
    """oslo.reports' sections, and the requests and operations under way in this process."""

    persistent_sections = [('Under way', _under_way)]
