/** What a configuration of Alertmanager's may say, and is said in another form today. */
import type { Check } from '../document/check.ts';
import type { Path } from '../document/problem.ts';
import { nameNewMatchers, readList } from '../document/read-list.ts';

export function findOldForms(check: Check): void {
  if (check.raw(['global', 'resolve_timeout']) !== undefined) {
    const what = 'has no effect: alerts resolve by their rules (`resolve_after`), so leave it out';
    check.problem(['global', 'resolve_timeout'], what);
  }
  const templates = check.raw(['templates']);
  if (Array.isArray(templates) && templates.length > 0) {
    const what =
      'these files are not read: write Liquid in `title`, `text`, `html` or `headers` of a receiver';
    check.problem(['templates'], what);
  }
  findInRoute(check, ['route']);
  for (const path of readList(check, ['inhibit_rules'])) {
    nameNewMatchers(check, path, 'source_');
    nameNewMatchers(check, path, 'target_');
  }
}

function findInRoute(check: Check, path: Path): void {
  nameNewMatchers(check, path);
  for (const child of readList(check, [...path, 'routes'])) findInRoute(check, child);
}
