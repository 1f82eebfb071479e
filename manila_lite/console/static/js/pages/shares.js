// SPDX-License-Identifier: Apache-2.0
// The shares of the project: the service searches, sorts and counts; only rows in sight are asked for.
import {html, useEffect, useState} from '../html.js';
import {allProjects, get} from '../api.js';
import {gib} from '../format.js';
import {isOf, usePages} from '../load.js';
import {Name, Own, Problem, Status, Time, Title} from '../parts/basics.js';
import {Choice, Text} from '../parts/form.js';
import {Table} from '../parts/table.js';
import {link} from '../router.js';
import {session} from '../session.js';
import {S} from '../strings.js';

const COLUMNS = [
  {key: 'name', head: S.table.name, sort: 'display_name', cell: (row) => html`<a href=${link('share', row.id)}><${Name} row=${row} /></a>`},
  {key: 'status', head: S.table.status, sort: 'status', cell: (row) => html`<${Status} of=${row.status} />`},
  {key: 'size', head: S.table.size, sort: 'size', class: 'number', cell: (row) => gib(row.size)},
  {key: 'proto', head: S.table.protocol, sort: 'share_proto', class: 'wide', cell: (row) => row.share_proto},
  {key: 'type', head: S.table.type, class: 'wide', cell: (row) => html`<${Own} text=${row.share_type_name ?? S.none} />`},
  {key: 'zone', head: S.table.zone, class: 'wider', cell: (row) => row.availability_zone ?? S.none},
  {key: 'created', head: S.table.created, sort: 'created_at', class: 'wide', cell: (row) => html`<${Time} at=${row.created_at} />`},
];
const PROJECT = {key: 'project', head: S.table.project, class: 'wide', cell: (row) => html`<${Own} text=${row.project_id} />`};
const WAIT = 300;

// The value some time after it was last changed.
function useCalm(value) {
  const [calm, set] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => set(value), WAIT);
    return () => clearTimeout(timer);
  }, [value]);
  return calm;
}

async function load(query, offset, limit) {
  const {shares, count} = await get('shares/detail', {...allProjects(), ...query, offset, limit, with_count: 1});
  return {rows: shares, total: count};
}

export function Shares() {
  const [text, setText] = useState('');
  const [status, setStatus] = useState('');
  const [sort, setSort] = useState({key: 'created_at', descending: true});
  const search = useCalm(text.trim());
  const query = {'name~': search, status, sort_key: sort.key, sort_dir: sort.descending ? 'desc' : 'asc'};
  const pages = usePages((offset, limit) => load(query, offset, limit), [search, status, sort], isOf('share'));
  const onSort = (key) => setSort((old) => ({key, descending: old.key === key ? !old.descending : false}));
  const columns = session.value.everything ? [...COLUMNS, PROJECT] : COLUMNS;
  return html`<${Title} actions=${html`<a class="button main" href=${link('create-share')}>${S.shares.create}</a>`}>${S.shares.title}<//>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${Text} label=${S.shares.search} type="search" value=${text} onChange=${setText} maxlength="255" />
      <${Choice} label=${S.shares.state} value=${status} onChange=${setStatus}
        options=${[['', S.shares.anyState], ...S.shares.states.map((name) => [name, name.replaceAll('_', ' ')])]} />
      <p role="status">${pages.total === null ? `${S.loading}…` : S.shares.count(pages.total)}</p></form>
    <${Problem} error=${pages.error} />
    ${pages.total !== null && html`<${Table} caption=${S.shares.title} columns=${columns} rows=${pages.rows} total=${pages.total}
      look=${pages.look} sort=${sort} onSort=${onSort} none=${search || status ? S.shares.noneFound : S.shares.none} />`}`;
}
