// SPDX-License-Identifier: Apache-2.0
// Numbers and times for people.
import {S} from './strings.js';

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

export function bytes(count) {
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit && value < 10 && !Number.isInteger(value) ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}

export const gib = (count) => (typeof count === 'number' ? bytes(count * 1024 ** 3) : String(count ?? S.none));

export function duration(seconds) {
  const all = Math.max(0, Math.round(seconds));
  const [hours, minutes] = [Math.floor(all / 3600), Math.floor(all / 60) % 60];
  if (hours >= 48) return S.time.days(Math.floor(hours / 24), hours % 24);
  if (hours) return S.time.hours(hours, minutes);
  return minutes ? S.time.minutes(minutes, all % 60) : S.time.seconds(all);
}

// The API writes times in UTC without a zone.
export const parse = (text) => new Date(/[zZ]|[+-]\d\d:?\d\d$/.test(text) ? text : `${text}Z`);

const FULL = new Intl.DateTimeFormat(undefined, {dateStyle: 'medium', timeStyle: 'medium'});
export const time = (text) => (text ? FULL.format(parse(text)) : S.none);
const SHORT = new Intl.DateTimeFormat(undefined, {month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit'});
export const minute = (text) => SHORT.format(parse(text));

// Seconds of each unit, and from how many on it is used.
const AGES = [['d', 86400, 172800], ['h', 3600, 3600], ['min', 60, 60], ['s', 1, 1]];

// An age in one unit: what a reader needs of it.
export function ago(text, now = Date.now()) {
  if (!text) return S.none;
  const seconds = Math.floor((now - parse(text)) / 1000);
  const [unit, length] = AGES.find(([, , least]) => seconds >= least) ?? [];
  return unit ? S.time.ago(`${Math.floor(seconds / length)} ${unit}`) : S.time.now;
}
