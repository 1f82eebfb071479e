// SPDX-License-Identifier: Apache-2.0
// Messages of the service to its users: why something did not work, and what to do next.
import {html} from '../html.js';
import {id as quoted, list, remove} from '../api.js';
import {isAbout, isEvent, useLoad} from '../load.js';
import {Loaded, Prose, Time, Title, button, useAct} from '../parts/basics.js';
import {Ref} from '../parts/ref.js';
import {OF_TEXTS, Table} from '../parts/table.js';
import {may} from '../session.js';
import {S} from '../strings.js';

// That a share fills up, or that a schedule failed, is no event.
const OFTEN = 15000;
const about = ({resource_type: type, resource_id: id}) => html`<${Ref} type=${(type ?? '').toLowerCase()} id=${id} />`;

export function MessageList({resource}) {
  const found = useLoad(() => list('messages', 'messages', {resource_id: resource}), [resource],
    resource ? isAbout(resource) : isEvent('status', 'operation'), OFTEN);
  const [run, problem] = useAct(found.reload);
  const dismiss = ({id}) => run(() => remove(`messages/${quoted(id)}`));
  const columns = [
    {key: 'text', head: S.messages.text, class: 'long', cell: (row) => html`<bdi><${Prose} text=${row.user_message} /></bdi>`},
    ...(resource ? [] : [{key: 'about', head: S.messages.about, class: 'wide', cell: about}]),
    {key: 'created', head: S.table.created, cell: (row) => html`<${Time} at=${row.created_at} />`},
    {key: 'actions', head: S.table.actions, cell: (row) => may('message:delete') && html`<button type="button"
      onClick=${() => dismiss(row)} aria-label=${S.action.ofThis(S.messages.dismiss, row.user_message)}>${S.action.delete}</button>`},
  ];
  return html`${problem}<${Loaded} from=${found}>${(rows) => html`<${Table} caption=${S.messages.title} columns=${columns} rows=${rows}
    none=${S.messages.none} most=${OF_TEXTS} />`}<//>`;
}

export function Messages() {
  return html`<${Title}>${S.messages.title}<//><${MessageList} />`;
}
