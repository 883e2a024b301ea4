import type { Alert, FlappingState } from '../alert/alert.ts';
import { withInstants } from '../kinds/kind.ts';
import { kindOf } from '../kinds/kinds.ts';
import { asKindSees } from './flapping.ts';

type Awaits = NonNullable<FlappingState['awaits']>;
type Held = NonNullable<FlappingState['held']>;
type Move = (us: number) => number;

/**
 * The alert after our own clock was set back by `byUs` to `nowUs`: it waits for as long as intended, not `byUs`
 * longer. Instants given by the service stay. Returns the same object if nothing needs to be moved.
 */
export function rolledBackAlert(alert: Alert, byUs: number, nowUs: number): Alert {
  const { alertname, flapping, memory } = alert;
  const ahead: Move = (us) => (us > nowUs ? us - byUs : us);
  const dueAtUs = orNull(alert.dueAtUs, ahead);
  // The due instant is computed from remembered ones, which may have passed.
  const counted: Move = dueAtUs === alert.dueAtUs ? ahead : (us) => us - byUs;
  const remembered = withInstants(kindOf(alertname)?.remembers, memory, counted);
  const moved = {
    ...alert,
    dueAtUs,
    memory: remembered,
    ...(flapping && { flapping: flaps(flapping, ahead, counted) }),
  };
  return JSON.stringify(moved) === JSON.stringify(alert) ? alert : moved;
}

/**
 * The alert after our own clock was set ahead by `byUs`: what must last for its rule's `for`, or be over for its
 * `keep_firing_for`, does so as long as intended. Returns the same object if nothing has to.
 */
export function setAheadAlert(alert: Alert, byUs: number): Alert {
  const later: Move = (us) => us + byUs;
  const { flapping, memory } = alert;
  const { awaits, held } = flapping ?? {};
  if (flapping && awaits) {
    const isOfKind = alert.dueAtUs === awaits.dueAtUs;
    const dueAtUs = isOfKind ? alert.dueAtUs : earliest(orNull(alert.dueAtUs, later), awaits.dueAtUs);
    return {
      ...alert,
      dueAtUs,
      flapping: { ...flapping, awaits: { ...awaits, sinceUs: later(awaits.sinceUs) } },
    };
  }
  const seen = asKindSees(alert);
  const remembers = seen.state === 'firing' ? undefined : kindOf(alert.alertname)?.remembers;
  const moved = withInstants(remembers, memory, later, ['since']);
  const isCounted = JSON.stringify(moved) !== JSON.stringify(memory);
  const ofKindUs = isCounted ? orNull(seen.dueAtUs, later) : seen.dueAtUs;
  if (flapping && held) {
    const next = { ...held, untilUs: later(held.untilUs), dueAtUs: ofKindUs };
    return {
      ...alert,
      memory: moved,
      dueAtUs: earliest(next.untilUs, ofKindUs),
      flapping: { ...flapping, held: next },
    };
  }
  return isCounted ? { ...alert, memory: moved, dueAtUs: ofKindUs } : alert;
}

function earliest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

function flaps(flapping: FlappingState, ahead: Move, counted: Move): FlappingState {
  const { changesUs, awaits, held } = flapping;
  return {
    ...flapping,
    changesUs: changesUs.map(ahead),
    ...(awaits && { awaits: awaiting(awaits, ahead, counted) }),
    ...(held && { held: holding(held, ahead) }),
  };
}

function awaiting(awaits: Awaits, ahead: Move, counted: Move): Awaits {
  const { sinceUs, dueAtUs } = awaits;
  return { ...awaits, sinceUs: counted(sinceUs), dueAtUs: orNull(dueAtUs, ahead) };
}

function holding(held: Held, ahead: Move): Held {
  const { endsAtUs, untilUs, dueAtUs } = held;
  return { ...held, endsAtUs, untilUs: ahead(untilUs), dueAtUs: orNull(dueAtUs, ahead) };
}

function orNull(us: number | null, move: Move): number | null {
  return us === null ? null : move(us);
}
