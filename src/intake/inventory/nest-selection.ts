/** Decides which Nests of a region are watched, by the configuration's globs for their names and ids. */
import { matchesGlob } from '../../text/glob.ts';

export interface NestGlobs {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

interface NamedNest {
  readonly id: string;
  readonly name: string;
}

export class NestSelection {
  readonly #globs: NestGlobs;
  /** The names of the Nests that the service has and the configuration excludes, by id. */
  #excluded: ReadonlyMap<string, string> = new Map();

  constructor(globs: NestGlobs) {
    this.#globs = globs;
  }

  isWatched({ id, name }: NamedNest): boolean {
    const fits = (glob: string) => matchesGlob(glob, name) || matchesGlob(glob, id);
    return this.#globs.include.some(fits) && !this.#globs.exclude.some(fits);
  }

  /** Remembers which of the service's Nests are excluded. `listed` must be all of them. Returns the others. */
  select<T extends NamedNest>(listed: readonly T[]): T[] {
    const watched = listed.filter((nest) => this.isWatched(nest));
    this.#excluded = new Map(
      listed.filter((nest) => !this.isWatched(nest)).map(({ id, name }) => [id, name]),
    );
    return watched;
  }

  /** How many Nests of the service are excluded; 0 until it has listed them. */
  excluded(): number {
    return this.#excluded.size;
  }

  /** The name of an excluded Nest; undefined if it is not excluded, or not known to be. */
  excludedName(nestId: string): string | undefined {
    return this.#excluded.get(nestId);
  }
}
