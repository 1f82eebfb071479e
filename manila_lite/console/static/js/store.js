// SPDX-License-Identifier: Apache-2.0
// A value that parts of the page watch.
import {useEffect, useState} from './html.js';

export class Store {
  constructor(value) {
    this.value = value;
    this.watchers = new Set();
  }

  set(changes) {
    this.value = {...this.value, ...changes};
    for (const watcher of [...this.watchers]) watcher(this.value);
  }

  watch(watcher) {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }
}

export function useStore(store) {
  const [value, set] = useState(store.value);
  useEffect(() => {
    set(store.value);
    return store.watch(set);
  }, [store]);
  return value;
}
