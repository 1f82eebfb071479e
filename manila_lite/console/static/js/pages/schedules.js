// SPDX-License-Identifier: Apache-2.0
// Schedules of snapshots and backups: when, of what, and how many are kept.
import {html, useState} from '../html.js';
import {allProjects, create, get, id as quoted, list, post, put, remove} from '../api.js';
import {useCalm} from '../calm.js';
import {time} from '../format.js';
import {useLoad} from '../load.js';
import {Empty, Loaded, Name, Own, Problem, Status, Time, Title, named, useAct} from '../parts/basics.js';
import {FormDialog, deletion, useConfirm} from '../parts/dialog.js';
import {Check, Choice, Text, Whole, useFields} from '../parts/form.js';
import {Ref, Who} from '../parts/ref.js';
import {Table} from '../parts/table.js';
import {may, session} from '../session.js';
import {S} from '../strings.js';

const T = S.schedules;
// Runs are operations, and the times of a schedule are no events.
const OFTEN = 10000;
const OWN = 'own';
const TIMES = {hour: '0 * * * *', day: '0 3 * * *', week: '0 3 * * 0', month: '0 3 1 * *'};
const KEPT = ['last', 'hour', 'day', 'week', 'month', 'year'];
const NEW = {name: '', action: 'snapshot', times: 'day', cron: TIMES.day, zone: Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC',
  shares: 'all', share: '', type: '', metadata: '', prefix: '', everybody: false, last: '', hour: '', day: '7', week: '4', month: '', year: ''};

const keepOf = (values) => Object.fromEntries(KEPT.filter((name) => values[name]).map((name) => [name, Number(values[name])]));
const timesOf = ({times, cron, zone, ...values}) => ({cron: times === OWN ? cron.trim() : TIMES[times], time_zone: zone.trim(), keep: keepOf(values)});

function bodyOf(values) {
  const [key, ...value] = values.metadata.split('=');
  return {...timesOf(values), name: values.name || null, action: values.action, name_prefix: values.prefix || null,
    all_projects: values.everybody, share_ids: values.shares === 'one' ? [values.share] : null,
    share_type_id: values.shares === 'type' ? values.type : null,
    share_metadata: values.shares === 'metadata' ? {[key.trim()]: value.join('=').trim()} : null};
}

const Times = ({title, times}) => html`<h3>${title}</h3>${times.length === 0 ? html`<p class="none">${S.none}</p>` : html`
  <ol class="times">${times.map((at) => html`<li key=${at}>${time(at)}</li>`)}</ol>`}`;

// What the service would do with these values: nobody reads cron.
function Preview({values}) {
  const wanted = useCalm({text: JSON.stringify(timesOf(values))});
  const found = useLoad(async () => (await post('schedules/preview', {schedule: JSON.parse(wanted.text)})).preview, [wanted.text]);
  if (found.error) return html`<${Problem} error=${found.error} />`;
  return html`<div role="status">${found.value && html`<${Times} title=${T.next} times=${found.value.times} />
    ${Object.keys(keepOf(values)).length > 0 && html`<p class="hint">${T.kept(found.value.kept.length)}</p>`}`}</div>`;
}

async function load() {
  const [shares, {share_types: types}] = await Promise.all([list('shares', 'shares'), get('types')]);
  return {shares, types};
}

function Which({values, field}) {
  const found = useLoad(load, []);
  return html`<${Choice} label=${T.shares} ...${field('shares')} options=${Object.entries(T.which)} />
    ${values.shares === 'one' && html`<${Choice} label=${S.table.share} ...${field('share')} required
      options=${[['', S.none], ...(found.value?.shares ?? []).map((row) => [row.id, named(row)])]} />`}
    ${values.shares === 'type' && html`<${Choice} label=${S.table.type} ...${field('type')} required
      options=${[['', S.none], ...(found.value?.types ?? []).map(({id, name}) => [id, name])]} />`}
    ${values.shares === 'metadata' && html`<${Text} label=${S.filters.metadata} ...${field('metadata')} required pattern="[^=]+=.+" />`}`;
}

function Create({onClose}) {
  const {values, field} = useFields(NEW);
  const submit = () => create('schedules', {schedule: bodyOf(values)});
  return html`<${FormDialog} title=${T.create} submit=${S.action.create} onSubmit=${submit} onClose=${onClose}>
    <${Text} label=${S.table.name} ...${field('name')} maxlength="255" autofocus />
    <${Choice} label=${T.action} ...${field('action')} options=${Object.entries(T.actions)} />
    <${Which} ...${{values, field}} />
    ${may('schedule:create_for_all_projects') && html`<${Check} label=${T.everybody} ...${field('everybody')} />`}
    <${Choice} label=${T.when} ...${field('times')} options=${Object.entries(T.times)} />
    ${values.times === OWN && html`<${Text} label=${T.cron} hint=${T.cronHint} ...${field('cron')} required maxlength="255" dir="ltr" />`}
    <${Text} label=${T.zone} hint=${T.zoneHint} ...${field('zone')} required maxlength="255" dir="ltr" />
    <fieldset><legend>${T.keep}</legend><p class="hint">${T.keepHint}</p><div class="filters">${KEPT.map((name) => html`<${Whole} key=${name}
      label=${T.keeps[name]} ...${field(name)} min="1" max="366" />`)}</div></fieldset>
    <${Text} label=${T.prefix} ...${field('prefix')} maxlength="200" /><${Preview} values=${values} /><//>`;
}

function shownShares(row) {
  if (row.share_ids) return row.share_ids.map((id) => html`<div key=${id}><${Ref} type="share" id=${id} /></div>`);
  if (row.share_type_id) return html`${S.table.type} <code>${row.share_type_id.slice(0, 8)}</code>`;
  if (row.share_metadata) return Object.entries(row.share_metadata).map(([key, value]) => html`<${Own} key=${key} text=${`${key}=${value}`} />`);
  return row.all_projects ? T.everywhere : T.which.all;
}

const stateOf = (row) => (row.paused ? 'disabled' : row.failing_since ? 'failed' : 'active');
const kept = ({keep}) => KEPT.filter((name) => keep[name]).map((name) => T.keptOf(keep[name], T.units[name])).join(', ') || T.keptAll;

const COLUMNS = [
  {key: 'name', head: S.table.name, cell: (row) => html`<${Name} row=${row} />`},
  {key: 'state', head: S.table.state, cell: (row) => html`<${Status} of=${stateOf(row)} />
    ${row.problem && html`<div class="hint"><${Own} text=${row.problem} /></div>`}`},
  {key: 'action', head: T.action, cell: (row) => T.actions[row.action]},
  {key: 'shares', head: T.shares, cell: shownShares},
  {key: 'when', head: T.when, cell: (row) => html`<code>${row.cron}</code><div class="hint">${row.time_zone}</div>`},
  {key: 'next', head: T.nextRun, cell: (row) => (row.next_run_at ? time(row.next_run_at) : S.none)},
  {key: 'good', head: T.lastGood, class: 'wide', cell: (row) => html`<${Time} at=${row.last_good_at} />`},
  {key: 'kept', head: T.keep, class: 'wider', cell: kept},
];
const PROJECT = {key: 'project', head: S.table.project, class: 'wider', cell: (row) => html`<${Who} project=${row.project_id} />`};

export function Schedules() {
  const [creating, make] = useState(false);
  const [ask, confirm] = useConfirm();
  const [run, problem] = useAct();
  const found = useLoad(() => list('schedules', 'schedules', allProjects()), [], () => false, OFTEN);
  const path = (row) => `schedules/${quoted(row.id)}`;
  const pause = (row) => run(async () => {
    await put(path(row), {schedule: {paused: !row.paused}});
    found.reload();
  });
  const erase = (row) => ask({...deletion(T.what, named(row), async () => {
    await remove(path(row));
    found.reload();
  }), text: T.deleteText});
  const button = (label, row, onClick) => html`<button type="button" onClick=${() => onClick(row)}
    aria-label=${S.action.ofThis(label, named(row))}>${label}</button>`;
  const actions = {key: 'actions', head: S.table.actions, cell: (row) => html`<div class="actions">
    ${may('schedule:update') && button(row.paused ? T.resume : T.pause, row, pause)}${may('schedule:delete') && button(S.action.delete, row, erase)}</div>`};
  const close = () => {
    make(false);
    found.reload();
  };
  const start = may('schedule:create') && html`<button type="button" class="main" onClick=${() => make(true)}>${T.create}</button>`;
  return html`<${Title} actions=${start}>${T.title}<//>${problem}<${Loaded} from=${found}>${(rows) => html`<${Table} caption=${T.title}
    columns=${[...COLUMNS, ...(session.value.everything ? [PROJECT] : []), actions]} rows=${rows}
    none=${html`<${Empty} text=${T.none} next=${start && T.first} />`} />`}<//>${creating && html`<${Create} onClose=${close} />`}${confirm}`;
}
