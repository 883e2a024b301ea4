/** What a configuration of Alertmanager's may say, and is said in another form today. */
import type * as z from 'zod';
import { CHANNELS, configsKey } from '../channels/registry.ts';
import type { Check } from '../document/check.ts';
import type { Path } from '../document/problem.ts';
import { nameNewMatchers, readList } from '../document/read-list.ts';
import { insteadOf } from '../document/refused-key.ts';

const LIQUID = 'write Liquid in `title`, `text`, `html` or `headers` of a receiver';

export function findOldForms(check: Check): void {
  warnOf(check, ['global', 'resolve_timeout'], 'alerts resolve by their rules (`resolve_after`)');
  warnOf(check, ['templates'], LIQUID);
  warnOf(check, ['tracing'], 'leave it out');
  for (const path of readList(check, ['receivers'])) findInIntegrations(check, path);
  findInRoute(check, ['route']);
  for (const path of readList(check, ['inhibit_rules'])) {
    nameNewMatchers(check, path, 'source_');
    nameNewMatchers(check, path, 'target_');
  }
}

/** Of a key that is taken so that Alertmanager's files load. One that holds nothing says nothing there either. */
function warnOf(check: Check, path: Path, instead: string): void {
  const value = check.raw(path);
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  if (value !== undefined && value !== null && !isEmpty)
    check.problem(path, `has no effect here: ${instead}`);
}

/** Keys of Alertmanager's that are about looks alone. */
function findInIntegrations(check: Check, receiver: Path): void {
  for (const channel of CHANNELS) {
    const keys = Object.entries(channel.shape.shape).flatMap(([key, shape]) => {
      const instead = insteadOf(shape as z.ZodType);
      return instead === undefined ? [] : [[key, instead] as const];
    });
    for (const path of readList(check, [...receiver, configsKey(channel)])) {
      for (const [key, instead] of keys) warnOf(check, [...path, key], instead);
    }
  }
}

function findInRoute(check: Check, path: Path): void {
  warnOf(check, [...path, 'labels'], '`labels` of a rule add some to its alerts');
  nameNewMatchers(check, path);
  for (const child of readList(check, [...path, 'routes'])) findInRoute(check, child);
}
