// SPDX-License-Identifier: Apache-2.0
// Data of the API that stays true: asked for again when an event says that it changed.
import {useCallback, useEffect, useRef, useState} from './html.js';
import {link} from './api.js';
import {listen} from './events.js';
import {session} from './session.js';

const DEBOUNCE = 200;
const LONGEST = 1000;
const OFTEN = new Set(['reset', 'tick']);

// Calls `act` soon after events that `wants` is true of; not more often than a page needs.
function useEvents(act, wants) {
  const latest = useRef();
  latest.current = {act, wants};
  useEffect(() => {
    let timer = null;
    let since = 0;
    const fire = () => { timer = null; latest.current.act(); };
    const stop = listen((event) => {
      if (session.value.declined || (!OFTEN.has(event.event) && !latest.current.wants(event))) return;
      const now = Date.now();
      since = timer === null ? now : since;
      clearTimeout(timer);
      timer = setTimeout(fire, Math.max(0, Math.min(DEBOUNCE, since + LONGEST - now)));
    });
    return () => { stop(); clearTimeout(timer); };
  }, []);
}

// {value, error, reload}. An error keeps the value that was there; a service that is away is no error of this page.
// `every`: milliseconds after which it is asked for again in any case, where no event tells of all that is shown.
export function useLoad(load, deps, wants = () => false, every = 0) {
  const [state, set] = useState({value: null, error: null});
  const turn = useRef(0);
  const latest = useRef();
  latest.current = load;
  const reload = useCallback(async () => {
    turn.current += 1;
    const mine = turn.current;
    try {
      const value = await latest.current();
      if (mine === turn.current) set({value, error: null});
    } catch (error) {
      if (mine === turn.current) set((old) => ({...old, error: error.status === 0 && old.value !== null ? null : error}));
    }
  }, []);
  useEffect(() => {
    set({value: null, error: null});
    reload();
    return () => { turn.current += 1; };
  }, deps);
  useEvents(reload, wants);
  useEffect(() => {
    if (!every) return undefined;
    const timer = setInterval(() => document.hidden || session.value.declined || reload(), every);
    return () => clearInterval(timer);
  }, [every]);
  useEffect(() => {
    let away = link.value.away;
    return link.watch((now) => {
      if (away && !now.away) reload();
      away = now.away;
    });
  }, []);
  return {...state, reload};
}

export const isAbout = (...ids) => ({event, data}) =>
  (event === 'status' && ids.includes(data.resource_id)) || (event === 'operation' && ids.includes(data.resource_id));
export const isOf = (...types) => ({event, data}) =>
  (event === 'status' || event === 'operation') && types.includes(data.resource_type);
export const isEvent = (...names) => ({event}) => names.includes(event);

const PAGE = 100;

// One page of a list, also where the service gives fewer rows at once.
async function whole(load, first) {
  const rows = [];
  for (;;) {
    const {rows: more, total} = await load(first + rows.length, PAGE - rows.length);
    rows.push(...more);
    if (more.length === 0 || rows.length >= PAGE || first + rows.length >= total) return {rows, total};
  }
}

// A list of any length: `load(offset, limit)` gives {rows, total}; only pages that are looked at are asked for.
export function usePages(load, deps, wants) {
  const [state, set] = useState({rows: [], total: null, error: null});
  const kept = useRef({run: 0, pages: new Set(), seen: [0, 0]});
  const latest = useRef();
  latest.current = load;
  const fetchPage = useCallback(async (page) => {
    const {run} = kept.current;
    kept.current.pages.add(page);
    try {
      const {rows, total} = await whole(latest.current, page * PAGE);
      if (run !== kept.current.run) return;
      set((old) => {
        const all = old.rows.slice(0, total);
        all.length = total;
        rows.forEach((row, index) => { all[page * PAGE + index] = row; });
        return {rows: all, total, error: null};
      });
    } catch (error) {
      if (run !== kept.current.run) return;
      kept.current.pages.delete(page);
      set((old) => ({...old, error: error.status === 0 && old.total !== null ? null : error}));
    }
  }, []);
  const look = useCallback((first, end) => {
    kept.current.seen = [first, end];
    for (let page = Math.floor(first / PAGE); page * PAGE < Math.max(end, 1); page += 1) {
      if (!kept.current.pages.has(page)) fetchPage(page);
    }
  }, []);
  const reload = useCallback(() => {
    kept.current.run += 1;
    kept.current.pages.clear();
    look(...kept.current.seen);
  }, []);
  useEffect(() => {
    kept.current.seen = [0, 0];
    set((old) => ({...old, rows: [], error: null}));
    reload();
  }, deps);
  useEvents(reload, wants);
  useEffect(() => link.watch((now) => { if (!now.away && kept.current.pages.size === 0) reload(); }), []);
  return {...state, look, reload};
}

export const useUser = () => {
  const [user, set] = useState(session.value);
  useEffect(() => session.watch(set), []);
  return user;
};
