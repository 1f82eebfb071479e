// SPDX-License-Identifier: Apache-2.0
// Dialogs. The browser keeps the focus in them, closes them with Escape, and gives the focus back.
import {html, useId, useLayoutEffect, useRef, useState} from '../html.js';
import {remove} from '../api.js';
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

// [ask, dialog, erase]: `ask({title, text, submit, act, body})` asks before something is done that cannot be undone, and then has the
// page ask again. `erase(path, what, name)` deletes something like that.
export function useConfirm(reload = () => {}) {
  const [asked, ask] = useState(null);
  const dialog = asked && html`<${FormDialog} title=${asked.title} submit=${asked.submit} onSubmit=${() => asked.act().then(reload)} danger
    onClose=${() => ask(null)}><p>${asked.text}</p>${asked.body}<//>`;
  const erase = (path, what, name, text = S.confirm.deleteText, act = () => remove(path)) => ask({
    title: S.confirm.delete(what, name), text, submit: S.action.delete, act});
  return [ask, dialog, erase];
}

// [opened, open, close]: what is open in a dialog; after that the page asks again.
export function useOpened(reload) {
  const [opened, open] = useState(null);
  return [opened, open, () => {
    open(null);
    reload();
  }];
}
