// SPDX-License-Identifier: Apache-2.0
// What the service works on, worked on, and could not do: for whom, on what, and when.
import {html} from '../html.js';
import {allProjects, get} from '../api.js';
import {useCalm} from '../calm.js';
import {isId} from '../known.js';
import {isEvent, useLoad} from '../load.js';
import {COLUMNS, ERROR, HOST, PROGRESS} from '../parts/activity.js';
import {Loaded, Title} from '../parts/basics.js';
import {PROJECT} from '../parts/columns.js';
import {Choice, Text, useFields} from '../parts/form.js';
import {OF_TEXTS, Table} from '../parts/table.js';
import {link} from '../router.js';
import {mayOpen} from '../rules.js';
import {may, session} from '../session.js';
import {S} from '../strings.js';

const T = S.operation;
const TYPES = ['share', 'snapshot', 'share_server', 'share_replica', 'share_backup', 'share_group', 'share_group_snapshot', 'share_network',
  'service'];
const HOURS = {hour: 1, day: 24, week: 168};
const CHOSEN = 'chosen';
const NAMED = [['shares', 'shares'], ['snapshots', 'snapshots'], ['share-networks', 'share_networks'], ['share-groups', 'share_groups']];

// Ids of the resources that have the text in their name.
async function idsNamed(text) {
  const found = await Promise.all(NAMED.map(async ([path, key]) => (await get(path, {...allProjects(), 'name~': text}))[key]));
  return new Set(found.flat().map(({id}) => id));
}

// The time of a field, which is of the reader's zone, as the service takes it.
const utc = (text) => (text ? new Date(text).toISOString() : '');
const timesOf = ({since, from, to}) => (since === CHOSEN ? {created_since: utc(from), created_before: utc(to)}
  : {created_since: since && new Date(Date.now() - HOURS[since] * 3600000).toISOString()});

// Users are known by their ids. The session also knows a name: its own.
function userOf(text) {
  const {user} = session.value;
  return text === user.user_name ? user.user_id : text;
}

// The service chooses by all but the names of resources: it has their ids. The newest are searched here for these.
async function load({state, type, text, who, ...period}) {
  const {operations} = await get('operations', {...allProjects(), ...timesOf(period), state, resource_type: type, user_id: userOf(who),
    resource_id: isId(text) ? text : '', limit: OF_TEXTS});
  const named = text && !isId(text) ? await idsNamed(text) : null;
  return {whole: operations.length === OF_TEXTS, users: [...new Set(operations.map(({user_id: id}) => id).filter(Boolean))],
    rows: operations.filter(({resource_id: id}) => !named || named.has(id) || id.startsWith(text))};
}

export function Operations({id: begin}) {
  const {values, field} = useFields({state: Object.hasOwn(T.states, begin) ? begin : '', type: '', text: '', who: '', since: '', from: '', to: ''});
  const wanted = useCalm(values);
  const found = useLoad(() => load({...wanted, text: wanted.text.trim(), who: wanted.who.trim()}), Object.values(wanted), isEvent('operation'));
  return html`<${Title}>${T.title}<//>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Choice} label=${T.state} ...${field('state')} options=${[['', T.any], ...Object.entries(T.states)]} />
      <${Choice} label=${T.type} ...${field('type')} options=${[['', T.any], ...TYPES.map((name) => [name, name.replaceAll('_', ' ')])]} />
      <${Text} label=${T.about} ...${field('text')} type="search" maxlength="255" />
      <${Text} label=${T.who} ...${field('who')} type="search" maxlength="255" list="users" />
      <datalist id="users">${found.value?.users.map((id) => html`<option key=${id} value=${id} />`)}</datalist>
      <${Choice} label=${T.since} ...${field('since')} options=${[['', T.ever], ...Object.entries(T.periods)]} />
      ${values.since === CHOSEN && html`<${Text} label=${T.from} type="datetime-local" dir="ltr" ...${field('from')} />
        <${Text} label=${T.to} type="datetime-local" dir="ltr" ...${field('to')} />`}</form>
    ${values.state === 'parked' && html`<p class="hint">${T.parked} ${mayOpen('findings') && html`<a href=${link('findings')}>${S.findings.title}</a>`}</p>`}
    <${Loaded} from=${found}>${({rows, whole}) => html`<${Table} caption=${T.title} rows=${rows} none=${T.none} most=${OF_TEXTS}
      columns=${[...COLUMNS, PROGRESS, ERROR, ...(session.value.everything ? [PROJECT] : []), ...(may('operation:see_inside') ? [HOST] : [])]} />
      ${whole && html`<p class="hint">${T.cut(OF_TEXTS)}</p>`}`}<//>`;
}
