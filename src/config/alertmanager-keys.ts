/** Warns of keys of an Alertmanager configuration that have no effect here, and says what to write instead. */
import type * as z from 'zod';
import { CHANNELS, configsKey } from '../channels/registry.ts';
import type { Check } from '../document/check.ts';
import type { Path } from '../document/problem.ts';
import { readList } from '../document/read-list.ts';
import { nameNewMatchers } from '../document/read-matchers.ts';
import { insteadOf } from '../document/refused-key.ts';
import { findGoSyntax } from '../templates/go-syntax.ts';

const LIQUID = 'write Liquid in `title`, `text`, `html` or `headers` of a receiver';

export function findAlertmanagerKeys(check: Check): void {
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

/** Warns of a key that is accepted only so that Alertmanager's files load. If it is empty, there is no warning. */
function warnOf(check: Check, path: Path, instead: string): void {
  const value = check.raw(path);
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  if (value !== undefined && value !== null && !isEmpty)
    check.problem(path, `has no effect here: ${instead}`);
}

/** Keys of Alertmanager's integrations that only concern looks. */
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
  findGoInLabels(check, [...path, 'labels']);
  nameNewMatchers(check, path);
  for (const child of readList(check, [...path, 'routes'])) findInRoute(check, child);
}

/** A route's label written in Go's template syntax is left out: only templates use it, and those would be in Go too. */
function findGoInLabels(check: Check, path: Path): void {
  const labels = check.raw(path);
  for (const [name, text] of Object.entries(typeof labels === 'object' && labels !== null ? labels : {})) {
    const go = typeof text === 'string' ? findGoSyntax(text) : undefined;
    if (go) check.problem([...path, name], `is left out: ${go}`);
  }
}
