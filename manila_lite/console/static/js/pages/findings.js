// SPDX-License-Identifier: Apache-2.0
// What the doctor finds: what will not end by itself, what mends it, and a button where the service can do that.
import {html, useState} from '../html.js';
import {get, post} from '../api.js';
import {duration} from '../format.js';
import {useLoad} from '../load.js';
import {Loaded, Own, Prose, Status, Title, button} from '../parts/basics.js';
import {useConfirm} from '../parts/dialog.js';
import {Check} from '../parts/form.js';
import {Requests} from '../parts/requests.js';
import {OF_TEXTS, Table} from '../parts/table.js';
import {link} from '../router.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.findings;
// To look costs the database more than other lists do.
const OFTEN = 20000;
const LOOK_AGAIN = 2000;

// Where to see more about it.
const PAGES = {share: ({id}) => link('share', id), service: () => link('services'), 'share server': () => link('servers'),
  'share replica': () => link('replicas'), 'share network': () => link('networks'), operation: () => link('operations')};
const keyOf = ({what, id, state}) => `${what} ${id} ${state}`;

function Subject({row}) {
  const id = html`<code>${row.id}</code>`;
  return html`${row.what} ${row.what in PAGES ? html`<a href=${PAGES[row.what](row)}>${id}</a>` : id}
    ${row.about && html`<div class="hint"><${Own} text=${row.about} /></div>`}`;
}

function Why({row}) {
  const hasNews = row.error && !row.why.includes(row.error);
  return html`<bdi><${Prose} text=${row.why} /></bdi>${hasNews && html`<div class="hint">${T.lastError} <${Own} text=${row.error} /></div>`}`;
}

export function Findings() {
  const [all, showAll] = useState(false);
  const [said, say] = useState('');
  const found = useLoad(async () => (await get('findings', {limit: OF_TEXTS, ...(all ? {} : {wrong: true})})).findings, [all],
    () => false, OFTEN);
  const [ask, confirm] = useConfirm(found.reload);
  const mend = (row) => ask({title: T.mendTitle(row.what, row.id), text: T.mendText, submit: T.mend, act: async () => {
    const {mended} = await post('findings/mend', {what: row.what, id: row.id, state: row.state});
    say(T.mended(row.what, row.id, mended));
    setTimeout(found.reload, LOOK_AGAIN);
  }});
  const columns = [
    {key: 'what', head: T.what, class: 'long', cell: (row) => html`<${Subject} row=${row} />`},
    {key: 'state', head: S.table.state, cell: (row) => html`<${Status} of=${row.state} />`},
    {key: 'why', head: T.why, class: 'long', cell: (row) => html`<${Why} row=${row} />`},
    {key: 'age', head: T.age, class: 'wide', cell: ({age}) => (age === null ? S.none : duration(age))},
    {key: 'project', head: S.table.project, class: 'wider', cell: (row) => html`<${Own} text=${row.project_id ?? S.none} />`},
    {key: 'actions', head: S.table.actions, cell: (row) => (row.mendable && row.wrong && may('finding:mend')
      ? button(T.mend, row, mend, `${row.what} ${row.id}`)
      : row.wrong ? T.byHand : T.underWay)},
  ];
  return html`<${Title}>${T.title}<//><p>${T.text}</p>
    <form class="filters" onSubmit=${(event) => event.preventDefault()}><${Check} label=${T.all} value=${all} onChange=${showAll} /></form>
    <p role="status">${said}</p>
    <${Loaded} from=${found}>${(rows) => html`<${Table} caption=${T.title} columns=${columns} rows=${rows} keyOf=${keyOf} most=${OF_TEXTS}
      none=${all ? T.none : T.noneWrong} />
      ${rows.length === OF_TEXTS && html`<p class="hint">${T.cut(OF_TEXTS)}</p>`}`}<//>
    ${may('request_note:index') && html`<${Requests} />`}${confirm}`;
}
