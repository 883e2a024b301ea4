/** Reports a region's health: at its first answer and at each change, and to alerting until the store has taken it. */
import type { Report } from '../report.ts';
import type { RegionHealth, ServiceClient } from '../service/client.ts';
import type { Commit } from './commit.ts';

interface HealthWatchOptions {
  readonly region: string;
  readonly client: Pick<ServiceClient, 'health'>;
  readonly commit: Commit;
  readonly report: Report;
}

export class HealthWatch {
  readonly #options: HealthWatchOptions;
  /** False until the region has answered, or was found not to. */
  #isKnown = false;
  /** The health that alerting knows. */
  #committed: RegionHealth['health'] | undefined;
  #isCommitting = false;

  constructor(options: HealthWatchOptions) {
    this.#options = options;
  }

  /** Something was read, so an alert of an earlier life about this region is over. `once`: it may still stand. */
  async answered(once: boolean): Promise<void> {
    if (this.#isKnown && !once) return;
    if (!this.#isKnown) this.#report();
    await this.commit();
  }

  /** Since when the region is up; undefined unless it is. */
  upSinceUs(): number | undefined {
    const { health, sinceUs } = this.#options.client.health();
    return health === 'up' ? sinceUs : undefined;
  }

  /** The health has changed. Rejects with what the store threw. */
  changed(): Promise<void> {
    this.#report();
    return this.commit();
  }

  /**
   * Commits the health where alerting does not know it; also to be called every half minute or so, since a full store
   * may have refused to take it. Does nothing before the health is known. Throws what the store threw.
   */
  async commit(): Promise<void> {
    // The call that is under way looks again when it is done.
    if (!this.#isKnown || this.#isCommitting) return;
    this.#isCommitting = true;
    const { region, client, commit } = this.#options;
    try {
      for (let now = client.health(); now.health !== this.#committed; now = client.health()) {
        const { health, reason, sinceUs } = now;
        await commit({ region, facts: [{ fact: 'region_health', region, health, reason, sinceUs }] });
        this.#committed = health;
      }
    } finally {
      this.#isCommitting = false;
    }
  }

  #report(): void {
    this.#isKnown = true;
    const { region, client, report } = this.#options;
    const { health, reason } = client.health();
    report({ what: 'region_health', region, health, reason });
  }
}
