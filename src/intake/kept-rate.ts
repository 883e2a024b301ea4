/**
 * Stores the request rate that a region bears. After a restart the polls begin near that rate, instead of spending
 * seconds at a very low rate or exceeding what was refused before.
 */
import type { ServiceClient } from '../service/client.ts';
import type { IntakeParts } from './parts.ts';

interface KeptRateOptions extends Pick<IntakeParts, 'region' | 'store' | 'clock'> {
  readonly client: Pick<ServiceClient, 'bearableRate' | 'rememberRate'>;
}

/** The rate is stored again when it has changed by this part, or after `KEPT_FOR_MS`. */
const CHANGED = 0.05;
const KEPT_FOR_MS = 600_000;

export class KeptRate {
  readonly #options: KeptRateOptions;
  #kept = { perSecond: 0, atMs: Number.NEGATIVE_INFINITY };

  constructor(options: KeptRateOptions) {
    this.#options = options;
  }

  /** Restores the rate of an earlier run. To be called before the first request. */
  async load(): Promise<void> {
    const { region, client, store, clock } = this.#options;
    const kept = await store.transaction((tx) => tx.inventory.rate(region));
    if (kept) client.rememberRate(kept.perSecond, Math.max(0, (clock.nowUs() - kept.keptUs) / 1000));
  }

  /** Stores the rate. To be called every 30 s or so. Throws what the store threw. */
  async keep(): Promise<void> {
    const { region, client, store, clock } = this.#options;
    const perSecond = client.bearableRate();
    const nowMs = clock.monotonicMs();
    const isChanged = Math.abs(perSecond - this.#kept.perSecond) > CHANGED * this.#kept.perSecond;
    if (!isChanged && nowMs - this.#kept.atMs < KEPT_FOR_MS) return;
    await store.transaction((tx) => tx.inventory.putRate(region, { perSecond, keptUs: clock.nowUs() }));
    this.#kept = { perSecond, atMs: nowMs };
  }
}
