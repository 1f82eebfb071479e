// SPDX-License-Identifier: Apache-2.0
// What the service works on, worked on, and could not do: for whom, on what, and when.
import {html} from '../html.js';
import {allProjects, get} from '../api.js';
import {useCalm} from '../calm.js';
import {parse} from '../format.js';
import {isEvent, useLoad} from '../load.js';
import {COLUMNS, ERROR, HOST, PROGRESS, PROJECT} from '../parts/activity.js';
import {Loaded, Title} from '../parts/basics.js';
import {Choice, Text, useFields} from '../parts/form.js';
import {OF_TEXTS, Table} from '../parts/table.js';
import {link} from '../router.js';
import {session} from '../session.js';
import {S} from '../strings.js';

const T = S.operation;
const TYPES = ['share', 'snapshot', 'share_server', 'share_replica', 'share_backup', 'share_group', 'share_group_snapshot', 'share_network',
  'service'];
const HOURS = {hour: 1, day: 24, week: 168};
const NAMED = [['shares', 'shares'], ['snapshots', 'snapshots'], ['share-networks', 'share_networks'], ['share-groups', 'share_groups']];

// Ids of the resources that have the text in their name.
async function idsNamed(text) {
  const found = await Promise.all(NAMED.map(async ([path, key]) => (await get(path, {...allProjects(), 'name~': text}))[key]));
  return new Set(found.flat().map(({id}) => id));
}

// The service chooses by state and type; the newest of these are searched here.
async function load({state, type, text, who, since}) {
  const {operations} = await get('operations', {...allProjects(), state, resource_type: type, limit: OF_TEXTS});
  const named = text ? await idsNamed(text) : null;
  const {user} = session.value;
  const isBy = (id) => id === who || (id === user.user_id && user.user_name === who);
  const after = since ? Date.now() - HOURS[since] * 3600000 : 0;
  return {whole: operations.length === OF_TEXTS, rows: operations.filter((row) => parse(row.finished_at ?? row.created_at) >= after
    && (!who || isBy(row.user_id)) && (!named || named.has(row.resource_id) || row.resource_id.startsWith(text)))};
}

export function Operations({id: begin}) {
  const {values, field} = useFields({state: Object.hasOwn(T.states, begin) ? begin : '', type: '', text: '', who: '', since: ''});
  const wanted = useCalm(values);
  const found = useLoad(() => load({...wanted, text: wanted.text.trim(), who: wanted.who.trim()}), Object.values(wanted), isEvent('operation'));
  const {administrator} = session.value.user;
  return html`<${Title}>${T.title}<//>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Choice} label=${T.state} ...${field('state')} options=${[['', T.any], ...Object.entries(T.states)]} />
      <${Choice} label=${T.type} ...${field('type')} options=${[['', T.any], ...TYPES.map((name) => [name, name.replaceAll('_', ' ')])]} />
      <${Text} label=${T.about} ...${field('text')} type="search" maxlength="255" />
      <${Text} label=${T.who} ...${field('who')} type="search" maxlength="255" />
      <${Choice} label=${T.since} ...${field('since')} options=${[['', T.ever], ...Object.keys(HOURS).map((name) => [name, T.periods[name]])]} /></form>
    ${values.state === 'parked' && html`<p class="hint">${T.parked} ${administrator && html`<a href=${link('findings')}>${S.findings.title}</a>`}</p>`}
    <${Loaded} from=${found}>${({rows, whole}) => html`<${Table} caption=${T.title} rows=${rows} none=${T.none} most=${OF_TEXTS}
      columns=${[...COLUMNS, PROGRESS, ERROR, ...(session.value.everything ? [PROJECT] : []), ...(administrator ? [HOST] : [])]} />
      ${whole && html`<p class="hint">${T.cut(OF_TEXTS)}</p>`}`}<//>`;
}
