// SPDX-License-Identifier: Apache-2.0
// The snapshots and backups of a share on a line of time: who made them, how long they stay, and the ways back.
import {html, useState} from '../html.js';
import {act, create, get, id as quoted, list, unlessForbidden} from '../api.js';
import {gib, parse, time} from '../format.js';
import {isAbout, isOf, useLoad} from '../load.js';
import {canChange} from '../offers.js';
import {Loaded, Name, Section, Status, Time, button, named} from '../parts/basics.js';
import {FormDialog, useConfirm, useOpened} from '../parts/dialog.js';
import {Area, Text, useFields} from '../parts/form.js';
import {restoration} from './backups.js';
import {keptBy} from './schedules.js';
import {WHAT, canErase, pathOf} from './snapshots.js';
import {link} from '../router.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.snapshots;
const FEW = 40;

function Take({share, onClose}) {
  const {values, field} = useFields({name: '', description: ''});
  const submit = () => create('snapshots', {snapshot: {...values, share_id: share.id}});
  return html`<${FormDialog} title=${T.create} submit=${S.action.create} onSubmit=${submit} onClose=${onClose}>
    <${Text} label=${T.name} ...${field('name')} maxlength="255" autofocus />
    <${Area} label=${T.description} ...${field('description')} maxlength="255" /><//>`;
}

// The newest points first, with the id of the schedule that made each, and these schedules; null for what the user may not see.
// Only the API knows what a schedule made: anybody may write names and descriptions.
async function load(id) {
  const query = {share_id: id, all_tenants: 1};
  const [snapshots, backups, copies] = await Promise.all([list('snapshots/detail', 'snapshots', query),
    unlessForbidden(list('share-backups/detail', 'share_backups', query), []),
    unlessForbidden(get(`shares/${quoted(id)}/schedule-copies`).then((found) => found.schedule_copies), null)]);
  const makers = new Map((copies ?? []).map((copy) => [copy.id, copy.schedule_id]));
  const points = [...snapshots, ...backups.map((row) => ({...row, isBackup: true}))].map((row) => ({...row, schedule: makers.get(row.id)}))
    .sort((one, other) => parse(other.created_at) - parse(one.created_at));
  const ids = [...new Set(makers.values())];
  const schedules = await Promise.all(ids.map((one) => get(`schedules/${quoted(one)}`).then(({schedule}) => [one, schedule], () => [one, null])));
  return {points, schedules: copies && new Map(schedules)};
}

// The snapshot that a share can be reverted to: the newest that was not a failure.
const latestOf = (points) => points.find(({isBackup, status}) => !isBackup && !['error', 'manage_error'].includes(status))?.id;

// Who made it, and whether it stays: nothing is recorded of a schedule that is gone, and nothing deletes its copies.
function Maker({point, schedules}) {
  if (!schedules) return null;
  if (!point.schedule) return html`${T.byNone} <strong>${T.kept}</strong>`;
  const schedule = schedules.get(point.schedule);
  return schedule ? html`${T.bySchedule} <a href=${link('schedules')}><${Name} row=${schedule} /></a>${' '}
    ${keptBy(schedule) ? T.keeps(keptBy(schedule)) : html`<strong>${T.kept}</strong>`}` : T.byAny;
}

const kindOf = (point) => `${point.isBackup ? 'backup' : ''} ${point.schedule ? 'scheduled' : ''} ${/error/.test(point.status) ? 'failed' : ''}`;
// Pixels between two points: longer times are further apart, and years still fit.
const gap = (later, earlier) => Math.min(44, 3 * Math.log2(1 + Math.max(0, later - parse(earlier)) / 60000));

export function SnapshotsOfShare({share}) {
  const [all, showAll] = useState(false);
  const found = useLoad(() => load(share.id), [share.id], (event) => isOf('snapshot', 'share_backup')(event) || isAbout(share.id)(event));
  const [taking, take, close] = useOpened(found.reload);
  const [ask, confirm, erase] = useConfirm(found.reload);
  const revert = (row) => ask({title: T.revertTitle(named(row)), text: T.revertText, submit: T.revert,
    act: () => act(`shares/${quoted(share.id)}`, 'revert', {snapshot_id: row.id})});
  const restore = (row) => ask(restoration(row));
  const isReady = (row) => canChange(share) && canChange(row);
  const or = (does, reason) => does || html`<span class="hint">${reason}</span>`;
  const ways = (row, latest) => (row.isBackup ? may('share_backup:restore') && or(isReady(row) && button(S.backups.restore, row, restore), T.restoreWait)
    : html`${share.revert_to_snapshot_support && may('share:revert_to_snapshot') && (row.id !== latest ? or(false, T.revertLatest)
      : or(isReady(row) && button(T.revert, row, revert), T.revertWait))}
      ${share.create_share_from_snapshot_support && may('share:create') && canChange(row) && html`<a class="button" href=${link('create-share', row.id)}
        aria-label=${S.action.ofThis(T.createFrom, named(row))}>${T.createFrom}</a>`}
      ${canErase(row) && button(S.action.delete, row, () => erase(pathOf(row), WHAT, named(row)))}`);
  const shown = (points) => (all ? points : points.slice(0, FEW));
  return html`<${Section} title=${T.title} actions=${may('share:create_snapshot') && canChange(share) && html`<button type="button"
      onClick=${() => take(true)}>${T.create}</button>`}>
    <${Loaded} from=${found}>${({points, schedules}) => (points.length === 0 ? html`<p class="none">${T.none}</p>`
    : html`<ol class="line" aria-label=${T.line}><li class="now"><div>${T.now} <span class="hint">${gib(share.size)}</span></div></li>
      ${shown(points).map((row, place) => html`<li key=${row.id} class=${kindOf(row)}
        style=${{paddingTop: `${gap(place ? parse(points[place - 1].created_at) : Date.now(), row.created_at)}px`}}><div>
        <p><time datetime=${row.created_at}>${time(row.created_at)}</time> <span class="hint"><${Time} at=${row.created_at} /></span></p>
        <p>${row.isBackup && `${T.backup} `}<${Name} row=${row} /> <${Status} of=${row.status} /> <span class="hint">${gib(row.size)}</span></p>
        <p class="hint"><${Maker} point=${row} schedules=${schedules} /></p>
        <div class="actions">${ways(row, latestOf(points))}</div></div></li>`)}</ol>
      ${points.length > shown(points).length && html`<button type="button" onClick=${() => showAll(true)}>${T.all(points.length)}</button>`}
      ${!share.revert_to_snapshot_support && html`<p class="hint">${T.revertNone}</p>`}`)}<//><//>
    ${taking && html`<${Take} share=${share} onClose=${close} />`}${confirm}`;
}
