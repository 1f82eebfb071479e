// SPDX-License-Identifier: Apache-2.0
// What can be done to several shares at once.
import {html, useRef} from '../html.js';
import {act, id as quoted} from '../api.js';
import {canAllow, canChange, canDelete, canExtend} from '../offers.js';
import {AddRule} from '../pages/share_rules.js';
import {runAll} from '../several.js';
import {useAct} from './basics.js';
import {deletionOf} from './delete_share.js';
import {FormDialog, useConfirm, useOpened} from './dialog.js';
import {Whole, useFields} from './form.js';
import {S} from '../strings.js';

const T = S.bulk;

function Extend({shares, onClose}) {
  const done = useRef(new Set());
  const {values, field} = useFields({size: String(Math.max(...shares.map(({size}) => size)) + 1)});
  const size = Number(values.size);
  const submit = () => runAll(shares.filter((share) => share.size < size), done.current,
    ({id}) => act(`shares/${quoted(id)}`, 'extend', {new_size: size}));
  return html`<${FormDialog} title=${T.extendTitle(shares.length)} submit=${T.extend} onSubmit=${submit} onClose=${onClose}>
    <${Whole} label=${S.share.newSize} hint=${T.larger} ...${field('size')} min="1" required autofocus /><//>`;
}

// `shares`: those that are selected; `shown`: those that could be.
export function Bulk({shares, shown, select, reload}) {
  const [dialog, open, finish] = useOpened(reload);
  const [ask, confirm] = useConfirm();
  const [run, problem] = useAct();
  const changeable = shares.filter(canChange);
  const deletable = shares.filter(canDelete);
  const erase = () => run(async () => ask(await deletionOf(deletable, finish)));
  if (shares.length === 0) return confirm;
  return html`<div class="bulk" role="group" aria-label=${T.label}><span role="status">${T.selected(shares.length)}</span>
    ${changeable.some(canExtend) && html`<button type="button" onClick=${() => open('extend')}>${T.extend}</button>`}
    ${changeable.some(canAllow) && html`<button type="button" onClick=${() => open('rule')}>${S.access.add}</button>`}
    ${deletable.length > 0 && html`<button type="button" class="danger" onClick=${erase}>${S.action.delete}</button>`}
    ${shown.length > shares.length && html`<button type="button" onClick=${() => select(shown.map(({id}) => id))}>${T.all(shown.length)}</button>`}
    <button type="button" onClick=${() => select([])}>${T.none}</button>
    ${changeable.length < shares.length && html`<span class="hint">${T.some(changeable.length, shares.length)}</span>`}</div>${problem}${confirm}
    ${dialog === 'extend' && html`<${Extend} shares=${changeable} onClose=${finish} />`}
    ${dialog === 'rule' && html`<${AddRule} shares=${changeable} title=${T.ruleTitle(changeable.length)} onClose=${finish} />`}`;
}
