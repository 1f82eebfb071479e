// SPDX-License-Identifier: Apache-2.0
// The form of a schedule, new or changed, with a look at what the service would do with it: nobody reads cron.
import {html} from '../html.js';
import {create, get, id as quoted, list, post, put, unlessForbidden} from '../api.js';
import {useCalm} from '../calm.js';
import {time} from '../format.js';
import {useLoad} from '../load.js';
import {Problem, named} from './basics.js';
import {FormDialog} from './dialog.js';
import {Area, Check, Choice, Text, Whole, useFields} from './form.js';
import {linesOf, pairsOf} from '../pairs.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.schedules;
const OWN = 'own';
// Makes nothing that could be kept.
const RESYNC = 'replica_resync';
const TIMES = {hour: '0 * * * *', day: '0 3 * * *', week: '0 3 * * 0', month: '0 3 1 * *'};
export const KEPT = ['last', 'hour', 'day', 'week', 'month', 'year'];
// Of these the service takes all or none: a share has to fit each that is given.
const WHICH = ['share_ids', 'share_type_id', 'share_metadata'];
const here = () => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
const fresh = () => ({action: 'snapshot', cron: TIMES.day, time_zone: here(), keep: {day: 7, week: 4}, jitter: 0, missed: 'once', paused: false});

// The values of the form for a schedule.
function valuesOf(row) {
  const times = Object.keys(TIMES).find((name) => TIMES[name] === row.cron) ?? OWN;
  const [shares] = ['share_ids', 'share_type_id', 'share_metadata'].filter((name) => row[name]);
  return {name: row.name ?? '', action: row.action, backup: row.backup_type ?? '', times, cron: row.cron, zone: row.time_zone, shares: shares ?? 'all',
    some: row.share_ids ?? [], type: row.share_type_id ?? '', metadata: linesOf(row.share_metadata ?? {}), prefix: row.name_prefix ?? '',
    jitter: String(row.jitter), missed: row.missed, paused: row.paused, everybody: false,
    ...Object.fromEntries(KEPT.map((name) => [name, String(row.keep[name] ?? '')]))};
}

const keepOf = (values) => (values.action === RESYNC ? {}
  : Object.fromEntries(KEPT.filter((name) => values[name]).map((name) => [name, Number(values[name])])));
const timesOf = ({times, cron, zone, ...values}) => ({cron: times === OWN ? cron.trim() : TIMES[times], time_zone: zone.trim(), keep: keepOf(values)});

const bodyOf = (values) => ({...timesOf(values), name: values.name || null, name_prefix: values.prefix || null, jitter: Number(values.jitter),
  backup_type: values.action === 'share_backup' ? values.backup || null : null, missed: values.missed, paused: values.paused,
  share_ids: values.shares === 'share_ids' ? values.some : null, share_type_id: values.shares === 'share_type_id' ? values.type : null,
  share_metadata: values.shares === 'share_metadata' ? pairsOf(values.metadata) : null});

// What differs. Values that the form does not show, such as a second condition for shares, stay as they are.
function changes(row, values) {
  const [old, wanted] = [bodyOf(valuesOf(row)), bodyOf(values)];
  const isNew = (name) => JSON.stringify(old[name]) !== JSON.stringify(wanted[name]);
  const which = WHICH.some(isNew);
  return Object.fromEntries(Object.entries(wanted).filter(([name]) => (WHICH.includes(name) ? which : isNew(name))));
}

const List = ({times}) => (times.length === 0 ? html`<p class="none">${S.none}</p>`
  : html`<ol class="times">${times.map((at) => html`<li key=${at}>${time(at)}</li>`)}</ol>`);

function Preview({values}) {
  const wanted = useCalm({text: JSON.stringify(timesOf(values))});
  const found = useLoad(async () => (await post('schedules/preview', {schedule: JSON.parse(wanted.text)})).preview, [wanted.text]);
  if (found.error) return html`<${Problem} error=${found.error} />`;
  return html`<div role="status">${found.value && html`<h3>${T.next}</h3><${List} times=${found.value.times} />
    ${Object.keys(keepOf(values)).length > 0 && html`<details><summary>${T.kept(found.value.kept.length)}</summary>
      <${List} times=${found.value.kept} /></details>`}`}</div>`;
}

async function load() {
  const [shares, {share_types: types}] = await Promise.all([list('shares', 'shares'), unlessForbidden(get('types'), {share_types: []})]);
  return {shares, types};
}

function Which({values, field}) {
  const found = useLoad(load, []);
  const {shares, types} = found.value ?? {shares: [], types: []};
  // What is chosen stays, though it may be of another project.
  const left = values.some.filter((id) => !shares.some((row) => row.id === id)).map((id) => ({id}));
  return html`<${Choice} label=${T.shares} ...${field('shares')} options=${Object.entries(T.which)} />
    ${values.shares === 'share_ids' && html`<${Choice} label=${S.nav.shares} hint=${T.someHint} ...${field('some')} required multiple size="5"
      options=${[...shares, ...left].map((row) => [row.id, named(row)])} />`}
    ${values.shares === 'share_type_id' && html`<${Choice} label=${S.table.type} ...${field('type')} required
      options=${[['', S.none], ...types.map(({id, name}) => [id, name])]} />`}
    ${values.shares === 'share_metadata' && html`<${Area} label=${T.metadata} ...${field('metadata')} required dir="ltr" />`}`;
}

// `row`: the schedule that is changed; default: a new one.
export function ScheduleForm({row, onClose}) {
  const {values, field} = useFields(valuesOf(row ?? fresh()));
  const submit = () => (row ? put(`schedules/${quoted(row.id)}`, {schedule: changes(row, values)})
    : create('schedules', {schedule: {...bodyOf(values), action: values.action, all_projects: values.everybody}}));
  return html`<${FormDialog} title=${row ? S.share.editTitle(named(row)) : T.create} submit=${row ? S.action.save : S.action.create} onSubmit=${submit}
      onClose=${onClose}><${Text} label=${S.table.name} ...${field('name')} maxlength="255" autofocus />
    ${!row && html`<${Choice} label=${T.action} ...${field('action')}
      options=${Object.entries(T.actions).filter(([name]) => name !== RESYNC || may('share_replica:resync'))} />`}
    ${values.action === 'share_backup' && html`<${Text} label=${T.backup} hint=${T.backupHint} ...${field('backup')} maxlength="255" />`}
    <${Which} ...${{values, field}} />
    ${!row && may('schedule:create_for_all_projects') && html`<${Check} label=${T.everybody} ...${field('everybody')} />`}
    <${Choice} label=${T.when} ...${field('times')} options=${Object.entries(T.times)} />
    ${values.times === OWN && html`<${Text} label=${T.cron} hint=${T.cronHint} ...${field('cron')} required maxlength="255" dir="ltr" />`}
    <${Text} label=${T.zone} hint=${T.zoneHint} ...${field('zone')} required maxlength="255" dir="ltr" />
    ${values.action !== RESYNC && html`<fieldset><legend>${T.keep}</legend><p class="hint">${T.keepHint}</p><div class="filters">${KEPT.map((name) => html`
      <${Whole} key=${name} label=${T.keeps[name]} ...${field(name)} min="1" max="366" />`)}</div></fieldset>`}<${Preview} values=${values} />
    <${Text} label=${T.prefix} ...${field('prefix')} maxlength="200" />
    <${Whole} label=${T.jitter} hint=${T.jitterHint} ...${field('jitter')} required min="0" max="3600" />
    <${Choice} label=${T.missed} ...${field('missed')} options=${Object.entries(T.misses)} />
    <${Check} label=${T.paused} ...${field('paused')} /><//>`;
}
