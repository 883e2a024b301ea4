import type { NestRecord } from '../../store/inventory-store.ts';

type Nests = ReadonlyMap<string, NestRecord>;

/** The listed Nests that come to be watched, or have another name. */
export function enteringNests(known: Nests, listed: Nests): NestRecord[] {
  return [...listed.values()].filter((nest) => {
    const before = known.get(nest.nestId);
    return !before?.present || before.name !== nest.name;
  });
}

/** The known Nests that a complete list lacks, as no longer present. */
export function goneNests(known: Nests, listed: Nests): NestRecord[] {
  return [...known.values()]
    .filter((nest) => nest.present && !listed.has(nest.nestId))
    .map((nest) => ({ ...nest, present: false }));
}
