/**
 * Compares the Birds that people declare in a file with those that the service has. A Bird that is declared with its id is
 * found by that, so another name or Nest is a difference too; without it, by the names of Bird and Nest. A Bird that the
 * file lacks is a difference only if the file names its Nest.
 */
import { howMany } from '../../../text/instant-words.ts';
import type { DeclaredBird } from '../../alert/rule.ts';

/** A Bird as it is: what is absent is not known. Names are ids of what has none. */
export interface ListedBird extends DeclaredBird {
  readonly id: string;
  readonly nestId: string;
}

/** How a Bird differs from what is declared. */
export interface Drift {
  readonly what: 'differs' | 'missing' | 'undeclared' | 'ambiguous';
  /** As the file has it; one that it lacks as it is. */
  readonly declared: DeclaredBird;
  /** Absent if there is none, or more than one. */
  readonly listed?: ListedBird;
  /** Clauses for people, which quote the service: `suspended, declared active`. */
  readonly clauses: readonly string[];
  /** Whether the first of them is about its status. */
  readonly isOfStatus?: boolean;
}

/** All differences, by region, Nest and Bird. `listed` are all Birds of the regions of `declared`. */
export function compareBirds(declared: readonly DeclaredBird[], listed: readonly ListedBird[]): Drift[] {
  const byId = Map.groupBy(listed, ({ region, id }) => keyOf(region, id));
  const byName = Map.groupBy(listed, ({ region, nest, bird }) => keyOf(region, nest, bird));
  const nests = new Set(declared.map(({ region, nest }) => keyOf(region, nest)));
  const found = new Set<ListedBird>();
  const drifts = declared.flatMap((one): Drift | readonly Drift[] => {
    const { region, nest, bird, id } = one;
    const fitting =
      (id === undefined ? byName.get(keyOf(region, nest, bird)) : byId.get(keyOf(region, id))) ?? [];
    for (const each of fitting) found.add(each);
    if (fitting.length === 1) return differences(one, fitting[0]!) ?? [];
    if (fitting.length === 0) return { what: 'missing', declared: one, clauses: ['missing'] };
    const clauses = [`${howMany(fitting.length, 'Bird')} of this Nest have this name: give the id`];
    return { what: 'ambiguous', declared: one, clauses };
  });
  const undeclared = listed
    .filter((one) => !found.has(one) && nests.has(keyOf(one.region, one.nest)))
    .map((one): Drift => ({ what: 'undeclared', declared: one, listed: one, clauses: ['not declared'] }));
  return [...drifts, ...undeclared].toSorted((a, b) => byPlace(a.declared, b.declared));
}

/** How a Bird differs from what is declared of it; undefined if it does not. */
export function differences(declared: DeclaredBird, listed: ListedBird): Drift | undefined {
  const differs = (key: keyof DeclaredBird) =>
    declared[key] !== undefined && listed[key] !== undefined && declared[key] !== listed[key];
  const isOfStatus = differs('status');
  const clauses = [
    isOfStatus ? `${listed.status}, declared ${declared.status}` : '',
    // Another status says it already.
    !isOfStatus && differs('published')
      ? `${publishedWords(listed)}, declared ${publishedWords(declared)}`
      : '',
    differs('trigger') ? `trigger ${listed.trigger}, declared ${declared.trigger}` : '',
    differs('bird') ? `its name is ${listed.bird}` : '',
    differs('nest') ? `it is in ${listed.nest}` : '',
  ].filter((clause) => clause !== '');
  return clauses.length === 0 ? undefined : { what: 'differs', declared, listed, clauses, isOfStatus };
}

function publishedWords({ published }: DeclaredBird): string {
  return published ? 'published' : 'not published';
}

const keyOf = (...parts: readonly string[]) => JSON.stringify(parts);

/** In an order that does not depend on the machine. */
export function byPlace(a: DeclaredBird, b: DeclaredBird): number {
  for (const key of ['region', 'nest', 'bird', 'id'] as const) {
    const [one = '', other = ''] = [a[key], b[key]];
    if (one !== other) return one < other ? -1 : 1;
  }
  return 0;
}
