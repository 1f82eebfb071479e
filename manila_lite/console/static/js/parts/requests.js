// SPDX-License-Identifier: Apache-2.0
// Requests of the last hour that were slow, or that the service could not answer: those of every process of the API.
import {html, useState} from '../html.js';
import {get} from '../api.js';
import {useLoad} from '../load.js';
import {Copied, Loaded, Own, Section, Time} from './basics.js';
import {Choice} from './form.js';
import {OF_TEXTS, Table} from './table.js';
import {S} from '../strings.js';

const T = S.requests;
const OFTEN = 20000;
const FILTERS = {all: {}, slow: {slow: true}, failed: {failed: true}};

const isOne = ({path}) => path !== null;
const request = (row) => (isOne(row) ? html`<code>${row.method} ${row.path}</code>`
  : html`${T.further(row.requests)}<div class="hint">${T.some(row.slow, row.failed)}</div>`);
const status = ({status: code}) => (code === null ? S.none : html`<span class=${code >= 500 ? 'status bad' : 'status plain'}>${code}</span>`);
const seconds = (row) => (isOne(row) ? row.seconds.toFixed(2) : T.longest(row.seconds.toFixed(2)));

const COLUMNS = [
  {key: 'time', head: T.time, cell: (row) => html`<${Time} at=${row.created_at} />`},
  {key: 'request', head: T.request, class: 'long', cell: request},
  {key: 'status', head: S.table.status, cell: status},
  {key: 'seconds', head: T.seconds, cell: seconds},
  {key: 'host', head: S.table.host, class: 'wide', cell: (row) => html`<code>${row.host}</code>`},
  {key: 'project', head: S.table.project, class: 'wider', cell: (row) => html`<${Own} text=${row.project_id ?? S.none} />`},
  {key: 'id', head: T.id, cell: (row) => (row.request_id ? html`<${Copied} text=${row.request_id} label=${`${T.id} ${row.request_id}`} />` : S.none)},
];

export function Requests() {
  const [shown, choose] = useState('all');
  const found = useLoad(async () => (await get('request-notes', {limit: OF_TEXTS, ...FILTERS[shown]})).request_notes, [shown],
    () => false, OFTEN);
  return html`<${Section} title=${T.title} actions=${html`<button type="button" onClick=${found.reload}>${T.refresh}</button>`}>
    <p>${T.text}</p>
    <form class="filters" onSubmit=${(event) => event.preventDefault()}><${Choice} label=${T.show} value=${shown} onChange=${choose}
      options=${Object.keys(FILTERS).map((name) => [name, T[name]])} /></form>
    <${Loaded} from=${found}>${(rows) => html`<${Table} caption=${T.title} columns=${COLUMNS} rows=${rows} none=${T.none} most=${OF_TEXTS} />
      ${rows.length === OF_TEXTS && html`<p class="hint">${T.cut(OF_TEXTS)}</p>`}`}<//><//>`;
}
