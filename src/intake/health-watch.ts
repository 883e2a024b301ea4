/**
 * Reports a region's health: once it is first known and at each change. Alerting gets it too, with retries until it
 * is committed.
 */
import type { RegionHealth, ServiceClient } from '../service/client.ts';
import type { IntakeParts } from './parts.ts';

interface HealthWatchOptions extends Pick<IntakeParts, 'region' | 'commit' | 'report'> {
  readonly client: Pick<ServiceClient, 'health'>;
}

export class HealthWatch {
  readonly #options: HealthWatchOptions;
  /** False until the region has answered or was found not to answer. */
  #isKnown = false;
  /** The health that was last committed for alerting. */
  #committed: RegionHealth['health'] | undefined;
  #isCommitting = false;

  constructor(options: HealthWatchOptions) {
    this.#options = options;
  }

  /**
   * To be called when the region has answered. An alert that an earlier run left firing about this region is over
   * then. With `once` each call retries a failed commit, since nothing else does.
   */
  async answered(once: boolean): Promise<void> {
    if (this.#isKnown && !once) return;
    if (!this.#isKnown) this.#report();
    await this.commit();
  }

  /** Since when the region is up; undefined if it is not. */
  upSinceUs(): number | undefined {
    const { health, sinceUs } = this.#options.client.health();
    return health === 'up' ? sinceUs : undefined;
  }

  /** To be called when the health has changed. Rejects with what the store threw. */
  changed(): Promise<void> {
    this.#report();
    return this.commit();
  }

  /**
   * Commits the health if alerting does not know it yet. To be called every 30 s or so as well, since a full store
   * may have refused it. Does nothing before the health is known. Throws what the store threw.
   */
  async commit(): Promise<void> {
    // A call in progress checks again before it ends.
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
