import type { Config } from '../../config/config.ts';
import type { RegionConfig, ServiceLinks } from '../../config/sections/regions-section.ts';
import type { Past } from '../../domain/context/findings.ts';
import type { AlertInGroup, Group } from '../../domain/grouping/group.ts';
import type { Muting } from '../../domain/muting/muting.ts';
import type { Route } from '../../domain/routing/route.ts';
import type { MutingConfig } from '../../store/load-muting.ts';
import type { Transaction } from '../../store/store.ts';
import type { PauseAfter } from '../../time/clock.ts';
import type { Tally } from '../step-runner.ts';

export type FlushConfig = Omit<MutingConfig, 'receivers'> &
  Pick<Config, 'route' | 'receivers' | 'context'> & {
    readonly regions: readonly Pick<RegionConfig, 'name' | 'links' | 'fly'>[];
  };

/** What every stage of a flush is given. */
export interface FlushContext {
  readonly tx: Transaction;
  readonly config: FlushConfig;
  readonly muting: Muting;
  readonly pauseAfter: PauseAfter;
  /** Receivers from which something is held back. Asked once for all groups, since it is rare. */
  readonly heldBackFrom: Set<string>;
  /** The receivers to which something of a gathering group is not settled yet (`keepOrder`). */
  readonly unsettledGatherings: () => Promise<Set<string>>;
  readonly serviceLinks: ServiceLinks;
  /** What alerts of all groups say about why they fire now. */
  readonly past: Past;
  /** What the stages have queued and have to report. */
  readonly tally: Tally;
  /** Set if ends do not wait to be told together. */
  readonly isAtOnce: boolean;
  readonly nowUs: number;
}

/** A group and its route in the present configuration, with the alerts that a flush decides on. */
export interface LoadedGroup {
  readonly group: Group;
  readonly inGroup: readonly AlertInGroup[];
  readonly route: Route;
}

export interface MutedGroup extends LoadedGroup {
  /** The alerts that nothing mutes. */
  readonly open: readonly AlertInGroup[];
  /** Muted alerts that the group will notify of once nothing mutes them. */
  readonly waiting: readonly AlertInGroup[];
}
