/** A receiver that fails in every way, one after another, and a process that may end between any two steps. */
import { describe, expect, test } from 'vitest';
import { spread } from '../cases.ts';
import { type Answer, type Desk, hook, openDesk } from './desk.ts';

/** 503 for two hours, then 410, then it accepts without an answer, then it works. */
function moods(): (receiver: string, minute: number) => Answer {
  let lost = 0;
  return (receiver, minute) => {
    if (receiver !== 'ops') return 200;
    if (minute < 120) return 503;
    if (minute < 150) return 410;
    lost += 1;
    return lost <= 2 ? 'lost' : 200;
  };
}

/** The story, with a process that ends after this many commits, and continues in the next life. */
async function story(dieAfter?: number): Promise<Desk> {
  const desk = await openDesk({
    receivers: [hook('ops', { fallback: 'backup' }), hook('backup'), hook('boss')],
    answer: moods(),
    ...(dieAfter !== undefined && { dieAfter }),
  });
  await desk.story('fails A, 151, fails B, 60');
  return desk;
}

describe('a receiver that answers 503 for two hours, then 410, then times out after accepting', () => {
  test('each phase ends as promised', async () => {
    const desk = await story();
    const deliveries = await desk.store.outbox.page({ limit: 100 }).then((one) => one.deliveries);
    const ofOps = deliveries.filter((one) => one.receiver === 'ops').toReversed();
    expect(ofOps.map(({ state }) => state)).toEqual(['dead', 'dead', 'delivered', 'delivered']);
    const [first, , last] = ofOps;
    expect(first).toMatchObject({ lastError: 'HTTP 410 (refusal 3 of 3)' });
    expect(first!.attempts).toBeGreaterThan(15);
    expect(last!.attempts).toBe(3);
    // It was accepted three times, always under one id, so the receiver can drop two of them.
    const times = desk.received.filter((one) => one.receiver === 'ops' && one.id === last!.id);
    expect(times.map(({ again }) => again)).toEqual([false, true, true]);
    expect(await desk.states()).toEqual({ dead: 2, delivered: deliveries.length - 2 });
  });

  test('the fallback is notified once, with the reason, while the original is still retried', async () => {
    const desk = await story();
    const copies = desk.received.filter(({ body }) => body.notices);
    expect(copies.map((one) => [one.receiver, one.body.alerts[0]!.labels.bird])).toEqual([['backup', 'A']]);
    expect(copies[0]!.minute).toBeLessThan(1);
    expect(copies[0]!.body.notices).toEqual([
      'This was meant for receiver ops, which has not accepted it: HTTP 503. It is still being tried there.',
    ]);
  });

  test('the fallback is notified after five minutes that it accepts nothing, and when it does again', async () => {
    const desk = await story();
    const about = desk
      .lines('backup')
      .filter((line) => line.includes('ops'))
      .map((line) => line.replace(/^backup/, ''));
    expect(about).toEqual(['@6 firing: ops firing +0', '@156 resolved: ops resolved +0']);
    expect(desk.lines('boss')).toEqual([]);
    const alerts = await desk.store.alerts
      .page({ order: 'newest', nowUs: 0, limit: 10 })
      .then((one) => one.alerts);
    expect(alerts.find((one) => one.alertname === 'DeliveryFailing')).toMatchObject({
      state: 'resolved',
      labels: { alertname: 'DeliveryFailing', severity: 'critical', region: 'all', receiver: 'ops' },
    });
  });

  test('a process that ends between any two steps loses and invents nothing [long]', async () => {
    // An attempt that the end interrupted is made again a little later; the content is the same.
    const messages = (desk: Desk) =>
      desk
        .lines()
        .map((line) => line.replace(/@\d+/, ''))
        .toSorted();
    const whole = await story();
    const expected = messages(whole);
    const states = await whole.states();
    expect(whole.committed()).toBeGreaterThan(100);
    const ends = Array.from({ length: whole.committed() }, (_, at) => at + 1);
    // Most of the first commits, in which everything begins, and some of the many that only record attempts.
    for (const at of [...spread(ends.slice(0, 60), 20), ...spread(ends.slice(60), 4)]) {
      const desk = await story(at);
      expect(messages(desk), `killed after ${at}`).toEqual(expected);
      expect(await desk.states(), `killed after ${at}`).toEqual(states);
      await desk.close();
    }
  });
});
