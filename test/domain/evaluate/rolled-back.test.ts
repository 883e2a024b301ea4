import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  birdLog,
  birdStatus,
  flight,
  minute,
  regionHealth,
  rule,
  schemaDrift,
  storyOf,
  storyUnder,
  watch,
} from '../world.ts';

const failed = (at: number) => flight('failed', { started: at - 1, at });
const landed = (at: number) => flight('succeeded', { started: at - 0.5, at });

describe('when our clock is set back', () => {
  test('an outage is notified as soon as it should be, and began no later than now', () => {
    const story = storyOf([60, regionHealth('down', 60)]);
    story.setBack(43, 17.5);
    story.pass(17.9);
    expect(story.firing()).toEqual([]);
    story.pass(18);
    expect(story.the('RegionDown')).toMatchObject({ state: 'firing', startsAtUs: minute(17) });
  });

  test('even if the clock is set back by less than it waits', () => {
    const story = storyUnder([rule('RegionDown', { forMs: 600_000 })], [60, regionHealth('down', 60)]);
    story.setBack(3, 61);
    story.pass(67);
    expect(story.firing()).toEqual(['RegionDown critical']);
  });

  test("an outage whose beginning has the clock's old time is waited for from now on", () => {
    const story = storyOf([17, regionHealth('down', 60)]);
    story.pass(18);
    expect(story.firing()).toEqual(['RegionDown critical']);
  });

  test("a rule's `for` and `keep_firing_for` take as long as they should", () => {
    const story = watch([rule('FlightFailed', { forMs: 600_000, keepFiringForMs: 600_000 })]);
    story.tell(60, failed(60));
    story.setBack(43, 20);
    story.pass(26.9);
    expect(story.firing()).toEqual([]);
    story.pass(27);
    expect(story.firing()).toEqual(['FlightFailed warning']);
    story.tell(70, landed(70));
    story.setBack(43, 29);
    story.pass(36.9);
    expect(story.firing()).toEqual(['FlightFailed warning']);
    story.pass(37);
    expect(story.firing()).toEqual([]);
  });

  test('a Bird that is read as active after it was switched off ends the alert', () => {
    const story = storyOf([60, birdLog('Deactivated', 60)]);
    story.setBack(43, 20);
    story.tell(31, birdStatus('active', 31));
    expect(story.firing()).toEqual([]);
  });

  test('what does not depend on time is the same', () => {
    const story = storyOf([9, regionHealth('down', 5)]);
    const before = story.the('RegionDown');
    story.setBack(43, 10);
    expect(story.the('RegionDown')).toBe(before);
  });

  test('whatever happened, alerts come and go as if the clock had not been set [long]', () => {
    const step = fc.record({
      what: fc.constantFrom('failed', 'landed', 'down', 'up', 'drift'),
      minutes: fc.integer({ min: 0, max: 40 }),
    });
    const setting = fc.record({
      forMs: fc.constantFrom(0, 300_000, 1_800_000),
      keepFiringForMs: fc.constantFrom(0, 300_000, 3_600_000),
      resolveAfterMs: fc.constantFrom(null, 3_600_000),
      // Instants given by the service stay, so they move relative to our clock: at the edge of a narrow window one
      // change more or less would count.
      flapping: fc.constantFrom(null, { changes: 3, withinMs: 86_400_000, calmMs: 1_200_000 }),
    });
    const run = fc.record({
      change: setting,
      steps: fc.array(step, { minLength: 1, maxLength: 12 }),
      by: fc.integer({ min: 1, max: 100 }),
      later: fc.integer({ min: 0, max: 90 }),
    });
    fc.assert(
      fc.property(run, ({ change, steps, by, later }) => {
        const play = () => {
          const story = watch([
            rule('FlightFailed', change),
            rule('SchemaDrift', { resolveAfterMs: 1_800_000 }),
          ]);
          let now = 10;
          for (const { what, minutes } of steps) {
            now += minutes;
            story.pass(now);
            if (what === 'failed') story.tell(now, failed(now));
            else if (what === 'landed') story.tell(now, landed(now));
            else if (what === 'drift') story.tell(now, schemaDrift(now));
            else story.tell(now, regionHealth(what, now));
          }
          return { story, now };
        };
        const plain = play();
        plain.story.pass(plain.now + later);
        const back = play();
        back.story.setBack(by, back.now - by);
        back.story.pass(back.now - by + later);
        expect(back.story.firing()).toEqual(plain.story.firing());
      }),
    );
  });
});

describe('when our clock is set ahead', () => {
  test('an outage is notified when it has lasted as long as it should', () => {
    const story = storyUnder([rule('RegionDown', { forMs: 600_000 })], [10, regionHealth('down', 10)]);
    story.setAhead(60);
    story.pass(79.9);
    expect(story.firing()).toEqual([]);
    story.pass(80);
    expect(story.the('RegionDown')).toMatchObject({ state: 'firing', startsAtUs: minute(70) });
  });

  test('even if it is heard of again, for another reason', () => {
    const story = storyUnder([rule('RegionDown', { forMs: 600_000 })], [10, regionHealth('down', 10)]);
    story.setAhead(60);
    story.tell(71, regionHealth('down', 10, 'another'));
    expect(story.firing()).toEqual([]);
    story.pass(80);
    expect(story.firing()).toEqual(['RegionDown critical']);
  });

  test("a rule's `for` and `keep_firing_for` take as long as they should", () => {
    const story = watch([rule('FlightFailed', { forMs: 600_000, keepFiringForMs: 600_000 })]);
    story.tell(10, failed(10));
    story.setAhead(60);
    story.tell(71, failed(71));
    story.pass(79.9);
    expect(story.firing()).toEqual([]);
    story.pass(80);
    expect(story.firing()).toEqual(['FlightFailed warning']);
    story.tell(90, landed(90));
    story.setAhead(60);
    story.pass(159.9);
    expect(story.firing()).toEqual(['FlightFailed warning']);
    story.pass(160);
    expect(story.firing()).toEqual([]);
  });

  test('an outage that comes back while its alert is held has to last as well', () => {
    const story = watch([rule('RegionDown', { forMs: 600_000, keepFiringForMs: 3_600_000 })]);
    story.tell(0, regionHealth('down', 0));
    story.pass(10);
    story.tell(20, regionHealth('up', 20));
    story.tell(30, regionHealth('down', 30));
    expect(story.the('RegionDown').dueAtUs).toBe(minute(40));
    story.setAhead(120);
    expect(story.the('RegionDown').dueAtUs).toBe(minute(160));
    story.tell(155, regionHealth('up', 155));
    story.pass(199.9);
    expect(story.firing()).toEqual(['RegionDown critical']);
    story.pass(200);
    expect(story.firing()).toEqual([]);
  });

  test('what does not have to last is the same', () => {
    const story = storyOf([9, failed(9)], [9, birdLog('Deactivated', 9)]);
    const before = story.alerts();
    story.setAhead(43);
    expect(story.alerts()).toEqual(before);
  });
});
