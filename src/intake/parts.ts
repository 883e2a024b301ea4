import type { PollConfig } from '../config/sections/poll-section.ts';
import type { Report } from '../report.ts';
import type { ServiceClient } from '../service/client.ts';
import type { Store } from '../store/store.ts';
import type { Clock, Random } from '../time/clock.ts';
import type { Commit } from './commit.ts';

/** What all that reads one region shares. */
export interface IntakeParts {
  readonly region: string;
  readonly poll: PollConfig;
  /** How long the store keeps events. */
  readonly retentionMs: number;
  readonly client: ServiceClient;
  readonly store: Store;
  readonly commit: Commit;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: Report;
}

/** Names by id, from the inventory; empty if unknown. */
export interface Names {
  nest(nestId: string): string;
  bird(birdId: string): string;
  /** The Nest of a Bird; empty if unknown. */
  nestOf(birdId: string): string;
}
