// SPDX-License-Identifier: Apache-2.0
// Share types, for administrators: what they ask of a backend, and which projects may use them.
import {html} from '../html.js';
import {create, get, id as quoted, post, put, remove} from '../api.js';
import {useLoad} from '../load.js';
import {abilities, hasServers} from '../offers.js';
import {Empty, Loaded, Name, Own, Title, button} from '../parts/basics.js';
import {FormDialog, useConfirm, useOpened} from '../parts/dialog.js';
import {Area, Check, Text, useFields} from '../parts/form.js';
import {linesOf, pairsOf} from '../pairs.js';
import {actions} from '../parts/columns.js';
import {Table} from '../parts/table.js';
import {TypeAccess} from '../parts/type_access.js';
import {may} from '../session.js';
import {S} from '../strings.js';

const T = S.types;
const SERVERS = 'driver_handles_share_servers';
const PUBLIC = 'share_type_access:is_public';

const others = ({extra_specs: specs}) => Object.fromEntries(Object.entries(specs).filter(([key]) => key !== SERVERS));

async function make({name, description, isPublic, servers, specs}) {
  await create('types', {share_type: {name, description: description || null, [PUBLIC]: isPublic,
    extra_specs: {[SERVERS]: String(servers), ...pairsOf(specs)}}});
}

async function change(type, {name, description, isPublic, specs}) {
  const [old, wanted] = [others(type), pairsOf(specs)];
  const set = Object.fromEntries(Object.entries(wanted).filter(([key, value]) => old[key] !== value));
  const path = `types/${quoted(type.id)}`;
  await put(path, {share_type: {name, description: description || null, [PUBLIC]: isPublic}});
  if (Object.keys(set).length > 0) await post(`${path}/extra_specs`, {extra_specs: set});
  for (const key of Object.keys(old)) if (!(key in wanted)) await remove(`${path}/extra_specs/${quoted(key)}`);
}

// `type`: the one that is changed; default: a new one.
function Edit({type, onClose}) {
  const {values, field} = useFields({name: type?.name ?? '', description: type?.description ?? '', isPublic: type?.[PUBLIC] ?? true,
    servers: type ? hasServers(type) : false, specs: type ? linesOf(others(type)) : ''});
  const submit = () => (type ? change(type, values) : make(values));
  return html`<${FormDialog} title=${type ? S.share.editTitle(type.name) : T.create} submit=${type ? S.action.save : S.action.create} onSubmit=${submit}
    onClose=${onClose}><${Text} label=${S.table.name} ...${field('name')} required maxlength="255" autofocus />
    <${Text} label=${S.table.description} ...${field('description')} maxlength="255" />
    <${Check} label=${T.public} ...${field('isPublic')} />
    ${!type && html`<${Check} label=${T.servers} ...${field('servers')} />`}
    <${Area} label=${T.specs} hint=${T.specsHint} ...${field('specs')} class="program" rows="6" dir="ltr" spellcheck=${false} /><//>`;
}

export function Types() {
  const found = useLoad(async () => (await get('types', {is_public: 'all'})).share_types, []);
  const [dialog, open, close] = useOpened(found.reload);
  const [, confirm, erase] = useConfirm(found.reload);
  const edit = (type) => open({type});
  const give = (type) => open({access: type});
  const columns = [
    {key: 'name', head: S.table.name, cell: (type) => html`<${Name} row=${type} />
      ${type.is_default && html` <span class="status plain">${T.default}</span>`}
      ${type.description && html`<div class="hint"><${Own} text=${type.description} /></div>`}`},
    {key: 'abilities', head: T.abilities, class: 'whole', cell: (type) => abilities(type).join(', ')},
    {key: 'specs', head: T.specs, class: 'long', cell: (type) => html`<ul class="plain">${Object.entries(type.extra_specs).sort().map(([key, value]) => html`
      <li key=${key}><code>${key}</code> = <code>${value}</code></li>`)}</ul>`},
    {key: 'access', head: T.access, cell: (type) => (type[PUBLIC] ? T.everybody : T.some)},
    actions((type) => html`${may('share_type:update') && button(S.share.edit, type, edit)}
      ${!type[PUBLIC] && may('share_type:list_project_access') && button(T.access, type, give)}
      ${may('share_type:delete') && button(S.action.delete, type, () => erase(`types/${quoted(type.id)}`, T.what, type.name))}`),
  ];
  const start = html`<button type="button" class="main" onClick=${() => open({})}>${T.create}</button>`;
  return html`<${Title} actions=${start}>${T.title}<//>
    <${Loaded} from=${found}>${(rows) => html`<${Table} caption=${T.title} columns=${columns} rows=${rows}
      none=${html`<${Empty} text=${T.none} next=${T.first} />`} />`}<//>
    ${dialog && (dialog.access ? html`<${TypeAccess} type=${dialog.access} onClose=${close} />`
      : html`<${Edit} type=${dialog.type} onClose=${close} />`)}${confirm}`;
}
