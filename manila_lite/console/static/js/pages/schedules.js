// SPDX-License-Identifier: Apache-2.0
// Schedules of snapshots and backups: when, of what, and how many are kept.
import {html} from '../html.js';
import {allProjects, id as quoted, list, put} from '../api.js';
import {time} from '../format.js';
import {useLoad} from '../load.js';
import {Empty, Loaded, Own, Status, Time, Title, button, named, useAct} from '../parts/basics.js';
import {useConfirm, useOpened} from '../parts/dialog.js';
import {NAME, PROJECT, actions} from '../parts/columns.js';
import {Ref} from '../parts/ref.js';
import {KEPT, ScheduleForm} from '../parts/schedule_form.js';
import {Table} from '../parts/table.js';
import {may, session} from '../session.js';
import {S} from '../strings.js';

const T = S.schedules;
// Runs are operations, and the times of a schedule are no events.
const OFTEN = 10000;

function shownShares(row) {
  if (row.share_ids) return row.share_ids.map((id) => html`<div key=${id}><${Ref} type="share" id=${id} /></div>`);
  if (row.share_type_id) return html`${S.table.type} <code>${row.share_type_id.slice(0, 8)}</code>`;
  if (row.share_metadata) return Object.entries(row.share_metadata).map(([key, value]) => html`<${Own} key=${key} text=${`${key}=${value}`} />`);
  return row.all_projects ? T.everywhere : T.which.all;
}

const pathOf = ({id}) => `schedules/${quoted(id)}`;
const stateOf = (row) => (row.paused ? 'disabled' : row.failing_since ? 'failed' : 'active');
// '' for one that keeps everything.
export const keptBy = ({keep}) => KEPT.filter((name) => keep[name]).map((name) => T.keptOf(keep[name], T.units[name])).join(', ');

const COLUMNS = [
  NAME,
  {key: 'state', head: S.table.state, cell: (row) => html`<${Status} of=${stateOf(row)} />
    ${row.problem && html`<div class="hint"><${Own} text=${row.problem} /></div>`}`},
  {key: 'action', head: T.action, cell: (row) => `${T.actions[row.action] ?? row.action}${row.backup_type ? ` (${row.backup_type})` : ''}`},
  {key: 'shares', head: T.shares, cell: shownShares},
  {key: 'when', head: T.when, cell: (row) => html`<code>${row.cron}</code><div class="hint">${row.time_zone}</div>`},
  {key: 'next', head: T.nextRun, cell: (row) => (row.next_run_at ? time(row.next_run_at) : S.none)},
  {key: 'good', head: T.lastGood, class: 'wide', cell: (row) => html`<${Time} at=${row.last_good_at} />`},
  {key: 'kept', head: T.keep, class: 'wider', cell: (row) => keptBy(row) || (row.action === 'replica_resync' ? S.none : T.keptAll)},
];

export function Schedules() {
  const found = useLoad(() => list('schedules', 'schedules', allProjects()), [], () => false, OFTEN);
  const [opened, open, close] = useOpened(found.reload);
  const [, confirm, remove] = useConfirm(found.reload);
  const [run, problem] = useAct(found.reload);
  const pause = (row) => run(() => put(pathOf(row), {schedule: {paused: !row.paused}}));
  const edit = (row) => open({row});
  const erase = (row) => remove(pathOf(row), T.what, named(row), T.deleteText);
  const offered = actions((row) => html`
    ${may('schedule:update') && html`${button(S.share.edit, row, edit)}${button(row.paused ? T.resume : T.pause, row, pause)}`}
    ${may('schedule:delete') && button(S.action.delete, row, erase)}`);
  const start = may('schedule:create') && html`<button type="button" class="main" onClick=${() => open({})}>${T.create}</button>`;
  return html`<${Title} actions=${start}>${T.title}<//>${problem}<${Loaded} from=${found}>${(rows) => html`<${Table} caption=${T.title}
    columns=${[...COLUMNS, ...(session.value.everything ? [PROJECT] : []), offered]} rows=${rows}
    none=${html`<${Empty} text=${T.none} next=${start && T.first} />`} />`}<//>
    ${opened && html`<${ScheduleForm} row=${opened.row} onClose=${close} />`}${confirm}`;
}
