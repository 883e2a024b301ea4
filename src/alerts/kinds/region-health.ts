/**
 * What RegionDown and RegionUnauthorized have in common: a region's health that lasts. It is remembered when it is
 * first told, and fires when it has lasted for the rule's `for`; the clock alone may do that.
 */
import type { Alert } from '../alert.ts';
import { type Change, fire, remember, resolve } from '../episode.ts';
import type { Context, Kind } from '../kind.ts';
import { annotate } from '../labels.ts';
import type { AlertKind } from '../rule.ts';

type Health = 'up' | 'down' | 'unauthorized';

interface Memory {
  readonly sinceUs: number;
  readonly reason: string;
}

export interface RegionTrouble {
  readonly alertname: AlertKind;
  readonly health: Health;
  /** Healths that end it once it fires. */
  readonly endedBy: readonly Health[];
  /** One sentence; the region comes in capitals. */
  readonly summary: (region: string) => string;
}

export function createRegionKind(trouble: RegionTrouble): Kind {
  function firing(alert: Alert, memory: Memory, { rule, labels, nowUs }: Context): Change {
    const summary = trouble.summary((labels.region ?? '').toUpperCase());
    return fire(
      alert,
      {
        startsAtUs: memory.sinceUs,
        labels,
        annotations: annotate(rule, summary, memory.reason),
        events: [],
        memory,
        dueAtUs: null,
      },
      nowUs,
    );
  }

  return {
    alertname: trouble.alertname,

    topic(fact) {
      if (fact.fact !== 'region_health' || fact.health !== trouble.health) return undefined;
      return { subject: 'region', labels: { region: fact.region }, severity: 'critical' };
    },

    raise(alert, fact, context) {
      if (fact.fact !== 'region_health') return undefined;
      const known = alert.memory as Memory | null;
      if (known?.reason === fact.reason) return undefined;
      const memory: Memory = { sinceUs: known?.sinceUs ?? fact.sinceUs, reason: fact.reason };
      const dueAtUs = memory.sinceUs + context.rule.forMs * 1000;
      if (alert.state === 'firing' || dueAtUs <= context.nowUs) return firing(alert, memory, context);
      return remember(alert, memory, dueAtUs, context.nowUs);
    },

    observe(alert, fact, { nowUs }) {
      if (fact.fact !== 'region_health') return undefined;
      if (alert.state === 'firing') {
        if (!trouble.endedBy.includes(fact.health)) return undefined;
        return resolve(alert, fact.sinceUs, 'the region answers again', nowUs);
      }
      return alert.memory === null ? undefined : remember(alert, null, null, nowUs);
    },

    tick(alert, context) {
      const memory = alert.memory as Memory | null;
      if (alert.state === 'firing' || memory === null) return remember(alert, memory, null, context.nowUs);
      return firing(alert, memory, context);
    },
  };
}
