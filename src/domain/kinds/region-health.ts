/**
 * What RegionDown, RegionUnauthorized and FeedBehind have in common: a trouble of a whole region that lasts. It is
 * remembered when it is first told, and fires when it has lasted for the rule's `for`; the clock alone may do that.
 */
import { regionName } from '../../text/region-name.ts';
import type { Alert, Severity } from '../alert/alert.ts';
import type { Fact } from '../alert/fact.ts';
import type { Context, Kind } from '../alert/kind.ts';
import { annotate } from '../alert/labels.ts';
import { type Change, fire, remember, resolve } from '../alert/lifecycle.ts';
import type { AlertKind } from '../alert/rule.ts';

export type Health = 'up' | 'down' | 'unauthorized';

interface Memory {
  readonly sinceUs: number;
  readonly reason: string;
}

export interface RegionTrouble {
  readonly alertname: AlertKind;
  readonly severity: Severity;
  /** What a fact says of it; undefined for facts that do not concern it. */
  readonly told: (fact: Fact) => Told | undefined;
  /** One sentence; the region comes in capitals. */
  readonly summary: (region: string) => string;
  /** Says what ended it. */
  readonly over: string;
}

export interface Told {
  readonly region: string;
  /** `hidden`: it may last, but cannot be seen; that ends it only before it fires. */
  readonly state: 'lasts' | 'hidden' | 'over';
  readonly sinceUs: number;
  readonly reason: string;
}

/** The trouble that a region's health is `health`. Healths that do not end it once it fires hide it. */
export function ofHealth(health: Health, endedBy: readonly Health[]): RegionTrouble['told'] {
  return (fact) => {
    if (fact.fact !== 'region_health') return undefined;
    const { region, sinceUs, reason } = fact;
    const ended = endedBy.includes(fact.health) ? 'over' : 'hidden';
    return { region, state: fact.health === health ? 'lasts' : ended, sinceUs, reason };
  };
}

export function createRegionKind(trouble: RegionTrouble): Kind {
  function firing(alert: Alert, memory: Memory, { rule, labels, nowUs }: Context): Change {
    const summary = trouble.summary(regionName(labels.region ?? ''));
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
    measured: true,

    topic(fact) {
      const told = trouble.told(fact);
      if (told?.state !== 'lasts') return undefined;
      return { subject: 'region', labels: { region: told.region }, severity: trouble.severity };
    },

    raise(alert, fact, context) {
      const told = trouble.told(fact);
      const known = alert.memory as Memory | null;
      if (!told || known?.reason === told.reason) return undefined;
      const memory: Memory = { sinceUs: known?.sinceUs ?? told.sinceUs, reason: told.reason };
      const dueAtUs = memory.sinceUs + context.rule.forMs * 1000;
      if (alert.state === 'firing' || dueAtUs <= context.nowUs) return firing(alert, memory, context);
      return remember(alert, memory, dueAtUs, context.nowUs);
    },

    observe(alert, fact, { nowUs }) {
      const told = trouble.told(fact);
      if (!told) return undefined;
      if (alert.state === 'firing') {
        return told.state === 'over' ? resolve(alert, told.sinceUs, trouble.over, nowUs) : undefined;
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
