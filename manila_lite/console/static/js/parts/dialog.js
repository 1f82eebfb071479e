// SPDX-License-Identifier: Apache-2.0
// Dialogs. The browser keeps the focus in them, closes them with Escape, and gives the focus back.
import {html, useId, useLayoutEffect, useRef, useState} from '../html.js';
import {S} from '../strings.js';
import {Form} from './form.js';

export function Dialog({title, onClose, children}) {
  const ref = useRef();
  const label = useId();
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  const cancelled = (event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog ref=${ref} aria-labelledby=${label} onCancel=${cancelled}><h2 id=${label}>${title}</h2>${children}</dialog>`;
}

export function FormDialog({title, submit, onSubmit, onClose, children, danger = false}) {
  const send = async () => {
    await onSubmit();
    onClose();
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <${Form} submit=${submit} onSubmit=${send} onCancel=${onClose} danger=${danger}>${children}<//><//>`;
}

// [open, dialog]: `open({title, text, submit, act, body})` asks before something is done that cannot be undone.
export function useConfirm() {
  const [asked, ask] = useState(null);
  const dialog = asked && html`<${FormDialog} title=${asked.title} submit=${asked.submit} onSubmit=${asked.act} danger
    onClose=${() => ask(null)}><p>${asked.text}</p>${asked.body}<//>`;
  return [ask, dialog];
}

export const deletion = (what, name, act) => ({
  title: S.confirm.delete(what, name), text: S.confirm.deleteText, submit: S.action.delete, act});
