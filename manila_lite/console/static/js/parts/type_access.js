// SPDX-License-Identifier: Apache-2.0
// The projects that may use a private share type.
import {html, useState} from '../html.js';
import {act, get, id as quoted} from '../api.js';
import {useLoad} from '../load.js';
import {Loaded, button, useAct} from './basics.js';
import {Dialog} from './dialog.js';
import {Form, Text} from './form.js';
import {Who} from './ref.js';
import {S} from '../strings.js';

const T = S.types;

export function TypeAccess({type, onClose}) {
  const [project, write] = useState('');
  const path = `types/${quoted(type.id)}`;
  const found = useLoad(async () => (await get(`types/${quoted(type.id)}/share_type_access`)).share_type_access, [type.id]);
  const [run, problem] = useAct(found.reload);
  const add = async () => {
    await act(path, 'addProjectAccess', {project: project.trim()});
    write('');
    found.reload();
  };
  const withdraw = (id) => run(() => act(path, 'removeProjectAccess', {project: id}));
  return html`<${Dialog} title=${T.accessOf(type.name)} onClose=${onClose}>${problem}
    <${Loaded} from=${found}>${(rows) => (rows.length === 0 ? html`<p class="none">${T.nobody}</p>` : html`<ul class="lines">${rows.map(
      ({project_id: id}) => html`<li key=${id}><${Who} project=${id} /> ${button(T.withdraw, id, withdraw, id)}</li>`)}</ul>`)}<//>
    <${Form} submit=${S.action.add} onSubmit=${add}><${Text} label=${T.project} value=${project} onChange=${write} required maxlength="255" /><//>
    <div class="actions"><button type="button" onClick=${onClose}>${S.action.close}</button></div><//>`;
}
