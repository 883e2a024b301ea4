/**
 * Defines what a known-bad daemon is, and which other rules are switched off with it because they would correct its
 * mistake.
 */
import type { DaemonParts } from '../../../src/daemon.ts';
import { ANCHOR_MARGIN_US } from '../../../src/intake/logs/sweep.ts';
import type { Fault } from '../finding.ts';
import type { Variation } from '../run.ts';
import { lookingBack, withoutReview } from './look-back.ts';

export interface Variant {
  readonly name: string;
  /** What is wrong with it. */
  readonly mistake: string;
  /** The check that must find it. */
  readonly by: Fault;
  /** The rules that would correct the mistake, which are switched off as well. */
  readonly without?: readonly Layer[];
  /** The mistake shows only if several replicas share a store. */
  readonly isShared?: boolean;
  readonly vary: Variation;
}

/** Rules that back each other up: what one of them misses, the next one finds. */
export const LAYERS = {
  audit: (parts: DaemonParts): DaemonParts => ({
    ...parts,
    config: { ...parts.config, poll: { ...parts.config.poll, auditIntervalMs: 1e12 } },
  }),
  overlap: (parts: DaemonParts): DaemonParts => {
    const poll = { ...parts.config.poll, overlapMs: ANCHOR_MARGIN_US / 1000 };
    const config = { ...parts.config, poll };
    return lookingBack({ ...parts, config }, (cursorUs) => cursorUs - ANCHOR_MARGIN_US);
  },
  review: withoutReview,
} as const;

export type Layer = keyof typeof LAYERS;

/** The daemon of a variant; as a control, one without the mistake but with the same layers switched off. */
export function variationOf({ without = [], vary }: Variant, isControl = false): Variation {
  return (parts) => without.reduce((all, layer) => LAYERS[layer](all), isControl ? parts : vary(parts));
}
