import type { Alert, FlappingState } from '../alert/alert.ts';
import { kindOf } from '../kinds/kinds.ts';
import { withInstants } from '../kinds/memory.ts';

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
