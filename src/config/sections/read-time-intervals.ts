import {
  createTimeInterval,
  type TimeInterval,
  type TimeIntervals,
} from '../../domain/muting/time-interval.ts';
import type { Check } from '../document/check.ts';
import { nearest } from '../document/nearest.ts';
import type { Path } from '../document/problem.ts';
import { readList } from '../values/read-list.ts';
import { namedTimeIntervalShape } from './muting-shape.ts';

/** Alertmanager's older name for the same list stands beside the newer one; both may be given. */
const LISTS = ['mute_time_intervals', 'time_intervals'];

export function readTimeIntervals(check: Check): TimeIntervals {
  const intervals = new Map<string, readonly TimeInterval[]>();
  for (const path of LISTS.flatMap((list) => readList(check, [list]))) {
    const named = check.read(namedTimeIntervalShape, path);
    if (!named) continue;
    if (intervals.has(named.name)) check.problem([...path, 'name'], 'another time interval has this name');
    const made = named.time_intervals.map(({ days_of_month: daysOfMonth, ...spec }) =>
      createTimeInterval({ ...spec, daysOfMonth }),
    );
    intervals.set(named.name, made);
  }
  return intervals;
}

/** Tells a problem of each name in the list at `path` that no time interval of the file has. */
export function checkTimeIntervalNames(check: Check, path: Path): void {
  const list = check.raw(path);
  if (!Array.isArray(list)) return;
  const names = LISTS.flatMap((key) => readNames(check, key));
  list.forEach((name, index) => {
    if (typeof name !== 'string' || name === '' || names.includes(name)) return;
    const place = [...path, index];
    const shown = check.isExpanded(place) ? 'this name' : `the name ${JSON.stringify(name)}`;
    const meant = nearest(name, names);
    const help = meant ? `did you mean ${meant}?` : `there is ${names.join(', ') || 'none'}`;
    check.problem(place, `no time interval has ${shown}; ${help}`);
  });
}

/** Judged by the file itself: an interval with a mistake has its name all the same. */
function readNames(check: Check, list: string): string[] {
  const intervals = check.raw([list]);
  if (!Array.isArray(intervals)) return [];
  return intervals.flatMap((one) => (typeof one?.name === 'string' && one.name !== '' ? [one.name] : []));
}
