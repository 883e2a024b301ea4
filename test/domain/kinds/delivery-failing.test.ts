import { describe, expect, test } from 'vitest';
import type { Fact } from '../../../src/domain/alert/fact.ts';
import { minute, regionHealth, rule, storyOf, watch } from '../world.ts';

type Health = Extract<Fact, { fact: 'delivery_health' }>;

function health(accepts: boolean, since: number, changes: Partial<Health> = {}): Fact {
  const reason = accepts ? '' : 'HTTP 503';
  const through = accepts ? '' : 'webhook';
  const told = { receiver: 'ops', integration: 'webhook', through, accepts, reason, sinceUs: minute(since) };
  return { fact: 'delivery_health', ...told, ...changes };
}

describe('DeliveryFailing', () => {
  test('fires when nothing was accepted for five minutes, for no region, and says why', () => {
    const story = storyOf([6, health(false, 5)]);
    expect(story.firing()).toEqual([]);
    story.pass(9.9);
    expect(story.firing()).toEqual([]);
    story.pass(10);
    expect(story.the('DeliveryFailing')).toMatchObject({
      state: 'firing',
      startsAtUs: minute(5),
      labels: {
        alertname: 'DeliveryFailing',
        severity: 'critical',
        region: 'all',
        receiver: 'ops',
        integration: 'webhook',
      },
      annotations: { summary: 'Receiver ops accepts nothing through webhook', description: 'HTTP 503' },
    });
  });

  test('fires at once if it has lasted that long before it is first reported, as after a restart', () => {
    const story = storyOf([30, health(false, 5)]);
    expect(story.firing()).toEqual(['DeliveryFailing critical']);
  });

  test('changes nothing while it keeps failing, in whatever words', () => {
    const story = storyOf([5, health(false, 5)]);
    expect(story.tell(6, health(false, 5, { reason: 'timeout' })).alerts).toEqual([]);
    story.pass(10);
    expect(story.tell(11, health(false, 5, { reason: 'HTTP 500' })).alerts).toEqual([]);
  });

  test('says through which ones it accepts nothing, also when others fail instead', () => {
    const story = watch();
    const second = { through: 'webhook 2 (b.example)', reason: 'webhook 2 (b.example): HTTP 503' };
    const third = { through: 'webhook 3 (c.example)', reason: 'webhook 3 (c.example): HTTP 500' };
    story.tell(5, health(false, 5, second));
    story.pass(10);
    expect(story.the('DeliveryFailing').annotations).toEqual({
      summary: 'Receiver ops accepts nothing through webhook 2 (b.example)',
      description: 'webhook 2 (b.example): HTTP 503',
    });
    story.tell(11, health(false, 11, third));
    expect(story.the('DeliveryFailing')).toMatchObject({
      state: 'firing',
      startsAtUs: minute(5),
      annotations: {
        summary: 'Receiver ops accepts nothing through webhook 3 (c.example)',
        description: 'webhook 3 (c.example): HTTP 500',
      },
    });
  });

  test('waits as long for one that fails instead of another', () => {
    const story = watch();
    story.tell(5, health(false, 5, { through: 'webhook 1 (a.example)' }));
    story.tell(9, health(false, 8, { through: 'webhook 2 (b.example)' }));
    story.pass(12.9);
    expect(story.firing()).toEqual([]);
    story.pass(13);
    expect(story.the('DeliveryFailing')).toMatchObject({ state: 'firing', startsAtUs: minute(8) });
  });

  test('resolves when it accepts again, and may fail anew', () => {
    const story = storyOf([5, health(false, 5)]);
    story.pass(10);
    story.tell(20, health(true, 19));
    expect(story.the('DeliveryFailing')).toMatchObject({
      state: 'resolved',
      endsAtUs: minute(19),
      annotations: { resolved_by: 'messages are accepted again' },
    });
    story.tell(30, health(false, 30));
    story.pass(34);
    expect(story.firing()).toEqual([]);
    story.pass(35);
    expect(story.firing()).toEqual(['DeliveryFailing critical']);
  });

  test('is forgotten if it did not last', () => {
    const story = storyOf([5, health(false, 5)], [7, health(true, 7)]);
    story.pass(60);
    expect(story.firing()).toEqual([]);
  });

  test('one receiver or integration says nothing about another, whatever they are called', () => {
    const story = watch([rule('DeliveryFailing', { forMs: 0 })]);
    const names = ['ops', 'o/ps', 'ops/webhook', 'é%2F'];
    for (const receiver of names) story.tell(5, health(false, 5, { receiver }));
    story.tell(5, health(false, 5, { integration: 'email' }));
    expect(story.firing()).toHaveLength(5);
    story.tell(6, health(true, 6, { receiver: 'ops/webhook' }), regionHealth('up', 6));
    expect(
      story
        .alerts()
        .filter((one) => one.state === 'resolved')
        .map((one) => one.labels.receiver),
    ).toEqual(['ops/webhook']);
  });
});
